//! `arrow-shard select`

use super::TargetArgs;
use super::editing::Editing;
use crate::failure::Failure;
use crate::input::ColumnNames;
use crate::limits::LimitArgs;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard select --columns origin,delay flights.amudai.shard --output small.amudai.shard
  arrow-shard select --drop distance --rename destination=target flights.amudai.shard

No row is copied. The data of columns that are left out stay in the files, for other shards that refer to \
them; `arrow-shard pack` leaves them out. A shard that was one file becomes several, which have to be kept \
together; the output says how many. If nothing changes, the shard stays as it is.";

/// Select, drop and rename columns, by reference
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Columns to keep, separated by commas, in the new order; put a name with a comma in double quotes [default: all]
    #[arg(long, value_name = "COLUMNS")]
    columns: Vec<ColumnNames>,
    /// Columns to drop, or members of structs: `a,b.c`
    #[arg(long, value_name = "COLUMNS")]
    drop: Vec<ColumnNames>,
    /// Columns to rename, or members of structs: `a=b`, `c.d=e`
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<String>,
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
    let editor = editing.editor();
    let columns = ColumnNames::all(&args.columns);
    if !columns.is_empty() {
        editor.select_columns(columns)?;
    }
    editor.drop_columns(ColumnNames::all(&args.drop))?;
    super::rename(editor, &args.rename)?;
    args.target.commit(editing, &args.file)
}
