//! Files as streams of batches.

mod chained;
mod columns;
mod csv;
mod infer_csv;
mod infer_json;
mod ipc;
mod matching;
mod ndjson;
mod parquet;
mod text_file;

pub(crate) use columns::{ColumnArgs, ColumnNames};
pub(crate) use csv::CsvArgs;

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::Foreign;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DECIMAL256_MAX_PRECISION, SchemaRef, TimeUnit};
use arrow_shard::Shard;
use arrow_shard::read::{Projection, ShardOptions};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Rows per batch.
const BATCH_ROWS: usize = 8192;
/// Bytes read from a file at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// How inputs are read.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadArgs {
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

impl ReadArgs {
    /// The format of the file.
    pub(crate) fn format(&self, path: &Path) -> Result<FileFormat, Failure> {
        FileFormat::of(path, self.from, "--from")
    }

    /// Refuses options of CSV where there is none, neither among the inputs nor as `output`.
    pub(crate) fn check_csv(
        &self,
        inputs: &[PathBuf],
        output: Option<FileFormat>,
    ) -> Result<(), Failure> {
        let Some(option) = self.csv.given() else {
            return Ok(());
        };
        let mut has_csv = output == Some(FileFormat::Csv);
        for input in inputs {
            has_csv |= self.format(input)? == FileFormat::Csv;
        }
        match has_csv {
            true => Ok(()),
            false => Err(Failure::Usage(format!(
                "{option} is for CSV, and there is none here"
            ))),
        }
    }

    /// Opens an input.
    pub(crate) fn open(
        &self,
        path: &Path,
        columns: &ColumnArgs,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        let format = self.format(path)?;
        if format == FileFormat::Shard {
            return self.shard(path, columns, rows);
        }
        let names = columns.names();
        let projection = match rows.filter {
            // The condition may be about other columns.
            Some(_) => &[],
            None => names.as_slice(),
        };
        let sample = self.schema_rows.or_else(|| rows.sample());
        let file = Foreign::new(path);
        let style = self.csv.style(path);
        let mut input = file.isolate(|| match format {
            FileFormat::Parquet => parquet::open(path, projection),
            FileFormat::IpcStream => ipc::open_stream(path),
            FileFormat::Csv => csv::open(path, &style, sample, rows.batch_rows()),
            FileFormat::Ndjson => ndjson::open(path, sample, rows.batch_rows()),
            FileFormat::IpcFile | FileFormat::Shard => ipc::open_file(path),
        })?;
        input = input.guarded(file.clone());
        if let Some(filter) = rows.filter {
            input = matching::matching(input, filter)?;
        }
        let input = match names.as_slice() {
            [] => input,
            names => {
                let indices = columns::indices(&input.schema, names);
                input.project(indices.map_err(|e| e.within(file.name()))?)?
            }
        };
        Ok(input.window(rows))
    }

    /// Opens inputs of the same columns, one after the other.
    pub(crate) fn open_all(
        &self,
        paths: &[PathBuf],
        columns: &ColumnArgs,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        if let [path] = paths {
            return self.open(path, columns, rows);
        }
        // Nobody knows in which of them the rows to leave out end.
        let each = RowWindow {
            offset: 0,
            limit: rows.limit.map(|limit| limit.saturating_add(rows.offset)),
            ..rows
        };
        let open =
            |path: &PathBuf| Ok((path.display().to_string(), self.open(path, columns, each)?));
        let inputs = paths
            .iter()
            .map(open)
            .collect::<Result<Vec<_>, Failure>>()?;
        Ok(chained::chained(inputs)?.window(rows))
    }

    /// Opens a shard, for commands that read nothing else.
    pub(crate) fn open_shard(&self, path: &Path) -> Result<Shard, Failure> {
        match self.format(path)? {
            FileFormat::Shard => Ok(Shard::open_with(path, self.shard_options())?),
            other => Err(Failure::Usage(format!(
                "`{}` is {other}, this works on shards only",
                path.display()
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

    fn shard(
        &self,
        path: &Path,
        columns: &ColumnArgs,
        rows: RowWindow<'_>,
    ) -> Result<Input, Failure> {
        let shard = self.open_shard(path)?;
        let names = columns.names();
        let projection = match names.is_empty() {
            true => Projection::All,
            false => names.clone().into(),
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
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let repeated = columns::repeated(&schema, &names);
        let input = Input {
            schema,
            total: Total::Rows(reader.remaining_rows()),
            batches: Box::new(reader.map(|batch| Ok(batch?))),
        };
        match repeated {
            Some(indices) => input.project(indices),
            None => Ok(input),
        }
    }
}

fn batches(reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'static) -> Batches {
    Box::new(reader.map(|batch| Ok(batch?)))
}

impl Input {
    /// Ends with the first error, panics of the reader included, and puts the name of the file
    /// before it.
    fn guarded(mut self, file: Foreign) -> Self {
        let mut batches = Some(self.batches);
        self.batches = Box::new(std::iter::from_fn(move || {
            let reader = batches.as_mut()?;
            let next = file.isolate(|| reader.next().transpose());
            if !matches!(next, Ok(Some(_))) {
                batches = None;
            }
            next.transpose()
        }));
        self
    }

    /// Keeps the columns of these indices, in this order.
    fn project(mut self, indices: Vec<usize>) -> Result<Self, Failure> {
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
