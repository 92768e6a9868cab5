//! The command line of arrow-shard-lance: convert between Lance and shards, and look at the schema of Lance.

mod convert;
#[path = "../../../../../src/bin/arrow-shard/error_line.rs"]
mod error_line;
#[path = "../../../../../src/bin/arrow-shard/field_tree.rs"]
mod field_tree;
#[path = "../../../../../src/bin/arrow-shard/file_format.rs"]
#[expect(dead_code, reason = "`arrow-shard` uses all of it")]
mod file_format;
#[path = "../../../../../src/bin/arrow-shard/lance_names.rs"]
mod lance_names;
#[path = "../../../../../src/bin/arrow-shard/option_names.rs"]
mod option_names;
mod panics;
#[path = "../../../../../src/bin/arrow-shard/safe_text.rs"]
mod safe_text;
mod schema;
#[cfg(unix)]
#[path = "../../../../../src/bin/arrow-shard/signals.rs"]
mod signals;
mod usage;

use clap::{Parser, Subcommand};
use error_line::{chain, print_error};
use std::error::Error;
use std::process::ExitCode;
use usage::Usage;

const EXAMPLES: &str = "\
Examples:
  arrow-shard-lance convert images.lance images.amudai.shard
  arrow-shard-lance convert --lance-version 2.1 flights.amudai.shard flights.lance
  arrow-shard-lance schema images.lance

`arrow-shard convert` runs this program if one of its files ends in .lance.

Exit codes: 0 done, 1 an error or a damaged file, 2 wrong usage.";

/// Lance files and datasets to Amudai shards, and back.
#[derive(Debug, Parser)]
#[command(name = "arrow-shard-lance", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Convert(Box<convert::Args>),
    Schema(schema::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    panics::silence_caught_panics();
    #[cfg(unix)]
    if let Err(error) = signals::clean_up(|| ()) {
        return report(&error);
    }
    let done = match cli.command {
        Command::Convert(args) => convert::run(*args),
        Command::Schema(args) => schema::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&*error),
    }
}

/// Prints an error and its causes, each once, as one line.
fn report(error: &(dyn Error + 'static)) -> ExitCode {
    print_error(&chain(error));
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}
