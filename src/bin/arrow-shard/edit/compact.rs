//! `arrow-shard compact`

use super::editing::beside;
use super::{existing, report};
use crate::counts::{rows, threads};
use crate::failure::Failure;
use crate::limits::LimitArgs;
use crate::location::{stored, wait};
use crate::option_names::ProfileName;
use crate::output::Destination;
use crate::progress::followed;
use crate::text;
use arrow_shard::ops::{CompactOptions, compact_async, compact_to_async, plan_compaction_async};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard compact flights.amudai.shard --dry-run
  arrow-shard compact --max-deleted 0.05 flights.amudai.shard
  arrow-shard compact --external lake.amudai.shard
  arrow-shard compact s3://logs/2024.amudai.shard --output s3://logs/2024b.amudai.shard

Files that are no longer needed stay, because readers may have them open; `arrow-shard vacuum \
--remove` removes them.";

/// Rewrite stripes that are small or have many deleted rows
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Rows below which a stripe is small
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = CompactOptions::default().min_rows(),
        value_parser = rows::<u64>
    )]
    min_rows: u64,
    /// Share of deleted rows above which a stripe is rewritten
    #[arg(long, value_name = "SHARE", default_value_t = CompactOptions::default().max_deleted())]
    max_deleted: f64,
    /// Rewrite all stripes with columns in Parquet files, so that these files are no longer needed
    #[arg(long)]
    external: bool,
    /// How to encode the rewritten rows
    #[arg(long, value_enum, default_value_t)]
    profile: ProfileName,
    /// Threads that read and encode concurrently
    #[arg(long, default_value = "1", value_parser = threads)]
    threads: NonZeroUsize,
    /// Write the new directory here, and leave the shard unchanged; the file must not exist, and its folder must
    /// contain the shard, directly or in a subfolder [default: the directory of the shard is replaced]
    #[arg(long, short, value_name = "FILE", value_parser = super::shard_output())]
    output: Option<PathBuf>,
    /// Show which stripes would be rewritten, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Show neither progress nor the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let options = CompactOptions::default()
        .with_min_rows(args.min_rows)
        .with_max_deleted(args.max_deleted)
        .with_external(args.external)
        .with_profile(args.profile.into())
        .with_threads(args.threads.get())
        .with_limits(args.limits.limits())
        .with_external_files(args.limits.external_files()?);
    let location = stored(&args.file)?;
    let mut out = Destination::standard();
    let file = args.file.display().to_string();
    let place = text::shown(&file);
    if args.dry_run {
        let runs = wait(&location, plan_compaction_async(&location, options))?;
        if runs.is_empty() {
            writeln!(out, "{place}: no stripe needs to be rewritten")?;
        }
        for run in runs {
            let last = run.end.saturating_sub(1);
            if run.start == last {
                writeln!(out, "{place}: stripe {last} would be rewritten")?;
            } else {
                let first = run.start;
                writeln!(
                    out,
                    "{place}: stripes {first} to {last} would become one or more"
                )?;
            }
        }
        return Ok(out.flush()?);
    }
    let output = match &args.output {
        Some(path) => Some(beside(location.store(), path)?),
        None => None,
    };
    let (bar, follow) = followed("rows", args.quiet);
    let options = options.with_progress(follow);
    let done = match output {
        None => wait(&location, compact_async(&location, options))?,
        Some(target) => Some({
            let done = compact_to_async(&location, target.name(), options);
            let path = args.output.as_deref().unwrap_or(&args.file);
            wait(&location, done).map_err(|e| existing(e, path, false))?
        }),
    };
    bar.finish_and_clear();
    match done {
        _ if args.quiet => Ok(()),
        Some(done) => report(args.output.as_deref().unwrap_or(&args.file), &done),
        None => {
            writeln!(out, "{place}: no stripe needs to be rewritten")?;
            Ok(out.flush()?)
        }
    }
}
