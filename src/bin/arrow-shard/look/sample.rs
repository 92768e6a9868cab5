//! `arrow-shard sample`

use super::reservoir::Reservoir;
use crate::convert::OneFile;
use crate::counts::sample_size;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{Input, chained, row_numbers};
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
  arrow-shard sample 20 --filter \"delay > 60\" 'days/*.parquet' --output some.parquet

Every row is chosen with the same probability, and at most once; the rows keep their order. With the same \
--seed, the same rows are chosen, in every format of the file. Shards read only the chosen rows, and \
Parquet files decode no others, unless there is a --filter; other formats are read once, and so are files with columns that differ, or that \
--cast, --schema or --hive changes.";

/// Print random rows of files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of rows; all if there are fewer
    #[arg(value_name = "N", value_parser = sample_size)]
    size: u64,
    /// Files, folders (with their subfolders), globs in quotes, or URLs; their columns are united by name; `-`
    /// is standard input (IPC stream, CSV, NDJSON)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    /// Choose the same rows as before with this number; otherwise each run chooses others
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// File to write the rows to, in the format that its name shows, in the place of printing them
    #[arg(
        long,
        short,
        value_name = "FILE",
        conflicts_with_all = ["format", "json", "width", "full"]
    )]
    output: Option<PathBuf>,
    /// Format of the --output, if its name does not show it
    #[arg(long, value_enum, value_name = "FORMAT", requires = "output")]
    to: Option<FileFormat>,
    /// Replace the --output if it exists
    #[arg(long, short, requires = "output")]
    force: bool,
    /// Show neither progress nor the number of rows in the --output
    #[arg(long, short)]
    quiet: bool,
}

/// A chosen row: its file, and its place there.
#[derive(Debug, Clone, Copy)]
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
    let reading = &args.rows.reading;
    let output = match &args.output {
        Some(path) => Some(OneFile::find(path, args.to, reading, args.force)?),
        None => None,
    };
    let files = reading.files(&args.inputs)?;
    match &output {
        Some(output) => output.check(&files, reading)?,
        None => args.rows.check(&files.paths)?,
    }
    let input = sampled(args, &files.paths)?;
    match output {
        Some(output) => output.write(input, args.quiet),
        None => print_input(input, &args.rows, 0, &files.paths),
    }
}

/// Returns the chosen rows of files.
fn sampled(args: &Args, files: &[PathBuf]) -> Result<Input, Failure> {
    let reading = &args.rows.reading;
    let mut sample = Sample {
        reservoir: Reservoir::new(args.size, args.seed.map_or_else(Rng::new, Rng::with_seed)),
        chosen: Vec::new(),
        quiet: args.quiet,
    };
    if !reading.are_alike(files)? {
        let input = reading.open_all(files, &args.rows.columns, args.rows.window())?;
        let (schema, kept) = sample.offer_read(0, input)?;
        return chosen(schema, &kept, &sample.places(0));
    }
    let mut offered = Vec::with_capacity(files.len());
    for (ordinal, file) in files.iter().enumerate() {
        offered.push(sample.offer(ordinal, file, &args.rows)?);
    }
    let mut inputs = Vec::with_capacity(files.len());
    for ((ordinal, file), offered) in files.iter().enumerate().zip(offered) {
        inputs.push(read(file, offered, &sample.places(ordinal), &args.rows)?);
    }
    chained(inputs)
}

struct Sample {
    reservoir: Reservoir,
    /// The row in each slot of the reservoir.
    chosen: Vec<Chosen>,
    /// Whether the progress is not shown.
    quiet: bool,
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
        let input = reading.open(file, &args.columns, args.window())?;
        let (schema, kept) = self.offer_read(ordinal, input)?;
        Ok(Offered::Kept(schema, kept))
    }

    /// Offers all rows of an input, and returns the accepted ones.
    fn offer_read(
        &mut self,
        ordinal: usize,
        input: Input,
    ) -> Result<(SchemaRef, Vec<RecordBatch>), Failure> {
        let input = input.with_progress(self.quiet);
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
        Ok((input.schema, kept))
    }

    /// Returns the places of the chosen rows of a file, in their order.
    fn places(&self, file: usize) -> Vec<Place> {
        let chosen = self.chosen.iter().filter(|it| it.file == file);
        let mut places: Vec<Place> = chosen.map(|it| it.place).collect();
        places.sort_unstable();
        places
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
    match offered {
        Offered::Numbers => {
            let number = |place: &Place| match *place {
                Place::Number(number) => Some(number),
                Place::Kept(..) => None,
            };
            let numbers = places.iter().filter_map(number).collect();
            args.reading.take(file, &args.columns, numbers)
        }
        Offered::Kept(schema, batches) => chosen(schema, &batches, places),
    }
}

/// Returns the chosen rows of batches.
fn chosen(schema: SchemaRef, batches: &[RecordBatch], places: &[Place]) -> Result<Input, Failure> {
    let row = |place: &Place| match *place {
        Place::Kept(batch, row) => Some((batch, row)),
        Place::Number(_) => None,
    };
    let rows: Vec<(usize, usize)> = places.iter().filter_map(row).collect();
    if rows.is_empty() {
        return Ok(Input::of_batches(schema, Vec::new()));
    }
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    let chosen = interleave_record_batch(&batches, &rows)?;
    Ok(Input::of_batches(schema, vec![chosen]))
}
