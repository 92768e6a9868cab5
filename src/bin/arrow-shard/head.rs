//! `arrow-shard head`

use crate::counts::rows;
use crate::failure::Failure;
use crate::rows::{OffsetArgs, RowArgs, print};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard head flights.amudai.shard
  arrow-shard head -n 3 --columns origin,delay --format json flights.amudai.shard";

/// Print the first rows of a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File, folder (with its subfolders), glob in quotes, or URL to read; `-` is standard input (IPC stream, CSV,
    /// NDJSON)
    input: PathBuf,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    offset: OffsetArgs,
    /// Rows to print
    #[arg(long = "rows", alias = "limit", short = 'n', default_value_t = 10, value_parser = rows::<u64>)]
    limit: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    print(
        std::slice::from_ref(&args.input),
        &args.rows,
        args.offset,
        Some(args.limit),
    )
}
