//! `arrow-shard undelete`

use super::{TargetArgs, local};
use crate::failure::Failure;
use arrow_shard::ops::ShardEditor;
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
    let file = local(&args.file)?;
    let mut editor = ShardEditor::open(&file)?;
    match args.rows.as_slice() {
        [] => editor.undelete()?,
        rows => editor.undelete_rows(rows)?,
    };
    args.target.commit(editor, &file)
}
