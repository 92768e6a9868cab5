//! `arrow-shard compact`

use super::{local, report};
use crate::failure::Failure;
use crate::output::Destination;
use crate::profile::ProfileName;
use crate::text;
use arrow_shard::ops::{CompactOptions, compact, compaction};
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard compact flights.amudai.shard --dry-run
  arrow-shard compact --max-deleted 0.05 flights.amudai.shard

Files that are not needed any more stay for whoever reads them, until `arrow-shard vacuum`.";

/// Write small stripes anew, and those of which many rows are deleted
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Rows below which a stripe is small
    #[arg(long, value_name = "ROWS", default_value_t = CompactOptions::default().min_rows())]
    min_rows: u64,
    /// Share of deleted rows above which a stripe is written anew
    #[arg(long, value_name = "SHARE", default_value_t = CompactOptions::default().max_deleted())]
    max_deleted: f64,
    /// How to encode the rows that are written anew
    #[arg(long, value_enum, default_value_t)]
    profile: ProfileName,
    /// Threads that read and encode at the same time
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Say which stripes would be written anew, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = local(&args.file)?;
    let options = CompactOptions::default()
        .with_min_rows(args.min_rows)
        .with_max_deleted(args.max_deleted)
        .with_profile(args.profile.into())
        .with_threads(args.threads);
    let mut out = Destination::standard();
    let place = file.display().to_string();
    let place = text::shown(&place);
    if args.dry_run {
        for run in compaction(&file, &options)? {
            let last = run.end.saturating_sub(1);
            match run.start == last {
                true => writeln!(out, "{place}: stripe {last} would be written anew")?,
                false => {
                    writeln!(
                        out,
                        "{place}: stripes {} to {last} would become one or more",
                        run.start
                    )?;
                }
            }
        }
        return Ok(out.flush()?);
    }
    match compact(&file, &options)? {
        Some(done) => report(&file, &done),
        None => {
            writeln!(out, "{place}: no stripe is small or much deleted")?;
            Ok(out.flush()?)
        }
    }
}
