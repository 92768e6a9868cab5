//! `arrow-shard vacuum`

use crate::failure::Failure;
use crate::limits::LimitArgs;
use crate::location::{stored, wait};
use crate::output::Destination;
use crate::progress::followed;
use crate::text;
use arrow_shard::ops::{UnusedFile, VacuumOptions, vacuum_report_async};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  arrow-shard vacuum tables
  arrow-shard vacuum --remove --min-age 2 tables
  arrow-shard vacuum s3://logs/tables

The folder must hold all directory files that may refer to files below it. Files are removed only with \
--remove: stripe files (a hexadecimal number and .amudai.stripe) to which no directory file refers, and \
temporary files (.arrow-shard.*.tmp) of processes that were killed, an hour ago or earlier. If a file \
may be a damaged directory file, nothing is removed, and the error names it.";

/// List or remove files that no shard needs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder, with all its subfolders
    folder: PathBuf,
    /// Remove the files; otherwise they are only listed
    #[arg(long)]
    remove: bool,
    /// Only list the files, as without --remove
    #[arg(long, conflicts_with = "remove")]
    dry_run: bool,
    /// Minimum number of hours since the last change of a stripe file
    #[arg(long, value_name = "HOURS", default_value_t = 24)]
    min_age: u64,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let age = Duration::from_secs(args.min_age.saturating_mul(3600));
    let (bar, follow) = followed("shards", false);
    let options = VacuumOptions::default()
        .with_min_age(age)
        .with_dry_run(args.dry_run || !args.remove)
        .with_limits(args.limits.limits())
        .with_external_files(args.limits.external_files()?)
        .with_progress(follow);
    let folder = stored(&args.folder)?;
    let report = wait(&folder, vacuum_report_async(&folder, options))?;
    bar.finish_and_clear();
    let mut out = Destination::standard();
    for file in report.unused() {
        let path = file.location.to_string();
        writeln!(out, "{}: {}", text::shown(&path), text::bytes(file.bytes))?;
    }
    let (count, bytes) = sums(report.unused());
    let done = if args.remove {
        "removed"
    } else {
        "could be removed"
    };
    writeln!(out, "{count} of {bytes} {done}")?;
    if !report.young().is_empty() {
        let (count, bytes) = sums(report.young());
        let are = if report.young().len() == 1 {
            "is"
        } else {
            "are"
        };
        let hours = args.min_age;
        writeln!(
            out,
            "{count} ({bytes}) {are} younger than {hours} h (--min-age)"
        )?;
    }
    Ok(out.flush()?)
}

/// Returns the number of files and of their bytes, for people.
fn sums(files: &[UnusedFile]) -> (String, String) {
    let bytes = files.iter().map(|file| file.bytes).sum();
    (text::count(files.len() as u64, "file"), text::bytes(bytes))
}
