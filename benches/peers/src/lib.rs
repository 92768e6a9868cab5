//! Shards beside Parquet, Arrow IPC and Vortex: the same tables, the same questions, one process
//! for each answer.
//!
//! ```sh
//! cargo run --release -- generate --data /some/disk
//! cargo run --release -- run --data /some/disk
//! cargo run --release -- report --data /some/disk
//! ```
//!
//! Two programs share this code and differ in their allocator: `peers` has mimalloc, and
//! `peers-system` has what Rust uses where a program chooses nothing.

mod allocator;
mod clock;
mod counted;
mod data;
mod peer;
mod question;
mod report;
mod run;
mod store;
mod strings;
mod touch;
mod worker;

pub use allocator::Allocator;
pub use data::Scale;

use anyhow::Result;
use arrow_ipc::reader::FileReader;
use clap::{Args, Parser, Subcommand};
use peer::Format;
use question::Question;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Compares shards with Parquet, Arrow IPC and Vortex.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the tables.
    Generate {
        #[command(flatten)]
        place: Place,
        #[arg(long, value_enum, default_value_t = Scale::Full)]
        scale: Scale,
        /// Folder of the real data; tables whose files are not there are left out.
        #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/real"))]
        real: PathBuf,
        /// Tables, separated by commas; all by default.
        #[arg(long, value_delimiter = ',')]
        tables: Vec<String>,
    },
    /// Asks every question, and keeps the answers in results.jsonl.
    Run {
        #[command(flatten)]
        place: Place,
        /// Tables, separated by commas; all by default.
        #[arg(long, value_delimiter = ',')]
        tables: Vec<String>,
        /// Formats, separated by commas; all by default.
        #[arg(long, value_enum, value_delimiter = ',')]
        formats: Vec<Format>,
        /// Questions, separated by commas; all by default.
        #[arg(long, value_enum, value_delimiter = ',')]
        questions: Vec<Question>,
        /// Processes for each answer, which take turns with those of the other formats.
        #[arg(long, default_value_t = 5)]
        repeat: usize,
        /// Keep the files of all formats, which are removed otherwise when a table is done.
        #[arg(long)]
        keep: bool,
    },
    /// Compares what every format gives with the tables, row for row.
    Check {
        #[command(flatten)]
        place: Place,
    },
    /// Writes benchmarks.md and benchmarks.svg from results.jsonl.
    Report {
        #[command(flatten)]
        place: Place,
        /// Where the report goes.
        #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))]
        out: PathBuf,
    },
    /// Answers one question, as a line of JSON.
    #[command(hide = true)]
    Worker {
        #[command(flatten)]
        place: Place,
        #[arg(long)]
        table: String,
        #[arg(long, value_enum)]
        format: Format,
        #[arg(long, value_enum)]
        question: Question,
    },
}

#[derive(Args)]
struct Place {
    /// Folder of tables, files and results: on a disk, with room for 12 GB at full scale.
    #[arg(long)]
    data: PathBuf,
}

/// Opens a table for the bench of another package, after it has been made in `folder` unless it was there.
///
/// # Errors
/// An unknown table, or one that cannot be written.
pub fn table(folder: &Path, name: &str, scale: Scale) -> Result<FileReader<BufReader<File>>> {
    if !data::path(folder, name).is_file() {
        data::generate(folder, scale, Path::new(""), &[name.to_owned()])?;
    }
    data::open(folder, name)
}

/// Runs the command line of the program that has this allocator.
///
/// # Errors
/// What kept the command from being done.
pub fn main(allocator: Allocator) -> Result<()> {
    match Cli::parse().command {
        Command::Generate {
            place,
            scale,
            real,
            tables,
        } => data::generate(&place.data, scale, &real, &tables),
        Command::Run {
            place,
            tables,
            formats,
            questions,
            repeat,
            keep,
        } => run::Run::new(place.data, tables, formats, questions, repeat, keep)?.all(),
        Command::Check { place } => run::check(&place.data),
        Command::Report { place, out } => report::write(&place.data, &out),
        Command::Worker {
            place,
            table,
            format,
            question,
        } => {
            let measurement = worker::measure(&place.data, &table, format, question, allocator)?;
            println!("{}", serde_json::to_string(&measurement)?);
            Ok(())
        }
    }
}
