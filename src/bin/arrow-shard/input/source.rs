//! An open input, and operations on its batches.

use super::columns::indices;
use super::{BUFFER_BYTES, RowWindow, ipc};
use crate::failure::Failure;
use crate::isolate::Foreign;
use crate::leaves::check_decimals;
use crate::progress::{InputProgress, Total};
use crate::threads::Results;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Batches of one schema.
pub(super) type Batches = Results<RecordBatch>;

/// An open input.
pub(crate) struct Input {
    /// The schema of the batches.
    pub(crate) schema: SchemaRef,
    /// The batches.
    pub(crate) batches: Batches,
    /// The amount of data to read, for the progress bar.
    pub(crate) total: Total,
}

pub(super) fn batches(
    reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'static,
) -> Batches {
    Box::new(reader.map(|batch| Ok(batch?)))
}

impl Input {
    /// Returns an input of batches in memory.
    pub(crate) fn of_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        Self {
            schema,
            batches: Box::new(batches.into_iter().map(Ok)),
            total: Total::Rows(rows),
        }
    }

    /// Stops after the first error, which may be a panic of the reader, and puts the name of the file before the error.
    pub(super) fn guarded(mut self, file: Foreign) -> Self {
        let mut batches = Some(self.batches);
        self.batches = Box::new(std::iter::from_fn(move || {
            let reader = batches.as_mut()?;
            let next = file.isolate(|| {
                let next = reader.next().transpose()?;
                next.iter().try_for_each(check_decimals)?;
                Ok(next)
            });
            if !matches!(next, Ok(Some(_))) {
                batches = None;
            }
            next.transpose()
        }));
        self
    }

    /// Reads a stream of Arrow IPC. `name` is the name of its source in errors.
    pub(crate) fn of_stream(stream: impl Read + 'static, name: &str) -> Result<Self, Failure> {
        ipc::stream(
            BufReader::with_capacity(BUFFER_BYTES, stream),
            Total::Unknown,
        )
        .map_err(|failure| failure.within(name))
    }

    /// Shows the progress of reading, unless `quiet`.
    pub(crate) fn with_progress(self, quiet: bool) -> Self {
        let mut progress = InputProgress::new(self.total.clone(), quiet);
        let batches = self.batches.inspect(move |batch| {
            if let Ok(batch) = batch {
                progress.add(batch.num_rows());
            }
        });
        Self {
            batches: Box::new(batches),
            ..self
        }
    }

    /// Keeps the columns with these indices, in this order.
    pub(super) fn project(mut self, indices: Vec<usize>) -> Result<Self, Failure> {
        self.schema = Arc::new(self.schema.project(&indices)?);
        let batches = self.batches;
        self.batches = Box::new(batches.map(move |batch| Ok(batch?.project(&indices)?)));
        Ok(self)
    }

    /// Keeps the columns with these names, or all columns. `file` is the name of the file in errors.
    pub(crate) fn choose(self, names: &[String], file: &str) -> Result<Self, Failure> {
        if names.is_empty() {
            return Ok(self);
        }
        let indices = indices(&self.schema, names).map_err(|e| e.within(file))?;
        self.project(indices)
    }

    /// Applies the offset and the limit.
    pub(crate) fn window(mut self, rows: RowWindow<'_>) -> Self {
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

/// A file that counts the bytes read from it.
pub(super) struct Counted<R> {
    file: R,
    read: Arc<AtomicU64>,
}

/// Counts the bytes read from a file of `bytes` bytes.
pub(super) fn counted<R: Read>(file: R, bytes: u64) -> (Counted<R>, Total) {
    let read = Arc::new(AtomicU64::new(0));
    let total = Total::Bytes(bytes, read.clone());
    (Counted { file, read }, total)
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buf)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
