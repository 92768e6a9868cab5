//! `arrow-shard tail`

use super::files::expanded;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{Input, RowWindow, chained, row_numbers};
use crate::rows::{RowArgs, print_input};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Maximum number of rows that are read by their numbers, which are in memory.
const MAX_NUMBERS: u64 = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  arrow-shard tail flights.amudai.shard
  arrow-shard tail -n 3 --columns origin,delay --json flights.parquet
  arrow-shard tail -n 1 --filter \"delay > 60\" 'days/*.parquet'

Of several files, the last rows of all of them are printed. Shards read no other rows, and Parquet files \
decode no others; text and IPC streams are read from the start.";

/// Print the last rows of files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders (with their subfolders), globs in quotes, or URLs; their columns must be the same; `-` is
    /// standard input (IPC stream, CSV, NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    /// Rows to print
    #[arg(long = "rows", alias = "limit", short = 'n', default_value_t = 10)]
    limit: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let files = expanded(&args.inputs, &args.rows.reading.shard_options())?;
    args.rows.check(&files)?;
    let (mut left, mut inputs) = (args.limit, Vec::new());
    for file in files.iter().rev() {
        let (input, rows) = last(file, &args.rows, left)?;
        inputs.push((file.display().to_string(), input));
        left -= rows;
        if left == 0 {
            break;
        }
    }
    inputs.reverse();
    print_input(chained(inputs)?, &args.rows, 0)
}

/// Returns the last rows of a file, at most `most`, and their number.
fn last(file: &Path, args: &RowArgs, most: u64) -> Result<(Input, u64), Failure> {
    let (reading, columns, filter) = (&args.reading, &args.columns, args.filter.as_deref());
    let format = reading.format(file)?;
    if format.is_sequential() || filter.is_some() && format != FileFormat::Shard {
        let window = RowWindow {
            filter,
            ..RowWindow::default()
        };
        return last_read(reading.open(file, columns, window)?, most);
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

/// Reads all rows, and keeps the last ones.
fn last_read(input: Input, most: u64) -> Result<(Input, u64), Failure> {
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
