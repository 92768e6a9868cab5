//! `arrow-shard cat`

use crate::failure::Failure;
use crate::rows::{OffsetArgs, RowArgs, print_input};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard cat --format csv flights.amudai.shard > flights.csv
  arrow-shard cat --format json 2024.amudai.shard 'days/*.parquet'
  arrow-shard cat --offset 1000 --limit 20 --columns origin flights.amudai.shard
  arrow-shard cat --filter \"delay > 60 AND origin LIKE 'OS%'\" flights.amudai.shard";

/// Print all rows of files, or some of them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders (with their subfolders), globs in quotes, or URLs to read, one after the other; columns are
    /// united by name; `-` is standard input (IPC stream, CSV, NDJSON)
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    offset: OffsetArgs,
    /// Maximum number of rows to print; all by default
    #[arg(long, alias = "rows", short = 'n', value_name = "ROWS")]
    limit: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let files = args.rows.reading.files(&args.inputs)?.paths;
    args.rows.check(&files)?;
    let input = args.rows.open(&files, args.offset, args.limit)?;
    print_input(input, &args.rows, args.offset.offset, &files)
}
