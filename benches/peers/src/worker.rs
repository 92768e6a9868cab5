//! Measures one question for one format and one table, in a process of its own.

use crate::allocator::Allocator;
use crate::clock::{Clock, Sample, Status};
use crate::counted::Reads;
use crate::data::{self, Filter};
use crate::load::Load;
use crate::peer::{Format, Opened, Peer, Source, Want};
use crate::question::{Access, Condition, Question, Read};
use crate::strings::{cast_batch, with_utf8};
use crate::touch::touch;
use anyhow::{Context, Result, ensure};
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use clap::ValueEnum;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A process repeats a measurement until this time has passed, ...
const ENOUGH: Duration = Duration::from_millis(250);
/// ... but at most this many times.
const MAX_SAMPLES: usize = 100;

/// The results of a worker; a line of its output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) table: String,
    pub(crate) format: Format,
    pub(crate) question: Question,
    pub(crate) allocator: Allocator,
    pub(crate) rows: u64,
    /// Size of the file in bytes.
    pub(crate) file_bytes: u64,
    /// Empty if the format does not support the question.
    pub(crate) samples: Vec<Sample>,
    /// Peak memory of the process after the first run, in bytes.
    pub(crate) peak: u64,
    /// Peak memory of the process before the first run, in bytes.
    pub(crate) peak_before: u64,
    /// Threads of the process at its end.
    pub(crate) threads: u64,
    /// Number of reads of one run; 0 through a memory map.
    pub(crate) requests: u64,
    /// The longest chain of requests to a store that each began after the previous one had ended.
    pub(crate) rounds: u64,
    pub(crate) read_bytes: u64,
    /// Work of other programs while the process ran; earlier runs did not measure it.
    pub(crate) load: Option<Load>,
}

/// Returns the path of a table's file in a format.
pub(crate) fn file(data: &Path, table: &str, format: Format) -> PathBuf {
    data.join("files")
        .join(format!("{table}.{}", format.name()))
}

pub(crate) fn measure(
    data: &Path,
    table: &str,
    format: Format,
    question: Question,
    allocator: Allocator,
) -> Result<Measurement> {
    let task = Task::new(data, table, format, question.threads())?;
    let mut measurement = Measurement {
        table: table.to_owned(),
        format,
        question,
        allocator,
        rows: task.rows,
        file_bytes: 0,
        samples: Vec::new(),
        peak: 0,
        peak_before: Status::now()?.peak,
        threads: 0,
        requests: 0,
        rounds: 0,
        read_bytes: 0,
        load: None,
    };
    let begun = Instant::now();
    match question.read() {
        None => {
            let held = match question {
                Question::WriteHeld | Question::Write2 => Some(task.batches()?),
                _ => None,
            };
            let write = || match &held {
                Some(batches) => task.write(batches.iter().cloned().map(Ok)),
                None => task.write(data::open(data, table)?),
            };
            // Otherwise earlier writes would go to the disk during the measurement.
            rustix::fs::sync();
            measurement.samples.push(write()?);
            measurement.peak = Status::now()?.peak;
            repeat(&mut measurement.samples, begun, write)?;
        }
        Some(read) => task.read(question, read, &mut measurement)?,
    }
    measurement.file_bytes = std::fs::metadata(&task.path)?.len();
    measurement.threads = Status::now()?.threads;
    Ok(measurement)
}

struct Task<'a> {
    data: &'a Path,
    table: &'a str,
    path: PathBuf,
    schema: SchemaRef,
    rows: u64,
    peer: Box<dyn Peer>,
}

impl<'a> Task<'a> {
    fn new(data: &'a Path, table: &'a str, format: Format, threads: usize) -> Result<Self> {
        let source = data::open(data, table)?;
        Ok(Self {
            data,
            table,
            path: file(data, table, format),
            schema: source.schema(),
            rows: data::rows(&source)?,
            peer: format.peer(threads),
        })
    }

    /// Reads the table.
    fn batches(&self) -> Result<Vec<RecordBatch>> {
        Ok(data::open(self.data, self.table)?.collect::<Result<_, _>>()?)
    }

    /// Writes the file; the clock is paused while the table is read.
    fn write(
        &self,
        mut source: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    ) -> Result<Sample> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let clock = RefCell::new(Clock::start());
        let mut batches = std::iter::from_fn(|| {
            clock.borrow_mut().pause();
            let batch = source.next();
            clock.borrow_mut().resume();
            batch
        });
        let written = self.path.with_extension("unfinished");
        self.peer.write(&written, &self.schema, &mut batches)?;
        let sample = clock.into_inner().stop();
        std::fs::rename(written, &self.path)?;
        Ok(sample)
    }

    fn open(&self, question: Question, reads: &Arc<Reads>) -> Result<Option<Box<dyn Opened>>> {
        let source = Source {
            path: &self.path,
            schema: &self.schema,
            reads,
        };
        self.peer.open(&source, question.access())
    }

    /// Reads once without a clock, to measure memory and requests, then repeatedly with a clock.
    fn read(&self, question: Question, read: Read, measurement: &mut Measurement) -> Result<()> {
        let mut reading = Reading::new(self, read)?;
        let reads = Arc::new(Reads::default());
        let Some(mut opened) = self.open(question, &reads)? else {
            return Ok(());
        };
        reading.once(&mut *opened)?;
        // The peak is taken before a second file is open.
        measurement.peak = Status::now()?.peak;
        if question.keeps_open() && question.access() == Access::Store {
            // The requests of opening do not count.
            reads.reset();
            reading.draw();
            reading.once(&mut *opened)?;
        }
        measurement.requests = reads.requests();
        measurement.rounds = reads.rounds();
        measurement.read_bytes = reads.bytes();

        repeat(&mut measurement.samples, Instant::now(), || {
            reading.draw();
            let clock = Clock::start();
            if question.keeps_open() {
                reading.once(&mut *opened)?;
                return Ok(clock.stop());
            }
            // Closing the file is part of the measurement.
            let mut anew = self.open(question, &reads)?.context("the file was open")?;
            reading.once(&mut *anew)?;
            drop(anew);
            Ok(clock.stop())
        })
    }
}

/// Measures at least once, until [`ENOUGH`] time has passed or [`MAX_SAMPLES`] samples are taken.
fn repeat(
    samples: &mut Vec<Sample>,
    begun: Instant,
    mut once: impl FnMut() -> Result<Sample>,
) -> Result<()> {
    while samples.is_empty() || (samples.len() < MAX_SAMPLES && begun.elapsed() < ENOUGH) {
        samples.push(once()?);
    }
    Ok(())
}

/// A read that is repeated.
struct Reading {
    read: Read,
    total: u64,
    utf8: SchemaRef,
    columns: Vec<usize>,
    names: Vec<String>,
    /// Rows to take: new ones for each repetition, the same for every format.
    rows: Vec<u64>,
    filter: Option<Filter>,
    rng: StdRng,
}

impl Reading {
    fn new(task: &Task<'_>, read: Read) -> Result<Self> {
        let (schema, total) = (&task.schema, task.rows);
        let filter = match read {
            Read::Filtered(condition) | Read::FilteredAfter(condition) => {
                Some(Filter::of(task.data, task.table, condition)?)
            }
            _ => None,
        };
        let last = schema.fields().len().saturating_sub(1);
        let mut columns = vec![0, last / 2, last];
        columns.dedup();
        let name = |&column: &usize| schema.field(column).name().clone();
        let mut reading = Self {
            read,
            total,
            utf8: Arc::new(with_utf8(schema)),
            names: columns.iter().map(name).collect(),
            columns,
            rows: Vec::new(),
            filter,
            rng: StdRng::seed_from_u64(5),
        };
        reading.draw();
        Ok(reading)
    }

    /// Chooses new rows.
    fn draw(&mut self) {
        if let Read::Take(count) = self.read {
            let total = self.total as usize;
            let rows = rand::seq::index::sample(&mut self.rng, total, count.min(total));
            self.rows = rows.into_iter().map(|row| row as u64).collect();
            self.rows.sort_unstable();
        }
    }

    /// Reads once, and touches all batches.
    fn once(&self, opened: &mut dyn Opened) -> Result<()> {
        let mut rows = 0;
        self.run(opened, &mut |batch| {
            rows += batch.num_rows() as u64;
            black_box(touch(&batch));
        })?;
        let expected = match self.read {
            Read::Take(_) => self.rows.len() as u64,
            Read::Filtered(Condition::All) | Read::FilteredAfter(Condition::All) => self.total,
            Read::Filtered(_) | Read::FilteredAfter(_) => rows,
            _ => self.total,
        };
        ensure!(rows == expected, "{rows} rows were read, not {expected}");
        Ok(())
    }

    fn run(&self, opened: &mut dyn Opened, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        match self.read {
            Read::Scan => opened.scan(Want::Written, visit),
            Read::ScanUtf8 => opened.scan(Want::Types(&self.utf8), visit),
            Read::Project3 => opened.scan(Want::Columns(&self.columns), visit),
            Read::Names3 => opened.scan(Want::Names(&self.names), visit),
            Read::Filtered(_) => {
                let filter = self.filter.as_ref().context("a filter")?;
                opened.scan(Want::Matching(filter), visit)
            }
            Read::FilteredAfter(_) => {
                let filter = self.filter.as_ref().context("a filter")?;
                let mut result = Ok(());
                opened.scan(Want::Written, &mut |batch| match filter.apply(&batch) {
                    Ok(batch) => visit(batch),
                    Err(e) => result = Err(e),
                })?;
                result
            }
            Read::Take(_) => {
                visit(opened.take(&self.rows)?);
                Ok(())
            }
        }
    }

    /// Returns the rows that are read, in one batch.
    fn result(&self, opened: &mut dyn Opened) -> Result<RecordBatch> {
        let mut batches = Vec::new();
        self.run(opened, &mut |batch| batches.push(batch))?;
        let schema = batches.first().context("there are no rows")?.schema();
        Ok(concat_batches(&schema, &batches)?)
    }

    /// Returns the expected rows, from the whole table.
    fn expected(&self, table: &RecordBatch) -> Result<RecordBatch> {
        Ok(match self.read {
            Read::Scan => table.clone(),
            Read::ScanUtf8 => cast_batch(table, &self.utf8)?,
            Read::Project3 | Read::Names3 => table.project(&self.columns)?,
            Read::Filtered(_) | Read::FilteredAfter(_) => {
                self.filter.as_ref().context("a filter")?.apply(table)?
            }
            Read::Take(_) => {
                let rows = UInt64Array::from(self.rows.clone());
                take_record_batch(table, &rows)?
            }
        })
    }
}

/// Writes the file, and compares the results of all reads with the table, row by row.
pub(crate) fn check(data: &Path, table: &str, format: Format) -> Result<()> {
    let task = Task::new(data, table, format, 1)?;
    let batches = task.batches()?;
    let whole = concat_batches(&task.schema, &batches)?;
    drop(batches);
    for &question in Question::value_variants() {
        if !question.suits(table, &task.schema) || !format.answers(table, question) {
            continue;
        }
        let task = Task::new(data, table, format, question.threads())?;
        // A written file is read.
        let read = match question.read() {
            Some(read) => read,
            None => {
                task.write(data::open(data, table)?)?;
                Read::Scan
            }
        };
        let Some(mut opened) = task.open(question, &Arc::default())? else {
            continue;
        };
        let mut reading = Reading::new(&task, read)?;
        for time in ["first", "second"] {
            let found = reading.result(&mut *opened)?;
            let expected = reading.expected(&whole)?;
            for (found, expected) in found.columns().iter().zip(expected.columns()) {
                ensure!(
                    found == expected,
                    "{table}, {format:?}, {question:?}, {time} time: a column of {} and {} rows \
                     differs from the one of {} and {} rows that was written",
                    found.data_type(),
                    found.len(),
                    expected.data_type(),
                    expected.len()
                );
            }
            ensure!(
                found.num_columns() == expected.num_columns(),
                "columns are missing"
            );
            reading.draw();
        }
    }
    Ok(())
}
