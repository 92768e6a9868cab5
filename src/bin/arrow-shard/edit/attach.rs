//! `arrow-shard attach`

use super::parquet_files::parquet_files;
use crate::counts::rows;
use crate::external_files::ExternalFileArgs;
use crate::failure::Failure;
use crate::input::{ColumnNames, HiveArgs, values_by_file};
use crate::location::{stored, wait};
use crate::progress::bar;
use crate::text;
use arrow_shard::io::Location;
use arrow_shard::ops::{AttachOptions, attach_with_async};
use std::ops::ControlFlow;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard attach lake/*.parquet --output lake.amudai.shard
  arrow-shard attach 'lake/year=202?/**/*.parquet' --output lake.amudai.shard
  arrow-shard attach lake --output lake.amudai.shard --hive --dry-run
  arrow-shard attach lake --output lake.amudai.shard --page-map
  arrow-shard attach lake --output lake.amudai.shard --index key,day --statistics price
  arrow-shard attach lake --output lake.amudai.shard --checksum
  arrow-shard attach /data/lake --output mine.amudai.shard --external-files /data/lake
  arrow-shard attach s3://bucket/lake/ --output s3://bucket/lake.amudai.shard

No row is copied: the new file refers to the column chunks of the Parquet files, which must be in its \
folder or below, and stay as they are. With --external-files they may be in the folder given there; commands \
that read the shard need the same option. Reading a file that has been changed or replaced is an error. \
`arrow-shard compact --external` rewrites the rows; the Parquet files are then no longer needed.

Statistics, Bloom filters, page indexes and sorting columns of the Parquet files are taken over. With --hive, values in \
names of folders become columns, and filters skip the folders with other values.

Columns are united by name; if a file lacks a column, its rows are null in it. The lengths of \
lists and maps and the nulls of structs are written to a stripe file next to the new file; columns of \
other nested types, such as fixed-size lists, are copied to it.";

/// Make a shard over Parquet files, by reference
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Parquet files, in the order of their rows, or folders, which are searched for `*.parquet`, or patterns in
    /// quotes: `*` stands for any characters of a name, `**` for any folders. Files of a folder or a pattern are sorted
    /// by name
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Directory file of the new shard, which must not exist
    #[arg(long, short, value_name = "FILE", value_parser = super::shard_output())]
    output: PathBuf,
    /// Combine row groups of a file into stripes of up to this many rows
    #[arg(
        long,
        value_name = "N",
        default_value_t = AttachOptions::default().stripe_rows(),
        value_parser = rows::<u64>
    )]
    stripe_rows: u64,
    /// Read all column chunks once to list their pages, in files that have no page index, so that readers of a few rows
    /// read less
    #[arg(long)]
    page_map: bool,
    /// Read these columns once to compute their statistics: null counts, bounds, distinct values
    #[arg(long, value_name = "COLS")]
    statistics: Vec<ColumnNames>,
    /// Read these columns once to index them: Bloom filters, and range indexes of sorted or clustered numbers
    #[arg(long, value_name = "COLS")]
    index: Vec<ColumnNames>,
    /// Read all column chunks once for checksums of their pages, which readers verify; lists the pages, too
    #[arg(long)]
    checksum: bool,
    /// Show the size of the new shard, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Show neither progress nor the result
    #[arg(long, short, conflicts_with = "dry_run")]
    quiet: bool,
    #[command(flatten)]
    folders: HiveArgs,
    #[command(flatten)]
    external_files: ExternalFileArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let target = stored(&args.output)?;
    let (files, names): (Vec<Location>, Vec<PathBuf>) =
        parquet_files(&args.files)?.into_iter().unzip();
    let progress = bar(files.len() as u64, "files", args.quiet);
    let shown = progress.clone();
    let mut options = AttachOptions::default()
        .with_stripe_rows(args.stripe_rows)
        .with_page_map(args.page_map)
        .with_statistics(ColumnNames::all(&args.statistics))
        .with_index(ColumnNames::all(&args.index))
        .with_checksums(args.checksum)
        .with_dry_run(args.dry_run)
        .with_external_files(args.external_files.folders()?)
        .with_progress(move |done| {
            shown.set_position(done.done);
            ControlFlow::Continue(())
        });
    if args.folders.hive {
        for (field, values) in values_by_file(&names)? {
            options = options.with_file_column(field, values);
        }
    }
    let folder_values = super::folder_values(&names).filter(|_| !args.folders.hive && !args.quiet);
    let distant = files.iter().find(|file| !file.store().is_near());
    let waits_for = distant.unwrap_or(&target).clone();
    let done = wait(&waits_for, attach_with_async(files, target, options));
    progress.finish_and_clear();
    let done = done.map_err(|e| super::existing(e, &args.output, false))?;
    if args.dry_run {
        super::say(&args.output, "would have", done.num_rows(), 0, "")?;
    } else if !args.quiet {
        super::report(&args.output, &done)?;
    }
    if let Some(folder) = folder_values {
        eprintln!(
            "note: values in names of folders, such as `{}`, are not columns of the shard; --hive makes columns of them",
            text::shown(&folder)
        );
    }
    Ok(())
}
