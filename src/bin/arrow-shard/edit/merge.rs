//! `arrow-shard merge`

use super::{existing, note_parts, report, say, shard_output};
use crate::failure::Failure;
use crate::input::with_matches;
use crate::limits::LimitArgs;
use crate::location::{NamedFiles, stored, wait};
use crate::progress::followed;
use crate::text;
use arrow_shard::io::Location;
use arrow_shard::ops::{MergeOptions, merge_with_async};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard merge days/*.amudai.shard --output november.amudai.shard
  arrow-shard merge a.amudai.shard b.amudai.shard --output ab.amudai.shard --dry-run
  arrow-shard merge --force days/*.amudai.shard --output november.amudai.shard

No row is copied: the new file refers to the buffers of the shards, which must be in its folder or \
below. Columns are united by name; if a shard lacks a column, its rows are null in it. A shard is named once. Tables of a \
folder leave out shards that a merged shard of the folder holds.

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
    /// Directory files of the shards, or globs in quotes, in the order of their rows
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Directory file of the new shard
    #[arg(long, short, value_name = "FILE", value_parser = shard_output())]
    output: PathBuf,
    /// Replace the output if it exists; it must not be one of the shards
    #[arg(long, short)]
    force: bool,
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
    let files = with_matches(&args.files)?;
    let shards = located(&files)?;
    let target = stored(&args.output)?;
    let (bar, follow) = followed("shards", args.quiet);
    let options = MergeOptions::default()
        .with_overwrite(args.force)
        .with_dry_run(args.dry_run)
        .with_limits(args.limits.limits())
        .with_external_files(args.limits.external_files()?)
        .with_progress(follow);
    let waits_for = shards.first().unwrap_or(&target).clone();
    let done = wait(&waits_for, merge_with_async(shards, target, options));
    bar.finish_and_clear();
    let done = done.map_err(|e| existing(e, &args.output, true))?;
    if args.dry_run {
        let (rows, deleted) = (done.num_rows(), done.num_deleted_rows());
        return say(&args.output, "would have", rows, deleted, "");
    }
    if args.quiet {
        return Ok(());
    }
    report(&args.output, &done)?;
    note_parts(&args.output, &files);
    if let Some(folder) = super::folder_values(&files) {
        eprintln!(
            "note: values in names of folders, such as `{}`, are not columns of the shard; `convert --hive` writes them",
            text::shown(&folder)
        );
    }
    Ok(())
}

/// Returns the locations of the shards.
///
/// # Errors
/// Fails if a shard is named twice, as by a list and a glob: its rows would be in the result twice.
fn located(files: &[PathBuf]) -> Result<Vec<Location>, Failure> {
    let mut named = NamedFiles::default();
    let mut shards = Vec::with_capacity(files.len());
    for file in files {
        let shard = stored(file)?;
        if !named.insert(&shard) {
            let why =
                "the shard is named twice, and the result would have its rows twice; name it once";
            return Err(Failure::new(why).within(file.display()));
        }
        shards.push(shard);
    }
    Ok(shards)
}
