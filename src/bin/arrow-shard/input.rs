//! Files as streams of batches.

use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::infer_json;
use arrow_array::RecordBatch;
use arrow_csv::reader::Format as CsvFormat;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_json::ReaderBuilder as JsonReaderBuilder;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_shard::read::{Predicate, Projection};
use arrow_shard::{ErrorKind, Shard};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
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
    /// Which rows of a shard; the others are counted neither as left out nor as read.
    pub(crate) filter: Option<&'a str>,
    /// Rows to leave out.
    pub(crate) offset: u64,
    /// Rows to read at most.
    pub(crate) limit: Option<u64>,
}

/// An open input.
pub(crate) struct Input {
    /// Schema of the batches.
    pub(crate) schema: SchemaRef,
    /// The batches.
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch, Failure>>>,
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

    /// Opens the input.
    pub(crate) fn open(&self, columns: &ColumnArgs, rows: RowWindow<'_>) -> Result<Input, Failure> {
        let format = self.format()?;
        if rows.filter.is_some() && format != FileFormat::Shard {
            return Err(Failure::Usage(format!(
                "`{}` is {format}, --filter works on shards only",
                self.input.display()
            )));
        }
        let opened = match format {
            FileFormat::Shard => return self.shard(&columns.columns, rows),
            FileFormat::Parquet => self.parquet(&columns.columns),
            FileFormat::IpcFile => self.ipc_file(),
            FileFormat::IpcStream => self.ipc_stream(),
            FileFormat::Csv => self.csv(),
            FileFormat::Ndjson => self.ndjson(),
        };
        let name = self.input.display().to_string();
        let input = opened.map_err(|e| e.within(&name))?;
        input
            .named(name.clone())
            .project(&columns.columns, &name)
            .map(|input| input.window(rows))
    }

    /// Opens the input as a shard, for commands that read nothing else.
    pub(crate) fn open_shard(&self) -> Result<Shard, Failure> {
        match self.format()? {
            FileFormat::Shard => Ok(Shard::open(&self.input)?),
            other => Err(Failure::Usage(format!(
                "`{}` is {other}, this works on shards only",
                self.input.display()
            ))),
        }
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
            scan = scan.with_filter(predicate(filter, &shard)?);
        }
        let reader = scan.build()?;
        Ok(Input {
            schema: arrow_array::RecordBatchReader::schema(&reader),
            total: Total::Rows(reader.remaining_rows()),
            batches: Box::new(reader.map(|batch| Ok(batch?))),
        })
    }

    fn parquet(&self, columns: &[String]) -> Result<Input, Failure> {
        let file = File::open(&self.input)?;
        let mut builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        if !columns.is_empty() {
            let fields = builder.schema().fields().iter().enumerate();
            let wanted: Vec<usize> = fields
                .filter(|(_, field)| columns.contains(field.name()))
                .map(|(i, _)| i)
                .collect();
            // With an unknown name all columns stay, for the error that lists them.
            if wanted.len() >= columns.len() {
                let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
                builder = builder.with_projection(mask);
            }
        }
        let reader = builder.with_batch_size(BATCH_ROWS).build()?;
        Ok(Input {
            schema: arrow_array::RecordBatchReader::schema(&reader),
            total: Total::Rows(rows),
            batches: batches(reader),
        })
    }

    fn ipc_file(&self) -> Result<Input, Failure> {
        let reader = FileReader::try_new(
            BufReader::with_capacity(BUFFER_BYTES, File::open(&self.input)?),
            None,
        )?;
        Ok(Input {
            schema: reader.schema(),
            total: Total::Batches(reader.num_batches() as u64),
            batches: batches(reader),
        })
    }

    fn ipc_stream(&self) -> Result<Input, Failure> {
        if is_standard(&self.input) {
            let reader = StreamReader::try_new(BufReader::new(io::stdin().lock()), None)?;
            return Ok(Input {
                schema: reader.schema(),
                total: Total::Unknown,
                batches: batches(reader),
            });
        }
        let (file, total) = counted(File::open(&self.input)?)?;
        let reader = StreamReader::try_new(BufReader::with_capacity(BUFFER_BYTES, file), None)?;
        Ok(Input {
            schema: reader.schema(),
            total,
            batches: batches(reader),
        })
    }

    fn csv(&self) -> Result<Input, Failure> {
        let mut file = self.rewindable()?;
        let format = CsvFormat::default().with_header(true);
        let (schema, _) = format.infer_schema(
            BufReader::with_capacity(BUFFER_BYTES, &file),
            self.schema_rows,
        )?;
        // Columns without values, as far as they were looked at, may have some further on.
        let fields = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Null => Arc::new(Field::new(field.name(), DataType::Utf8, true)),
            _ => field.clone(),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        file.rewind()?;
        let (file, total) = counted(file)?;
        let reader = arrow_csv::ReaderBuilder::new(schema.clone())
            .with_format(format)
            .with_batch_size(BATCH_ROWS)
            .build(file)?;
        Ok(Input {
            schema,
            total,
            batches: batches(reader),
        })
    }

    fn ndjson(&self) -> Result<Input, Failure> {
        let mut file = self.rewindable()?;
        let buffered = BufReader::with_capacity(BUFFER_BYTES, &file);
        let schema = Arc::new(infer_json::infer(buffered, self.schema_rows)?);
        file.rewind()?;
        let (file, total) = counted(file)?;
        // Fields that were not seen are an error instead of being left out.
        let reader = JsonReaderBuilder::new(schema.clone())
            .with_strict_mode(true)
            .with_coerce_primitive(true)
            .with_batch_size(BATCH_ROWS)
            .build(BufReader::with_capacity(BUFFER_BYTES, file))?;
        Ok(Input {
            schema,
            total,
            batches: batches(reader),
        })
    }

    /// A file that can be read twice: standard input is copied to a temporary one.
    fn rewindable(&self) -> Result<File, Failure> {
        if !is_standard(&self.input) {
            return Ok(File::open(&self.input)?);
        }
        let mut file = tempfile::tempfile()?;
        io::copy(&mut io::stdin().lock(), &mut file)?;
        file.rewind()?;
        Ok(file)
    }
}

fn batches(
    reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'static,
) -> Box<dyn Iterator<Item = Result<RecordBatch, Failure>>> {
    Box::new(reader.map(|batch| Ok(batch?)))
}

impl Input {
    /// Puts the name of the file before errors.
    fn named(mut self, name: String) -> Self {
        let batches = self.batches;
        self.batches = Box::new(batches.map(move |batch| batch.map_err(|e| e.within(&name))));
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

/// Reads a condition for the rows of a shard.
fn predicate(filter: &str, shard: &Shard) -> Result<Predicate, Failure> {
    shard.parse_predicate(filter).map_err(|e| {
        let place = format!("--filter, {}", e.element());
        match e.kind() {
            ErrorKind::InvalidArgument => Failure::Usage(format!("{place}: {}", e.message())),
            kind => Failure::new(format!("{place}: {kind}: {}", e.message())),
        }
    })
}
