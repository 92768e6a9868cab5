//! `arrow-shard tail`

use crate::counts::rows;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{Input, RowWindow, chained, row_numbers};
use crate::progress::Total;
use crate::rows::{RowArgs, print_each};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Maximum number of rows that are read by their numbers, which are in memory.
const MAX_NUMBERS: u64 = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  arrow-shard tail flights.amudai.shard
  arrow-shard tail -n 3 --columns origin,delay --json flights.parquet
  arrow-shard tail -1 --filter \"delay > 60\" 'days/*.parquet'

A table is printed for each input, under its name; the files of a folder or a glob in quotes are one table. With \
--format csv or json, all inputs are one table, as in `cat`, and its last rows are printed. Shards read no other \
rows, and Parquet files decode no others; text and IPC streams are read from the start, and so are files with columns \
that differ, or that --cast, --schema or --hive changes.";

/// Print the last rows of files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders (with their subfolders), globs in quotes, or URLs to read; `-` is standard input (IPC stream,
    /// CSV, NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    /// Rows to print; `-5` is short for `-n 5`
    #[arg(long = "rows", alias = "limit", short = 'n', default_value_t = 10, value_parser = rows::<u64>)]
    limit: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    print_each(&args.inputs, &args.rows, 0, |files| open_last(files, args))
}

/// Opens the last rows of files that are one table.
fn open_last(files: &[PathBuf], args: &Args) -> Result<Input, Failure> {
    if !args.rows.reading.are_alike(files)? {
        return last_of_union(files, &args.rows, args.limit);
    }
    let (mut left, mut inputs) = (args.limit, Vec::new());
    for file in files.iter().rev() {
        let (input, rows) = last(file, &args.rows, left)?;
        inputs.push(input);
        left -= rows;
        if left == 0 {
            break;
        }
    }
    inputs.reverse();
    chained(inputs)
}

/// Returns the last rows of a file, at most `most`, and their number.
fn last(file: &Path, args: &RowArgs, most: u64) -> Result<(Input, u64), Failure> {
    let (reading, columns, filter) = (&args.reading, &args.columns, args.filter.as_deref());
    let format = reading.format(file)?;
    if format.is_sequential() || filter.is_some() && format != FileFormat::Shard {
        return last_read(reading.open(file, columns, args.window())?, most);
    }
    let Some(filter) = filter else {
        let all = reading.count(file, None, true)?;
        let rows = all.min(most);
        if format == FileFormat::Parquet && rows <= MAX_NUMBERS {
            let numbers = (all - rows..all).collect();
            return Ok((reading.take(file, columns, numbers)?, rows));
        }
        let window = RowWindow {
            offset: all - rows,
            ..RowWindow::default()
        };
        return Ok((reading.open(file, columns, window)?, rows));
    };
    let shard = reading.open_one_of_many(file)?;
    let mut kept = VecDeque::new();
    for numbers in row_numbers(&shard, Some(filter))? {
        kept.extend(numbers?);
        let excess = (kept.len() as u64).saturating_sub(most);
        kept.drain(..usize::try_from(excess).unwrap_or(kept.len()));
    }
    let rows = kept.len() as u64;
    Ok((reading.take(file, columns, kept.into())?, rows))
}

/// Returns the last rows of files with columns that are united, or changed by options. Skips whole files if the numbers
/// of their rows are known.
fn last_of_union(files: &[PathBuf], args: &RowArgs, most: u64) -> Result<Input, Failure> {
    let window = args.window();
    let input = args.reading.open_all(files, &args.columns, window)?;
    let Total::Rows(all) = input.total else {
        return Ok(last_read(input, most)?.0);
    };
    let window = RowWindow {
        offset: all.saturating_sub(most),
        ..window
    };
    args.reading.open_all(files, &args.columns, window)
}

/// Reads all rows, and keeps the last ones.
fn last_read(input: Input, most: u64) -> Result<(Input, u64), Failure> {
    let input = input.with_progress(false);
    let (mut kept, mut rows) = (VecDeque::new(), 0_u64);
    for batch in input.batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        kept.push_back(batch);
        while let Some(first) = kept.front()
            && rows - first.num_rows() as u64 >= most
        {
            rows -= first.num_rows() as u64;
            kept.pop_front();
        }
    }
    let excess = usize::try_from(rows.saturating_sub(most)).unwrap_or(usize::MAX);
    if let Some(first) = kept.front_mut() {
        let excess = excess.min(first.num_rows());
        *first = first.slice(excess, first.num_rows() - excess);
    }
    let input = Input::of_batches(input.schema, kept.into());
    Ok((input, rows.min(most)))
}
