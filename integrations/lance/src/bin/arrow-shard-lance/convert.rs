//! `arrow-shard-lance convert`

use crate::lance_names::{check_conversion, is_lance};
use crate::option_names::{LayoutName, ProfileName};
use crate::usage::{Usage, check_dataset};
use arrow_shard::WriterOptions;
use arrow_shard_lance::{
    ConvertOptions, LanceReadOptions, LanceVersion, LanceWriteOptions, convert,
};
use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  arrow-shard-lance convert images.lance images.amudai.shard
  arrow-shard-lance convert --dataset-version 3 images.lance images.amudai.shard
  arrow-shard-lance convert --lance-version 2.0 flights.amudai.shard flights.lance

A file appears when it is complete; a failed or interrupted conversion leaves none.";

/// Convert a Lance file or dataset to a shard, or a shard to a Lance file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Lance file, folder of a Lance dataset (.lance), or shard to read
    input: PathBuf,
    /// Shard or Lance file (.lance) to write
    output: PathBuf,
    /// Version of the Lance format to write: 2.0, 2.1 or 2.2 [default: 2.2]
    #[arg(long, value_name = "VERSION")]
    lance_version: Option<LanceVersion>,
    /// Version of the dataset to read [default: the latest]
    #[arg(long, value_name = "NUMBER")]
    dataset_version: Option<u64>,
    /// How hard to compress a shard [default: balanced]
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    /// Most rows of a stripe of a shard [default: 1048576]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    stripe_rows: Option<u64>,
    /// Files of a shard: all in one, or a file per stripe [default: single-file]
    #[arg(long, value_enum)]
    layout: Option<LayoutName>,
    /// Threads that decode or encode the columns of a shard [default: 1]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Replace the output if it exists
    #[arg(long, short)]
    force: bool,
    /// Do not print a summary
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Box<dyn Error>> {
    check_conversion(&args.input, &args.output).map_err(Usage)?;
    check_options(&args)?;
    let started = Instant::now();
    let threads = args.threads.map_or(1, NonZeroUsize::get);
    let mut shard = WriterOptions::default()
        .with_overwrite(args.force)
        .with_threads(threads);
    if let Some(profile) = args.profile {
        shard = shard.with_profile(profile.into());
    }
    if let Some(rows) = args.stripe_rows {
        shard = shard.with_stripe_rows(rows);
    }
    if let Some(layout) = args.layout {
        shard = shard.with_layout(layout.into());
    }
    let lance = LanceWriteOptions::default()
        .with_version(args.lance_version.unwrap_or_default())
        .with_overwrite(args.force);
    let mut read = LanceReadOptions::default();
    if let Some(version) = args.dataset_version {
        read = read.with_version(version);
    }
    let options = ConvertOptions::default()
        .with_read_options(read)
        .with_lance_options(lance)
        .with_shard_options(shard)
        .with_threads(threads);
    let rows = convert(&args.input, &args.output, options)?;
    if !args.quiet {
        eprintln!(
            "{}: {rows} {} in {:.1} s",
            args.output.display(),
            if rows == 1 { "row" } else { "rows" },
            started.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// Refuses options that would have no effect.
fn check_options(args: &Args) -> Result<(), Usage> {
    let shard_only = [
        ("--profile", args.profile.is_some()),
        ("--stripe-rows", args.stripe_rows.is_some()),
        ("--layout", args.layout.is_some()),
    ];
    if let Some((name, _)) = shard_only.iter().find(|(_, given)| *given)
        && is_lance(&args.output)
    {
        return Err(Usage(format!(
            "{name} is for shards, and the output is Lance"
        )));
    }
    if args.lance_version.is_some() && !is_lance(&args.output) {
        return Err(Usage(
            "--lance-version is for Lance files that are written, and the output is a shard"
                .to_owned(),
        ));
    }
    check_dataset(&args.input, args.dataset_version)
}
