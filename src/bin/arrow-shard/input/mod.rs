//! Files as streams of batches.

mod csv;
mod infer_csv;
mod infer_json;
mod ipc;
mod matching;
mod ndjson;
mod parquet;
mod text_file;

pub(crate) use csv::CsvArgs;

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::isolate;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DECIMAL256_MAX_PRECISION, SchemaRef, TimeUnit};
use arrow_shard::Shard;
use arrow_shard::read::{Projection, ShardOptions};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Rows per batch.
const BATCH_ROWS: usize = 8192;
/// Bytes read from a file at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// The arguments that name an input.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// File to read; `-` is standard input (IPC stream, CSV, NDJSON)
    input: PathBuf,
    /// Format of the input, if its name does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<FileFormat>,
    /// Rows of CSV or NDJSON that the types are inferred from, all by default; with 0, all columns
    /// of a CSV file are text
    #[arg(long, value_name = "ROWS")]
    schema_rows: Option<usize>,
    /// Unit of the times in a shard whose Arrow type it does not tell; nanoseconds reach from 1677 to
    /// 2262 [default: ns]
    #[arg(long, value_enum, value_name = "UNIT")]
    time_unit: Option<Unit>,
    /// Precision and scale of the decimals in a shard whose Arrow type it does not tell, such as 38,10
    /// [default: 38,16]
    #[arg(long, value_name = "PRECISION,SCALE", value_parser = decimal)]
    decimal: Option<(u8, i8)>,
    #[command(flatten)]
    pub(crate) csv: CsvArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Unit {
    S,
    Ms,
    Us,
    Ns,
}

fn decimal(text: &str) -> Result<(u8, i8), String> {
    let parts = text.split_once(',');
    let parts = parts.and_then(|(p, s)| Some((p.trim().parse().ok()?, s.trim().parse().ok()?)));
    let (precision, scale) = parts.ok_or("expected two numbers, such as 38,10")?;
    match precision {
        1..=DECIMAL256_MAX_PRECISION => Ok((precision, scale)),
        _ => Err(format!(
            "expected a precision of 1 to {DECIMAL256_MAX_PRECISION}"
        )),
    }
}

/// The arguments that choose columns of an input.
#[derive(Debug, clap::Args, Default)]
pub(crate) struct ColumnArgs {
    /// Columns to read, separated by commas; in shards also members of structs: `a,b.c`
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    columns: Vec<String>,
}

/// Which rows of an input are read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowWindow<'a> {
    /// Which rows; the others are counted neither as left out nor as read.
    pub(crate) filter: Option<&'a str>,
    /// Rows to leave out.
    pub(crate) offset: u64,
    /// Rows to read at most.
    pub(crate) limit: Option<u64>,
}

/// Batches of one schema.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Failure>>>;

impl RowWindow<'_> {
    /// How many rows are read at most, if that is known.
    fn end(&self) -> Option<usize> {
        let end = self.limit?.saturating_add(self.offset).max(1);
        self.filter.is_none().then_some(usize::try_from(end).ok()?)
    }

    /// Rows per batch: no more than are wanted.
    fn batch_rows(&self) -> usize {
        self.end().map_or(BATCH_ROWS, |end| end.min(BATCH_ROWS))
    }

    /// How many rows are read at most, in whole batches: types are inferred from no others.
    fn sample(&self) -> Option<usize> {
        self.end()?.checked_next_multiple_of(self.batch_rows())
    }
}

/// An open input.
pub(crate) struct Input {
    /// Schema of the batches.
    pub(crate) schema: SchemaRef,
    /// The batches.
    pub(crate) batches: Batches,
    /// How much there is to read.
    pub(crate) total: Total,
}

/// How much there is to read.
#[derive(Debug, Clone)]
pub(crate) enum Total {
    /// Rows.
    Rows(u64),
    /// Batches.
    Batches(u64),
    /// Bytes, and those that have been read.
    Bytes(u64, Rc<Cell<u64>>),
    /// Nobody knows.
    Unknown,
}

impl InputArgs {
    /// The format of the file.
    pub(crate) fn format(&self) -> Result<FileFormat, Failure> {
        FileFormat::of(&self.input, self.from, "--from")
    }

    /// Refuses options of CSV where there is none, neither as input nor as `output`.
    pub(crate) fn check_csv(&self, output: Option<FileFormat>) -> Result<(), Failure> {
        let formats = [Some(self.format()?), output];
        match self.csv.given() {
            Some(option) if !formats.contains(&Some(FileFormat::Csv)) => Err(Failure::Usage(
                format!("{option} is for CSV, and there is none here"),
            )),
            _ => Ok(()),
        }
    }

    /// Opens the input.
    pub(crate) fn open(&self, columns: &ColumnArgs, rows: RowWindow<'_>) -> Result<Input, Failure> {
        let format = self.format()?;
        let projection = match rows.filter {
            // The condition may be about other columns.
            Some(_) => &[],
            None => columns.columns.as_slice(),
        };
        let sample = self.schema_rows.or_else(|| rows.sample());
        if format == FileFormat::Shard {
            return self.shard(&columns.columns, rows);
        }
        let opened = isolate(|| match format {
            FileFormat::Parquet => parquet::open(&self.input, projection),
            FileFormat::IpcStream => ipc::open_stream(&self.input),
            FileFormat::Csv => csv::open(self, sample, rows.batch_rows()),
            FileFormat::Ndjson => ndjson::open(self, sample, rows.batch_rows()),
            FileFormat::IpcFile | FileFormat::Shard => ipc::open_file(&self.input),
        });
        let name = self.input.display().to_string();
        let mut input = opened.map_err(|e| e.within(&name))?.guarded(name.clone());
        if let Some(filter) = rows.filter {
            input = matching::matching(input, filter)?;
        }
        let input = input.project(&columns.columns, &name)?;
        Ok(input.window(rows))
    }

    /// Opens the input as a shard, for commands that read nothing else.
    pub(crate) fn open_shard(&self) -> Result<Shard, Failure> {
        match self.format()? {
            FileFormat::Shard => Ok(Shard::open_with(&self.input, self.shard_options())?),
            other => Err(Failure::Usage(format!(
                "`{}` is {other}, this works on shards only",
                self.input.display()
            ))),
        }
    }

    fn shard_options(&self) -> ShardOptions {
        let mut options = ShardOptions::default();
        if let Some(unit) = self.time_unit {
            options = options.with_default_time_unit(match unit {
                Unit::S => TimeUnit::Second,
                Unit::Ms => TimeUnit::Millisecond,
                Unit::Us => TimeUnit::Microsecond,
                Unit::Ns => TimeUnit::Nanosecond,
            });
        }
        if let Some((precision, scale)) = self.decimal {
            options = options.with_default_precision_and_scale(precision, scale);
        }
        options
    }

    fn shard(&self, columns: &[String], rows: RowWindow<'_>) -> Result<Input, Failure> {
        let shard = self.open_shard()?;
        let projection = match columns {
            [] => Projection::All,
            some => some.to_vec().into(),
        };
        let mut scan = shard
            .scan()
            .with_projection(projection)
            .with_offset(rows.offset)
            .with_batch_size(BATCH_ROWS);
        if let Some(limit) = rows.limit {
            scan = scan.with_limit(limit);
        }
        if let Some(filter) = rows.filter {
            scan = scan.with_filter(matching::predicate(filter, &shard)?);
        }
        let reader = scan.build()?;
        Ok(Input {
            schema: arrow_array::RecordBatchReader::schema(&reader),
            total: Total::Rows(reader.remaining_rows()),
            batches: Box::new(reader.map(|batch| Ok(batch?))),
        })
    }
}

fn batches(reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'static) -> Batches {
    Box::new(reader.map(|batch| Ok(batch?)))
}

impl Input {
    /// Ends with the first error, panics of the reader included, and puts the name of the file
    /// before it.
    fn guarded(mut self, name: String) -> Self {
        let mut batches = Some(self.batches);
        self.batches = Box::new(std::iter::from_fn(move || {
            let reader = batches.as_mut()?;
            let next = isolate(|| reader.next().transpose());
            if !matches!(next, Ok(Some(_))) {
                batches = None;
            }
            next.map_err(|e| e.within(&name)).transpose()
        }));
        self
    }

    /// Keeps the columns of these names, in this order; all if there are none.
    fn project(mut self, columns: &[String], name: &str) -> Result<Self, Failure> {
        if columns.is_empty() {
            return Ok(self);
        }
        let index = |column: &String| {
            self.schema.index_of(column).map_err(|_| {
                let known: Vec<&str> = self
                    .schema
                    .fields()
                    .iter()
                    .map(|field| field.name().as_str())
                    .collect();
                Failure::new(format!(
                    "{name}: there is no column `{column}`; there are {}",
                    known.join(", ")
                ))
            })
        };
        let indices = columns.iter().map(index).collect::<Result<Vec<_>, _>>()?;
        self.schema = Arc::new(self.schema.project(&indices)?);
        let batches = self.batches;
        self.batches = Box::new(batches.map(move |batch| Ok(batch?.project(&indices)?)));
        Ok(self)
    }

    /// Keeps some of the rows.
    fn window(mut self, rows: RowWindow<'_>) -> Self {
        if rows.offset == 0 && rows.limit.is_none() {
            return self;
        }
        let mut batches = self.batches;
        let (mut skip, mut left) = (rows.offset, rows.limit.unwrap_or(u64::MAX));
        self.batches = Box::new(std::iter::from_fn(move || {
            while left > 0 {
                let batch = match batches.next()? {
                    Ok(batch) => batch,
                    Err(e) => return Some(Err(e)),
                };
                let len = batch.num_rows();
                let start = usize::try_from(skip).unwrap_or(len).min(len);
                skip -= start as u64;
                let count = usize::try_from(left).unwrap_or(len).min(len - start);
                left -= count as u64;
                if count > 0 {
                    return Some(Ok(batch.slice(start, count)));
                }
            }
            None
        }));
        self
    }
}

/// A file that counts the bytes read of it.
struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

fn counted(file: File) -> Result<(Counted, Total), Failure> {
    let read = Rc::new(Cell::new(0));
    let total = Total::Bytes(file.metadata()?.len(), read.clone());
    Ok((Counted { file, read }, total))
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buf)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}
