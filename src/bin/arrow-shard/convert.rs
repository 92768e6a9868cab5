//! `arrow-shard convert`

mod dry_run;
mod numbered;
mod outputs;
mod partitions;
mod sort;
mod writing;

use crate::allocator;
use crate::counts::{rows, some_rows, threads};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, ColumnNames, Files, Input, ReadArgs, RowWindow};
use crate::lance;
use crate::lance_names::{check_conversion, is_lance};
use crate::new_folders;
use crate::option_names::{LayoutName, ProfileName};
use crate::output::{Codec, lossy_batch, lossy_schema};
use crate::progress::InputProgress;
use crate::size::size;
use crate::text;
use crate::threads::usual_threads;
use arrow_shard::io::is_url;
use arrow_shard::metadata::{TypeMapping, Wire};
use arrow_shard::write::WriterOptions;
use clap::ValueEnum;
use numbered::part_in_folder;
use outputs::Outputs;
use partitions::{PartitionBy, Partitions};
use sort::{Order, sorted};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use writing::Target;

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
  arrow-shard convert --compression snappy log.csv log.parquet
  arrow-shard convert log.csv log.parquet --cast 'day=date32,price=decimal(10,2)'
  arrow-shard convert --names id,name,price list.csv list.parquet
  arrow-shard convert --schema 'id int64 not null, at timestamp(us, UTC)' log.ndjson log.amudai.shard
  arrow-shard convert --limit 1000 --filter \"delay > 60\" in.amudai.shard sample.csv
  arrow-shard convert --rows-per-file 1000000 in.parquet part.parquet
  arrow-shard convert --partition-by origin --sort origin,time flights.parquet lake/part.parquet
  arrow-shard convert --sort origin,-delay flights.parquet sorted.amudai.shard
  arrow-shard convert --hive --dry-run 'lake/year=*' lake.amudai.shard
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
    #[arg(long, value_name = "ROWS", default_value_t = 0, value_parser = rows::<u64>)]
    offset: u64,
    /// Maximum number of rows to convert; all by default
    #[arg(long, short = 'n', value_name = "ROWS", value_parser = rows::<u64>)]
    limit: Option<u64>,
    /// Columns to sort the rows by, separated by commas; a `-` before a name: from the greatest value to the least.
    /// Nulls are last, and equal rows keep their order
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Vec<ColumnNames>,
    /// Memory for rows that --sort sorts, such as 1G; more rows are sorted with temporary files [default: 96M]
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "sort")]
    sort_memory: Option<u64>,
    /// Compression of the values in Parquet [default: zstd] or Arrow IPC [default: none]
    #[arg(long, value_enum)]
    compression: Option<Codec>,
    /// How hard to compress a shard [default: balanced]
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    /// Maximum number of rows in a stripe of a shard [default: 1048576]
    #[arg(long, value_name = "ROWS", value_parser = some_rows)]
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
    /// Threads that read and write shards and CSV, write NDJSON, and sort [default: one for each processor, at most 4]
    #[arg(long, value_parser = threads)]
    threads: Option<NonZeroUsize>,
    /// Version of the Lance format to write: 2.0, 2.1 or 2.2 [default: 2.2]
    #[arg(long, value_name = "VERSION")]
    lance_version: Option<String>,
    /// Version of a Lance dataset to read [default: the latest]
    #[arg(long, value_name = "NUMBER")]
    dataset_version: Option<u64>,
    /// Write numbered outputs with this many rows each: `out-00001.parquet`, `out-00002.parquet`, ... A name without a
    /// format, or of a folder, gets the outputs `part-00001` and so on, by default shards
    #[arg(long, value_name = "ROWS", value_parser = some_rows)]
    rows_per_file: Option<u64>,
    /// Write numbered outputs into a folder for each value of these columns, which are then not in the files:
    /// `--partition-by year lake/part.parquet` writes lake/year=2024/part-00001.parquet, and `--partition-by year lake`
    /// shards. `--hive` reads the columns back.
    /// Each folder gets one file, and a second one if rows of it come long after the others (or more, with
    /// --rows-per-file). If rows of more than 8 folders are mixed, the others are sorted first, with temporary files
    #[arg(long, value_name = "COLUMNS")]
    partition_by: Vec<ColumnNames>,
    /// Show the files, formats and columns that would be read and written, and write nothing
    #[arg(long)]
    dry_run: bool,
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
    let done = convert(args);
    done.inspect_err(|_| new_folders::discard_empty())
}

fn convert(args: &Args) -> Result<(), Failure> {
    let (inputs, target) = args.places()?;
    if inputs.iter().any(|input| is_lance(input)) || is_lance(target) {
        return convert_lance(args, inputs, target);
    }
    if args.lance_version.is_some() || args.dataset_version.is_some() {
        return Err(Failure::Usage(
            "--lance-version and --dataset-version need a name that ends in .lance".to_owned(),
        ));
    }
    let started = Instant::now();
    let mut by = PartitionBy {
        columns: ColumnNames::all(&args.partition_by),
        is_grouped: false,
        threads: args.threads(),
    };
    let is_partitioned = !by.columns.is_empty();
    let is_numbered = args.rows_per_file.is_some() || is_partitioned;
    let part = is_numbered
        .then(|| part_in_folder(target, args.to))
        .flatten();
    let target = part.as_deref().unwrap_or(target);
    let format = FileFormat::of_output(target, args.to)?;
    let options = options(args, format)?;
    let reading = &args.reading;
    let style = reading.csv_output_style(target);
    let mut target = match by.columns.first() {
        None => Target::find(target, format, options, style, args.rows_per_file)?,
        Some(first) => {
            Target::partitioned(target, format, options, style, args.rows_per_file, first)?
        }
    };
    if let Some(codec) = args.compression {
        target.compress(codec)?;
    }
    let files = reading.files(inputs)?;
    check(args, &files, &target)?;
    if args.dry_run {
        return show_plan(args, &files, &target, &by);
    }
    if is_partitioned {
        // Stripes of several files, which end at different times, leave pages of many sizes.
        allocator::return_free_pages();
    }
    let input = args.rows(&files.paths, &mut target, &mut by)?;
    if let Some(folder) = part.as_deref().and_then(Path::parent)
        && !is_url(&folder.to_string_lossy())
    {
        new_folders::create(folder)
            .map_err(|e| Failure::from(arrow_shard::Error::from(e)).within(folder.display()))?;
    }
    let delimiter_note = reading.delimiter_note(&files.paths, &input.schema);
    let written = write(input, &target, reading.is_lossy(), &by, args.quiet)?;
    if !args.quiet {
        print_summary(&written, &target, &by, started);
        if let Some(note) = delimiter_note {
            eprintln!("note: {}", text::shown(&note));
        }
    }
    Ok(())
}

/// Converts from or to Lance, which another program does.
fn convert_lance(args: &Args, inputs: &[PathBuf], target: &Path) -> Result<(), Failure> {
    let ([input], None) = (inputs, &args.output) else {
        return Err(Failure::Usage(
            "Lance is converted one file at a time: arrow-shard convert INPUT OUTPUT".to_owned(),
        ));
    };
    check_conversion(input, target).map_err(Failure::Usage)?;
    lance::convert()
}

/// Prints the files, formats and columns that would be read and written.
fn show_plan(args: &Args, files: &Files, target: &Target, by: &PartitionBy) -> Result<(), Failure> {
    let filter = args.filter.as_deref();
    let survey = args.reading.survey(&files.paths, &args.columns, filter)?;
    let sort = ColumnNames::all(&args.sort);
    if !sort.is_empty() {
        Order::of(&survey.schema, &sort)?;
    }
    let place = if by.columns.is_empty() {
        target.path(1)
    } else {
        Partitions::start(target.clone(), &survey.schema, by)?;
        target.shown_folders(&by.columns)
    };
    let is_lossy = args.reading.is_lossy();
    dry_run::print(&survey, target, &place, is_lossy, args.rows_per_file)
}

/// Prints the output, the number of rows and the time, and whether a file of an earlier conversion is left.
fn print_summary(written: &Written, target: &Target, by: &PartitionBy, started: Instant) {
    let &Written { files, rows } = written;
    let is_partitioned = !by.columns.is_empty();
    let (first, last) = (target.path(1), target.path(files));
    let place = match files {
        _ if is_partitioned => {
            let pattern = target.shown_folders(&by.columns);
            format!("{} ({})", pattern.display(), text::count(files, "file"))
        }
        1 => first.display().to_string(),
        _ => format!("{} to {}", first.display(), last.display()),
    };
    eprintln!(
        "{}: {} in {:.1} s",
        text::shown(&place),
        text::count(rows, "row"),
        started.elapsed().as_secs_f64()
    );
    if !is_partitioned && let Some(left_over) = target.left_over(files) {
        let left_over = left_over.display().to_string();
        eprintln!(
            "note: {} is of an earlier conversion",
            text::shown(&left_over)
        );
    }
}

/// One file for the rows of another command.
#[derive(Debug)]
pub(crate) struct OneFile {
    target: Target,
    is_lossy: bool,
}

impl OneFile {
    /// Fails if the output cannot be created, or exists and must not be replaced.
    pub(crate) fn find(
        path: &Path,
        format: Option<FileFormat>,
        reading: &ReadArgs,
        force: bool,
    ) -> Result<Self, Failure> {
        let format = FileFormat::of_output(path, format)?;
        let options = WriterOptions::default()
            .with_overwrite(force)
            .with_threads(usual_threads());
        let style = reading.csv_output_style(path);
        Ok(Self {
            target: Target::find(path, format, options, style, None)?,
            is_lossy: reading.is_lossy(),
        })
    }

    /// Fails if options for reading do not fit the files and this output, or if the output is a file that an input
    /// needs.
    pub(crate) fn check(&self, files: &Files, reading: &ReadArgs) -> Result<(), Failure> {
        reading.check(&files.paths, Some(self.target.format))?;
        self.target.check_inputs(files, &reading.shard_options()?)
    }

    /// Writes the rows, and prints their number, unless `quiet`.
    pub(crate) fn write(&self, input: Input, quiet: bool) -> Result<(), Failure> {
        let by = PartitionBy::default();
        let written = write(input, &self.target, self.is_lossy, &by, true)?;
        if !quiet {
            let place = self.target.path(1).display().to_string();
            let rows = text::count(written.rows, "row");
            eprintln!("{}: {rows}", text::shown(&place));
        }
        Ok(())
    }
}

/// Numbers of the files and rows that a conversion wrote.
struct Written {
    files: u64,
    rows: u64,
}

/// Writes all rows, and shows the progress unless `quiet`.
fn write(
    input: Input,
    target: &Target,
    is_lossy: bool,
    by: &PartitionBy,
    quiet: bool,
) -> Result<Written, Failure> {
    let place = target.path(1);
    let lossy = if is_lossy && target.format == FileFormat::Cole {
        Some(lossy_schema(&input.schema).map_err(|e| e.within(place.display()))?)
    } else {
        None
    };
    let schema = lossy.as_ref().unwrap_or(&input.schema);
    let mut progress = InputProgress::new(input.total.clone(), quiet);
    let mut writing = Outputs::start(target, schema, by)?;
    for batch in input.batches {
        let batch = batch.map_err(|e| writing.interrupted(e))?;
        let written = match &lossy {
            Some(schema) => lossy_batch(&batch, schema).map_err(|e| e.within(place.display()))?,
            None => batch,
        };
        writing.write(&written)?;
        progress.add(written.num_rows());
    }
    let rows = progress.rows();
    progress.finish();
    let files = writing.finish(quiet)?;
    Ok(Written { files, rows })
}

impl Args {
    fn threads(&self) -> usize {
        self.threads.map_or_else(usual_threads, NonZeroUsize::get)
    }

    /// Opens the rows to write. A shard will declare their order.
    fn rows(
        &self,
        files: &[PathBuf],
        target: &mut Target,
        partition_by: &mut PartitionBy,
    ) -> Result<Input, Failure> {
        let read = RowWindow {
            filter: self.filter.as_deref(),
            threads: self.threads(),
            ..RowWindow::default()
        };
        let written = RowWindow {
            offset: self.offset,
            limit: self.limit,
            ..read
        };
        let by = ColumnNames::all(&self.sort);
        if by.is_empty() {
            return self.reading.open_all(files, &self.columns, written);
        }
        let input = self.reading.open_all(files, &self.columns, read)?;
        let order = Order::of(&input.schema, &by)?;
        // The values of columns that name a folder are equal in its files.
        let named = &partition_by.columns;
        let mut declared = order.declared();
        declared.retain(|column| !named.contains(&column.path));
        partition_by.is_grouped = order.groups(named);
        target.declare(declared);
        let memory = self
            .sort_memory
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let sorted = sorted(input, order, memory, self.threads(), self.quiet)?;
        Ok(sorted.window(written))
    }

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
fn check(args: &Args, files: &Files, target: &Target) -> Result<(), Failure> {
    let reading = &args.reading;
    reading.check(&files.paths, Some(target.format))?;
    // Folders of values are new.
    if args.partition_by.is_empty() {
        target.check_inputs(files, &reading.shard_options()?)?;
    }
    let mut read = files.paths.iter().map(|path| reading.format(path));
    let written = target.format;
    let uses_threads = written == FileFormat::Shard
        || written.is_text()
        || !args.sort.is_empty()
        || !args.partition_by.is_empty()
        || read.any(|it| it.is_ok_and(|it| matches!(it, FileFormat::Shard | FileFormat::Csv)));
    if args.threads.is_some() && !uses_threads {
        return Err(Failure::Usage(
            "--threads applies only to shards, to CSV, to NDJSON that is written, to --sort and to --partition-by, and \
             there are none here"
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
    options = options.with_threads(args.threads());
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
