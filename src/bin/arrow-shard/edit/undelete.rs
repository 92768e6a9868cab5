//! `arrow-shard undelete`

use super::TargetArgs;
use super::editing::Editing;
use crate::counts::row_number;
use crate::failure::Failure;
use crate::limits::LimitArgs;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard undelete flights.amudai.shard
  arrow-shard undelete --rows 17,1000 flights.amudai.shard
  arrow-shard undelete flights.amudai.shard --output all.amudai.shard --dry-run

Rows that `compact` has left out are gone for good. If no row is deleted, the shard stays as it is.";

/// Restore deleted rows
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Rows to restore, by number, separated by commas; the first row is 0 [default: all]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = row_number)]
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
    match args.rows.as_slice() {
        [] => editing.editor().undelete(),
        rows => editing.undelete_rows(rows)?,
    };
    args.target.commit(editing, &args.file)
}
