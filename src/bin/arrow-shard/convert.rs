//! `arrow-shard convert`

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, ReadArgs, RowWindow};
use crate::lance;
use crate::lance_names::{check_conversion, is_lance};
use crate::option_names::{LayoutName, ProfileName};
use crate::output::{Output, Place, lossy_batch, lossy_schema};
use crate::progress::Progress;
use crate::text;
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::write::WriterOptions;
use clap::ValueEnum;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  arrow-shard convert in.parquet out.amudai.shard
  arrow-shard convert --profile high-compression --layout two-level in.arrow out.amudai.shard
  arrow-shard convert --mapping amudai in.parquet out.amudai.shard
  arrow-shard convert --wire reference in.parquet out.amudai.shard
  arrow-shard convert in.amudai.shard out.csv --columns id,name --force
  arrow-shard convert in.lance out.amudai.shard
  producer | arrow-shard convert --from ipc-stream - out.amudai.shard

A file appears when it is complete; a failed or interrupted conversion leaves none, but in an object \
store an interrupted one may leave an unfinished upload, or stripe files of --layout two-level. A symbolic \
link is followed, a named pipe is written to. In CSV an empty value is null; the types of CSV and \
JSON columns are inferred from all rows, unless --schema-rows says otherwise.";

/// Convert between shards, Parquet, Arrow IPC, COLE, CSV and NDJSON
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File to read; `-` is standard input (IPC stream, CSV, NDJSON)
    input: PathBuf,
    /// File to write; `-` is standard output (IPC stream, CSV, NDJSON)
    output: PathBuf,
    /// Format of the output, if its name does not show it
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<FileFormat>,
    #[command(flatten)]
    reading: ReadArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    /// Rows to convert, by a condition as in `cat`
    #[arg(long, visible_alias = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// How hard to compress a shard [default: balanced]
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    /// Maximum number of rows in a stripe of a shard [default: 1048576]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    stripe_rows: Option<u64>,
    /// Files of a shard: all in one, or a file per stripe [default: single-file]
    #[arg(long, value_enum)]
    layout: Option<LayoutName>,
    /// How Arrow types become types of a shard [default: lossless, with --wire reference amudai]
    #[arg(long, value_enum)]
    mapping: Option<MappingName>,
    /// Readers for which a shard is written: see docs/guide/types.md [default: spec]
    #[arg(long, value_enum)]
    wire: Option<WireName>,
    /// Threads that decode columns of an input shard and encode columns of an output shard [default: 1]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Version of the Lance format to write: 2.0, 2.1 or 2.2 [default: 2.2]
    #[arg(long, value_name = "VERSION")]
    lance_version: Option<String>,
    /// Version of a Lance dataset to read [default: the latest]
    #[arg(long, value_name = "NUMBER")]
    dataset_version: Option<u64>,
    /// Replace the output if it exists
    #[arg(long, short)]
    force: bool,
    /// Show neither progress nor summary
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MappingName {
    /// Stored as in Arrow, with a label
    Lossless,
    /// Times, durations, decimals, UUIDs and JSON in Amudai's native types, if they fit exactly
    Amudai,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum WireName {
    /// Readers of the specification, such as this one
    Spec,
    /// Also the reference implementation, which supports fewer types
    Reference,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if is_lance(&args.input) || is_lance(&args.output) {
        check_conversion(&args.input, &args.output).map_err(Failure::Usage)?;
        return lance::convert();
    }
    if args.lance_version.is_some() || args.dataset_version.is_some() {
        return Err(Failure::Usage(
            "--lance-version and --dataset-version need a name that ends in .lance".to_owned(),
        ));
    }
    let started = Instant::now();
    let format = FileFormat::of_output(&args.output, args.to)?;
    let options = options(args, format)?;
    let found = Place::find(&args.output, format, args.force)?;
    let reading = &args.reading;
    reading.check(std::slice::from_ref(&args.input), Some(format))?;
    if args.threads.is_some()
        && format != FileFormat::Shard
        && reading.format(&args.input)? != FileFormat::Shard
    {
        return Err(Failure::Usage(
            "--threads applies only to shards that are read or written, and there are none here"
                .to_owned(),
        ));
    }
    let rows = RowWindow {
        filter: args.filter.as_deref(),
        threads: args.threads.map_or(1, NonZeroUsize::get),
        ..RowWindow::default()
    };
    let input = reading.open(&args.input, &args.columns, rows)?;
    let place = args.output.display();
    let lossy = if reading.is_lossy() && format == FileFormat::Cole {
        Some(lossy_schema(&input.schema).map_err(|e| e.within(&place))?)
    } else {
        None
    };
    let mut output = Output::create(
        &found,
        format,
        lossy.as_ref().unwrap_or(&input.schema),
        options,
        &reading.csv.style(&args.output),
    )
    .map_err(|e| e.within(&place))?;
    let mut progress = Progress::new(input.total, args.quiet);
    for batch in input.batches {
        let batch = match &lossy {
            Some(schema) => lossy_batch(&batch?, schema).map_err(|e| e.within(&place))?,
            None => batch?,
        };
        output.write(&batch).map_err(|e| e.within(&place))?;
        progress.add(batch.num_rows());
    }
    output.finish().map_err(|e| e.within(&place))?;
    let rows = progress.rows();
    progress.finish();
    if !args.quiet {
        eprintln!(
            "{place}: {} in {:.1} s",
            text::count(rows, "row"),
            started.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

fn options(args: &Args, format: FileFormat) -> Result<WriterOptions, Failure> {
    let mut options = WriterOptions::default().with_overwrite(args.force);
    let shard_only = [
        ("--profile", args.profile.is_some()),
        ("--stripe-rows", args.stripe_rows.is_some()),
        ("--layout", args.layout.is_some()),
        ("--mapping", args.mapping.is_some()),
        ("--wire", args.wire.is_some()),
    ];
    if let Some((name, _)) = shard_only.iter().find(|(_, given)| *given)
        && format != FileFormat::Shard
    {
        return Err(Failure::Usage(format!(
            "{name} applies only to shards, and the output is {format}"
        )));
    }
    if let Some(threads) = args.threads {
        options = options.with_threads(threads.get());
    }
    if let Some(profile) = args.profile {
        options = options.with_profile(profile.into());
    }
    if let Some(rows) = args.stripe_rows {
        options = options.with_stripe_rows(rows);
    }
    if let Some(layout) = args.layout {
        options = options.with_layout(layout.into());
    }
    if let Some(mapping) = args.mapping {
        options = options.with_mapping(match mapping {
            MappingName::Lossless => TypeMapping::Lossless,
            MappingName::Amudai => TypeMapping::Amudai,
        });
    }
    if let Some(wire) = args.wire {
        options = options.with_wire(match wire {
            WireName::Spec => Wire::Spec,
            WireName::Reference => Wire::Reference,
        });
    }
    Ok(options)
}
