//! `arrow-shard merge`

use super::editing::Editing;
use crate::failure::Failure;
use crate::limits::LimitArgs;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard merge days/*.amudai.shard --output november.amudai.shard
  arrow-shard merge a.amudai.shard b.amudai.shard --output ab.amudai.shard --dry-run

No row is copied: the new file refers to the buffers of the shards, which must be in its folder or \
below. Columns are united by name; if a shard lacks a column, its rows are null in it. Tables of a folder \
leave out shards that a merged shard of the folder holds.

A shard that is one file gets a second name next to it, X.amudai.stripe, which the new file refers to. \
That is a clone where the file system has them (Btrfs and XFS on Linux), else a hard link, else a copy; \
the output says which. After a clone or a hard link, deleting an input frees no space: `arrow-shard \
vacuum --remove` does, once no shard refers to the second name. Never overwrite a hard-linked shard in \
place, as `cp` does: reading the merged shard would fail. Delete it first, or write another file and \
rename it.";

/// Merge several shards into one, by reference
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory files of the shards, in the order of their rows
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Directory file of the new shard, which must not exist
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Show the size of the new shard, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Show neither progress nor the result
    #[arg(long, short, conflicts_with = "dry_run")]
    quiet: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Some((first, others)) = args.files.split_first() else {
        return Err(Failure::Usage("no shard is named".to_owned()));
    };
    let mut editing = Editing::open(first, args.limits.editing_options()?, args.quiet)?;
    editing.append_all(others)?;
    editing.check_distinct()?;
    let target = super::TargetArgs {
        output: Some(args.output.clone()),
        dry_run: args.dry_run,
        quiet: args.quiet,
    };
    target.commit(editing, first)?;
    if !args.dry_run && !args.quiet {
        super::note_parts(&args.output, &args.files);
    }
    Ok(())
}
