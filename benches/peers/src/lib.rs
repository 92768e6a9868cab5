//! Compares shards with Parquet, Arrow IPC and Vortex: the same tables, the same questions, one process
//! for each answer.
//!
//! ```sh
//! cargo run --release -- generate --data /some/disk
//! cargo run --release -- run --data /some/disk
//! cargo run --release -- report --data /some/disk
//! ```
//!
//! Two programs share this code and differ in their allocator: `peers` uses mimalloc, and `peers-system` uses Rust's
//! default, the system's allocator.

mod allocator;
mod attached;
mod clock;
mod counted;
mod data;
mod load;
mod machine;
mod mapped;
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
pub use load::{Idleness, Load, LoadMeter};
pub use machine::{Machine, reason_against_two_threads, spin};

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
    /// Creates the tables.
    Generate {
        #[command(flatten)]
        place: Place,
        #[arg(long, value_enum, default_value_t = Scale::Full)]
        scale: Scale,
        /// Folder of the real data; tables without a file there are skipped.
        #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/real"))]
        real: PathBuf,
        /// Tables, separated by commas; all by default.
        #[arg(long, value_delimiter = ',')]
        tables: Vec<String>,
    },
    /// Measures all questions, and writes the results to results.jsonl.
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
        /// Processes for each answer; formats alternate.
        #[arg(long, default_value_t = 5)]
        repeat: usize,
        /// Keep the files of all formats, instead of removing them when a table is done.
        #[arg(long)]
        keep: bool,
    },
    /// Compares the rows that every format returns with the tables.
    Check {
        #[command(flatten)]
        place: Place,
    },
    /// Compares a shard over a Parquet file with the asynchronous reader of `parquet`, in the slow store. Needs the
    /// table `lineitem_sorted`.
    Attached {
        #[command(flatten)]
        place: Place,
    },
    /// Writes benchmarks.md and benchmarks.svg from results.jsonl.
    Report {
        #[command(flatten)]
        place: Place,
        /// Folder of the report.
        #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))]
        out: PathBuf,
        /// Write the report although the machine is not known to have been idle otherwise.
        #[arg(long)]
        although_busy: bool,
    },
    /// Measures one question, and prints a line of JSON.
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
    /// Computes for half a second, and prints the number of rounds.
    #[command(hide = true)]
    Spin,
}

#[derive(Args)]
struct Place {
    /// Folder of tables, files and results: on a disk, with room for 12 GB at full scale.
    #[arg(long)]
    data: PathBuf,
}

/// Opens a table in `folder` for the bench of another package, and creates it first if it is missing.
///
/// # Errors
/// Returns an error for an unknown table, or if the table cannot be written or read.
pub fn table(folder: &Path, name: &str, scale: Scale) -> Result<FileReader<BufReader<File>>> {
    if !data::path(folder, name).is_file() {
        data::generate(folder, scale, Path::new(""), &[name.to_owned()])?;
    }
    data::open(folder, name)
}

/// Runs the command line of the program with this allocator.
///
/// # Errors
/// Returns the error of the command.
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
        Command::Attached { place } => attached::compare(&place.data),
        Command::Check { place } => run::check(&place.data),
        Command::Report {
            place,
            out,
            although_busy,
        } => report::write(&place.data, &out, although_busy),
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
        Command::Spin => {
            println!("{}", spin());
            Ok(())
        }
    }
}
