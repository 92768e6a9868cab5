//! `arrow-shard verify`

use crate::counts::threads;
use crate::failure::Failure;
use crate::input::shards;
use crate::limits::LimitArgs;
use crate::location::open_shard;
use crate::output::Destination;
use crate::progress::bar;
use crate::text;
use arrow_shard::ErrorKind;
use arrow_shard::read::{VerifyOptions, VerifyReport};
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard verify flights.amudai.shard
  arrow-shard verify --quiet --threads 4 tables/ && echo sound
  arrow-shard verify 's3://logs/days/*.amudai.shard'

Compares every checksum, decodes every block, and checks every column against its statistics, \
filters and range indexes. Each problem is a line with its location; the exit code is 1 if there \
is any.";

/// Check all parts of shards: checksums, blocks, columns
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shards, globs in quotes, and folders: all shards of a folder are checked
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print only problems
    #[arg(long, short)]
    quiet: bool,
    /// Threads that check columns concurrently
    #[arg(long, default_value = "1", value_parser = threads)]
    threads: NonZeroUsize,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut out = Destination::standard();
    let mut sound = true;
    for file in &shards(&args.files)? {
        sound &= verify(file, args, &mut out)?;
        out.flush()?;
    }
    if sound {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Prints the problems of a shard. Returns whether it has none.
fn verify(file: &Path, args: &Args, out: &mut Destination) -> Result<bool, Failure> {
    let quiet = args.quiet;
    let place = file.display();
    // The message is the current column.
    let bar = bar(0, "columns {msg}", quiet);
    let options = args.limits.shard_options();
    let opened = options.and_then(|options| open_shard(file, options));
    let verified = opened.and_then(|shard| {
        let shown = bar.clone();
        let options = VerifyOptions::default().with_threads(args.threads.get());
        shard.verify_with(options.with_progress(move |progress| {
            let field = progress.field.unwrap_or_default();
            shown.set_length(progress.total);
            shown.set_position(progress.done);
            shown.set_message(text::shown(field).into_owned());
            ControlFlow::Continue(())
        }))
    });
    bar.finish_and_clear();
    use ErrorKind::{InvalidArgument, Io, NotFound, Replaced};
    let report = match verified {
        Ok(report) => report,
        // These errors name the file themselves. The remaining files are still verified.
        Err(error) if matches!(error.kind(), NotFound | Io | InvalidArgument | Replaced) => {
            Failure::from(error).report();
            return Ok(false);
        }
        Err(error) => {
            writeln!(out, "{}", text::shown(&format!("{error:#}")))?;
            return Ok(false);
        }
    };
    for problem in report.problems() {
        writeln!(out, "{}", text::shown(&problem.to_string()))?;
    }
    if report.is_sound() {
        if !quiet {
            writeln!(
                out,
                "{place}: sound; {} in {}, {}, {}, {} of data",
                text::count(report.num_rows(), "row"),
                text::count(report.num_stripes(), "stripe"),
                text::count(report.num_files(), "file"),
                units(&report),
                text::bytes(report.data_bytes()),
            )?;
        }
        return Ok(true);
    }
    let found = text::count(report.num_problems(), "problem");
    writeln!(out, "{place}: {found}")?;
    Ok(false)
}

/// Returns the number of blocks, and of pages of Parquet files if there are any.
fn units(report: &VerifyReport) -> String {
    let [blocks, pages] = [(report.num_blocks(), "block"), (report.num_pages(), "page")]
        .map(|(number, unit)| text::count(number, unit));
    match (report.num_blocks(), report.num_pages()) {
        (_, 0) => blocks,
        (0, _) => pages,
        _ => format!("{blocks}, {pages}"),
    }
}
