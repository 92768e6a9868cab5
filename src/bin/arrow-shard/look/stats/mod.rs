//! `arrow-shard stats`

mod column;
mod parquet;
mod scanned;
mod shard;

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{ColumnArgs, InputArgs, ReadArgs, UntypedArgs};
use crate::output::Destination;
use crate::table;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use column::ColumnStats;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arrow-shard stats --largest 10 flights.amudai.shard
  arrow-shard stats --columns origin,delay --json flights.parquet
  arrow-shard stats --scan 'days/*.parquet'

For each column: type, nulls, least and greatest value, distinct values, mean length (bytes of text and binary \
values, items of lists) and encoded bytes. Shards and Parquet files have them in their metadata, as far \
as they are known; --scan reads the values instead. Other formats are always read. An estimated \
number of distinct values is preceded by ~, and a bound that may not be a value by >= or <=. In \
several files, distinct values are not counted. Deleted rows of shards count until they are \
compacted, except with --scan.";

/// Show statistics of columns: nulls, bounds, distinct values, mean length, bytes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders (with their subfolders), globs in quotes, or URLs; their columns must have the same types; `-` is
    /// standard input (IPC stream, CSV, NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: InputArgs,
    #[command(flatten)]
    untyped: UntypedArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    /// Read the values of shards and Parquet files, in the place of their statistics
    #[arg(long)]
    scan: bool,
    /// Show only this many columns: those with the most encoded bytes, the largest first
    #[arg(long, value_name = "COLUMNS")]
    largest: Option<usize>,
    /// Print one JSON object per column
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let reading = ReadArgs::plain(&args.reading, &args.untyped);
    let files = reading.files(&args.inputs)?.paths;
    reading.check(&files, None)?;
    let mut all: Vec<ColumnStats> = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let found = of_file(file, &reading, args).map_err(|e| e.of_file(file))?;
        if i == 0 {
            all = found;
        } else {
            column::merge(&mut all, found).map_err(|e| e.of_file(file))?;
        }
    }
    if let Some(count) = args.largest {
        if all.iter().all(|column| column.bytes.is_none()) {
            return Err(Failure::Usage(
                "--largest needs encoded bytes, which are known for shards and Parquet files without --scan".to_owned(),
            ));
        }
        all.sort_by_key(|column| std::cmp::Reverse(column.bytes));
        all.truncate(count);
    }
    let mut out = Destination::standard();
    if args.json {
        for column in &all {
            writeln!(out, "{}", column.json()?)?;
        }
    } else {
        let drawn = drawn(&all)?;
        let width = terminal_size::terminal_size_of(std::io::stdout());
        let width = width.map(|(width, _)| width.0.into());
        table::draw(&mut out, &drawn.schema(), &[drawn], width, 0)?;
    }
    Ok(out.flush()?)
}

fn of_file(file: &Path, reading: &ReadArgs, args: &Args) -> Result<Vec<ColumnStats>, Failure> {
    let columns = &args.columns;
    match reading.format(file)? {
        FileFormat::Shard if !args.scan => {
            shard::stats(&reading.open_one_of_many(file)?, &columns.names())
        }
        FileFormat::Parquet if !args.scan => parquet::stats(file, &columns.names()),
        _ => scanned::stats(file, reading, columns, args.quiet),
    }
}

/// Returns the table of the columns: a row for each.
fn drawn(all: &[ColumnStats]) -> Result<RecordBatch, Failure> {
    let names = [
        "column",
        "type",
        "nulls",
        "min",
        "max",
        "distinct",
        "mean length",
        "bytes",
    ];
    let rows = all
        .iter()
        .map(ColumnStats::cells)
        .collect::<Result<Vec<_>, _>>()?;
    let column = |i: usize| {
        let cells = rows.iter().map(|row| row.get(i).cloned());
        Arc::new(cells.collect::<StringArray>()) as ArrayRef
    };
    let columns = names.into_iter().enumerate();
    let columns = columns.map(|(i, name)| (name, column(i), true));
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}
