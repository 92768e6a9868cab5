//! `arrow-shard pack`

use crate::failure::Failure;
use crate::limits::LimitArgs;
use crate::location::{stored, wait};
use crate::output::Destination;
use crate::progress::followed;
use crate::text;
use arrow_shard::ops::{PackOptions, pack_async};
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard pack flights.amudai.shard backup/flights.amudai.shard
  arrow-shard pack --force flights.amudai.shard flights.amudai.shard
  arrow-shard pack s3://logs/2024.amudai.shard s3://logs/packed/2024.amudai.shard

A shard that was edited or merged, or converted with --layout two-level, has its data in other files \
(*.amudai.stripe), and cannot be read without them. The new file has all data: it can be moved, copied \
or sent alone. Bytes are copied as they are; deleted rows stay deleted, and data of dropped columns are \
left out. The old files stay: `arrow-shard vacuum` removes those that no shard needs.";

/// Combine a shard of several files into one file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    input: PathBuf,
    /// File to write
    #[arg(value_parser = super::shard_output())]
    output: PathBuf,
    /// Replace the output if it exists; it may be the shard itself
    #[arg(long, short)]
    force: bool,
    /// Show neither progress nor the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (bar, follow) = followed("rows", args.quiet);
    let options = PackOptions::default()
        .with_overwrite(args.force)
        .with_limits(args.limits.limits())
        .with_external_files(args.limits.external_files()?)
        .with_progress(follow);
    let (input, output) = (stored(&args.input)?, stored(&args.output)?);
    // One of the two may be a local file.
    let distant = if input.store().is_near() {
        &output
    } else {
        &input
    };
    let done = wait(distant, pack_async(&input, &output, options));
    let done = done.map_err(|e| super::existing(e, &args.output, true))?;
    bar.finish_and_clear();
    if args.quiet {
        return Ok(());
    }
    let mut out = Destination::standard();
    let place = args.output.display().to_string();
    let deleted = match done.num_deleted_rows() {
        0 => String::new(),
        deleted => format!(", and {} deleted", text::count(deleted, "row")),
    };
    writeln!(
        out,
        "{} has {}{deleted} in {}, in one file of {}",
        text::shown(&place),
        text::count(done.num_rows(), "row"),
        text::count(done.num_stripes(), "stripe"),
        text::bytes(done.bytes()),
    )?;
    Ok(out.flush()?)
}
