//! `arrow-shard cat`

use crate::failure::Failure;
use crate::rows::{RowArgs, print};

const EXAMPLES: &str = "\
Examples:
  arrow-shard cat --format csv flights.amudai.shard > flights.csv
  arrow-shard cat --offset 1000 --limit 20 --columns origin flights.amudai.shard
  arrow-shard cat --filter \"delay > 60 AND origin LIKE 'OS%'\" flights.amudai.shard";

/// Print all rows of a file, or some of them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Rows to print at most, all by default
    #[arg(long, alias = "rows", short = 'n', value_name = "ROWS")]
    limit: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    print(&args.rows, args.limit)
}
