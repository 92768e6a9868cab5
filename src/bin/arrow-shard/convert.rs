//! `arrow-shard convert`

use crate::compression::Compression;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, Files, ReadArgs, RowWindow};
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
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  arrow-shard convert in.parquet out.amudai.shard
  arrow-shard convert --profile high-compression --layout two-level in.arrow out.amudai.shard
  arrow-shard convert --mapping amudai in.parquet out.amudai.shard
  arrow-shard convert --wire reference in.parquet out.amudai.shard
  arrow-shard convert in.amudai.shard out.csv --columns id,name --force
  arrow-shard convert days/ 'more/*.parquet' all.amudai.shard
  arrow-shard convert 2024.csv 2025.ndjson --unify --output all.parquet
  arrow-shard convert log.csv.gz log.amudai.shard
  arrow-shard convert log.csv log.parquet --cast day=date32 --cast 'price=decimal(10,2)'
  arrow-shard convert --schema 'id int64 not null, at timestamp(us, UTC)' log.ndjson log.amudai.shard
  arrow-shard convert --limit 1000 --filter \"delay > 60\" in.amudai.shard sample.csv
  arrow-shard convert in.lance out.amudai.shard
  producer | arrow-shard convert --from ipc-stream - out.amudai.shard

Several inputs are read one after the other, each in its own format. Folders are read with their \
subfolders; globs are matched here if they are quoted. The files of both are in the order of their \
names, and hidden files, also those that begin with `_`, are skipped. Columns are united by name, in the \
order in which they first appear. A column that a file lacks is null in its rows. Types that differ \
are an error that names the file, unless --unify finds a wider type; a value that it does not hold \
exactly is an error, too.

CSV and NDJSON may be compressed with gzip, zstd, bzip2 or xz. Inputs are recognized by their content, \
also standard input; an output is compressed if its name ends in .gz, .zst, .bz2 or .xz.

A file appears when it is complete; a failed or interrupted conversion leaves none, but in an object \
store an interrupted one may leave an unfinished upload, or stripe files of --layout two-level. A symbolic \
link is followed, a named pipe is written to. In CSV an empty value is null; the types of CSV and \
JSON columns are inferred from all rows, unless --schema-rows says otherwise.";

const USAGE: &str = "\
arrow-shard convert [OPTIONS] <INPUT>... <OUTPUT>
       arrow-shard convert [OPTIONS] <INPUT>... --output <OUTPUT>";

/// Convert between shards, Parquet, Arrow IPC, COLE, CSV and NDJSON
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct Args {
    /// Files, folders and globs to read, and at last the file to write unless --output names it; `-` is standard input
    /// or output (IPC stream, CSV, NDJSON)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// File to write; all other files are then inputs
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
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
    /// Number of rows to skip at the start
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    offset: u64,
    /// Maximum number of rows to convert; all by default
    #[arg(long, short = 'n', value_name = "ROWS")]
    limit: Option<u64>,
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
    let (inputs, target) = args.places()?;
    if inputs.iter().any(|input| is_lance(input)) || is_lance(target) {
        let ([input], None) = (inputs, &args.output) else {
            return Err(Failure::Usage(
                "Lance is converted one file at a time: arrow-shard convert INPUT OUTPUT".to_owned(),
            ));
        };
        check_conversion(input, target).map_err(Failure::Usage)?;
        return lance::convert();
    }
    if args.lance_version.is_some() || args.dataset_version.is_some() {
        return Err(Failure::Usage(
            "--lance-version and --dataset-version need a name that ends in .lance".to_owned(),
        ));
    }
    let started = Instant::now();
    let format = FileFormat::of_output(target, args.to)?;
    let options = options(args, format)?;
    let found = Place::find(target, format, args.force)?;
    let reading = &args.reading;
    let files = reading.files(inputs)?;
    check(args, &files, target, format)?;
    let rows = RowWindow {
        filter: args.filter.as_deref(),
        offset: args.offset,
        limit: args.limit,
        threads: args.threads.map_or(1, NonZeroUsize::get),
    };
    let input = reading.open_all(&files.paths, &args.columns, rows)?;
    let place = target.display();
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
        &reading.csv.style(target),
        Compression::by_name(target),
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

impl Args {
    /// Returns the inputs and the output.
    fn places(&self) -> Result<(&[PathBuf], &Path), Failure> {
        match (&self.output, self.files.as_slice()) {
            (Some(output), inputs) => Ok((inputs, output)),
            (None, [inputs @ .., output]) if !inputs.is_empty() => Ok((inputs, output)),
            _ => Err(Failure::Usage(
                "name the file to write after the files to read, or with --output".to_owned(),
            )),
        }
    }
}

/// Fails if options do not fit the files, or if the output would be read as an input of a later run.
fn check(args: &Args, files: &Files, target: &Path, format: FileFormat) -> Result<(), Failure> {
    let reading = &args.reading;
    reading.check(&files.paths, Some(format))?;
    if files.have(target) {
        return Err(Failure::new(format!(
            "{}: the output is one of the files in the folder or glob that is read; write it elsewhere",
            target.display()
        )));
    }
    let mut formats = files.paths.iter().map(|path| reading.format(path));
    if args.threads.is_some()
        && format != FileFormat::Shard
        && !formats.any(|it| it.is_ok_and(|it| it == FileFormat::Shard))
    {
        return Err(Failure::Usage(
            "--threads applies only to shards that are read or written, and there are none here"
                .to_owned(),
        ));
    }
    if !args.quiet {
        for note in &files.notes {
            eprintln!("note: {}", text::shown(note));
        }
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
