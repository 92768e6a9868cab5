//! `arrow-shard head`

use crate::failure::Failure;
use crate::rows::{RowArgs, print};

const EXAMPLES: &str = "\
Examples:
  arrow-shard head flights.amudai.shard
  arrow-shard head -n 3 --columns origin,delay --format json flights.amudai.shard";

/// Print the first rows of a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Rows to print
    #[arg(long = "rows", alias = "limit", short = 'n', default_value_t = 10)]
    limit: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    print(&args.rows, Some(args.limit))
}
