//! `arrow-shard delete`

use super::TargetArgs;
use super::editing::Editing;
use crate::failure::Failure;
use crate::input::predicate;
use crate::limits::LimitArgs;
use crate::location::open_shard;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard delete --where \"delay IS NULL OR origin = 'OSL'\" flights.amudai.shard
  arrow-shard delete --rows 17,1000 flights.amudai.shard --dry-run

Deleted rows are marked, and their data stay: `undelete` brings them back, and `compact` leaves them \
out for good. If no row matches, the shard stays as it is. A shard that was one file becomes several, \
which have to be kept together; the output says how many, and `arrow-shard pack` makes one file of them.";

/// Delete rows
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Rows to delete, by a condition as in `cat --filter`
    #[arg(
        long = "where",
        visible_alias = "filter",
        value_name = "CONDITION",
        required_unless_present = "rows"
    )]
    condition: Option<String>,
    /// Rows to delete, by number, separated by commas; deleted rows count
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    rows: Vec<u64>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut editing = Editing::open(
        &args.file,
        args.limits.editing_options()?,
        args.target.quiet,
    )?;
    if let Some(condition) = &args.condition {
        let shard = open_shard(&args.file, args.limits.shard_options()?)?;
        editing.delete(&predicate("--where", shard.parse_predicate(condition))?)?;
    }
    editing.delete_rows(&args.rows)?;
    args.target.commit(editing, &args.file)
}
