//! `arrow-shard undelete`

use super::TargetArgs;
use super::editing::Editing;
use crate::failure::Failure;
use std::path::PathBuf;

/// Bring deleted rows back
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Rows to bring back, by their numbers, separated by commas [default: all]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    rows: Vec<u64>,
    #[command(flatten)]
    target: TargetArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut editing = Editing::open(&args.file)?;
    match args.rows.as_slice() {
        [] => editing.editor().undelete(),
        rows => editing.undelete_rows(rows)?,
    };
    args.target.commit(editing, &args.file)
}
