//! `arrow-shard sample`

use super::files::expanded;
use super::reservoir::Reservoir;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{Input, RowWindow, chained, row_numbers};
use crate::rows::{RowArgs, print_input};
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use fastrand::Rng;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard sample 5 flights.amudai.shard
  arrow-shard sample 100 --seed 7 --format csv flights.parquet
  arrow-shard sample 20 --filter \"delay > 60\" --json 'days/*.parquet'

Every row is chosen with the same probability, and at most once; the rows keep their order. With the same \
--seed, the same rows are chosen, in every format of the file. Shards read only the chosen rows, and \
Parquet files decode no others, unless there is a --filter; other formats are read once.";

/// Print random rows of files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of rows; all if there are fewer
    #[arg(value_name = "N")]
    size: u64,
    /// Files, folders (with their subfolders), globs in quotes, or URLs; their columns must be the same; `-` is
    /// standard input (IPC stream, CSV, NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    /// Choose the same rows as before with this number; otherwise each run chooses others
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// A chosen row: its file, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Chosen {
    file: usize,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Number of the row in its file.
    Number(u64),
    /// Ordinal of a kept batch, and the row in it.
    Kept(usize, usize),
}

/// A file, after its rows have been offered.
enum Offered {
    /// Numbers of rows, which are read once they are chosen.
    Numbers,
    /// The accepted rows of another file.
    Kept(SchemaRef, Vec<RecordBatch>),
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let files = expanded(&args.inputs, &args.rows.reading.shard_options())?;
    args.rows.check(&files)?;
    let mut sample = Sample {
        reservoir: Reservoir::new(args.size, args.seed.map_or_else(Rng::new, Rng::with_seed)),
        chosen: Vec::new(),
    };
    let mut offered = Vec::with_capacity(files.len());
    for (ordinal, file) in files.iter().enumerate() {
        offered.push(sample.offer(ordinal, file, &args.rows)?);
    }
    sample.chosen.sort_unstable();
    let mut inputs = Vec::with_capacity(files.len());
    for ((ordinal, file), offered) in files.iter().enumerate().zip(offered) {
        let chosen = sample.chosen.iter().filter(|it| it.file == ordinal);
        let places: Vec<Place> = chosen.map(|it| it.place).collect();
        let input = read(file, offered, &places, &args.rows)?;
        inputs.push((file.display().to_string(), input));
    }
    print_input(chained(inputs)?, &args.rows, 0)
}

struct Sample {
    reservoir: Reservoir,
    /// The row in each slot of the reservoir.
    chosen: Vec<Chosen>,
}

impl Sample {
    /// Offers the rows of a file.
    fn offer(&mut self, ordinal: usize, file: &Path, args: &RowArgs) -> Result<Offered, Failure> {
        let (reading, filter) = (&args.reading, args.filter.as_deref());
        let format = reading.format(file)?;
        if format == FileFormat::Parquet && filter.is_none() {
            let rows = reading.count(file, None, true)?;
            self.choose(ordinal, rows, Place::Number);
            return Ok(Offered::Numbers);
        }
        if format == FileFormat::Shard {
            let shard = reading.open_one_of_many(file)?;
            if filter.is_none() && shard.num_deleted_rows() == 0 {
                self.choose(ordinal, shard.num_rows(), Place::Number);
                return Ok(Offered::Numbers);
            }
            for numbers in row_numbers(&shard, filter)? {
                let numbers = numbers?;
                self.choose(ordinal, numbers.len() as u64, |position| {
                    let position = usize::try_from(position).unwrap_or(usize::MAX);
                    Place::Number(numbers.get(position).copied().unwrap_or_default())
                });
            }
            return Ok(Offered::Numbers);
        }
        let window = RowWindow {
            filter,
            ..RowWindow::default()
        };
        let input = reading.open(file, &args.columns, window)?;
        let mut kept = Vec::new();
        for batch in input.batches {
            let batch = batch?;
            let mut rows = Vec::new();
            self.choose(ordinal, batch.num_rows() as u64, |position| {
                rows.push(position);
                Place::Kept(kept.len(), rows.len() - 1)
            });
            if !rows.is_empty() {
                kept.push(take_record_batch(&batch, &UInt64Array::from(rows))?);
            }
        }
        Ok(Offered::Kept(input.schema, kept))
    }

    /// Offers `count` rows; `place` returns the place of the row at a position among them.
    fn choose(&mut self, file: usize, count: u64, mut place: impl FnMut(u64) -> Place) {
        self.reservoir.offer(count, |position, slot| {
            let chosen = Chosen {
                file,
                place: place(position),
            };
            let slot = usize::try_from(slot).ok();
            match slot.and_then(|slot| self.chosen.get_mut(slot)) {
                Some(old) => *old = chosen,
                None => self.chosen.push(chosen),
            }
        });
    }
}

/// Reads the chosen rows of a file.
fn read(file: &Path, offered: Offered, places: &[Place], args: &RowArgs) -> Result<Input, Failure> {
    let (mut numbers, mut kept) = (Vec::new(), Vec::new());
    for place in places {
        match *place {
            Place::Number(number) => numbers.push(number),
            Place::Kept(batch, row) => kept.push((batch, row)),
        }
    }
    match offered {
        Offered::Numbers => args.reading.take(file, &args.columns, numbers),
        Offered::Kept(schema, _) if kept.is_empty() => Ok(Input::of_batches(schema, Vec::new())),
        Offered::Kept(schema, batches) => {
            let batches: Vec<&RecordBatch> = batches.iter().collect();
            let chosen = interleave_record_batch(&batches, &kept)?;
            Ok(Input::of_batches(schema, vec![chosen]))
        }
    }
}
