//! `arrow-shard head`

use crate::counts::rows;
use crate::failure::Failure;
use crate::rows::{OffsetArgs, RowArgs, print_each};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard head flights.amudai.shard
  arrow-shard head -5 flights.amudai.shard flights.parquet
  arrow-shard head -n 3 --columns origin,delay --format json flights.amudai.shard

A table is printed for each input, under its name; the files of a folder or a glob in quotes are one table. With \
--format csv or json, all inputs are one table, as in `cat`, and its first rows are printed.";

/// Print the first rows of files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders (with their subfolders), globs in quotes, or URLs to read; `-` is standard input (IPC stream,
    /// CSV, NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    offset: OffsetArgs,
    /// Rows to print; `-5` is short for `-n 5`
    #[arg(long = "rows", alias = "limit", short = 'n', default_value_t = 10, value_parser = rows::<u64>)]
    limit: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    print_each(&args.inputs, &args.rows, args.offset.offset, |files| {
        args.rows.open(files, args.offset, Some(args.limit))
    })
}
