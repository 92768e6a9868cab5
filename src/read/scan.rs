//! Scans: rows of a shard, in order, as RecordBatches.

use super::columns::ProjectedColumns;
use super::fetch::Bench;
use super::metadata::ready;
use super::projection::Projection;
use super::rows::{RowFormat, RowReader};
use super::shard::Shard;
#[cfg(feature = "threads")]
use super::threads::ThreadedReader;
use super::windows::windows;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Rows per batch, unless the caller says otherwise.
const DEFAULT_BATCH_SIZE: usize = 8192;

/// What to scan: columns, rows, types, batch size.
#[derive(Debug, Clone)]
pub struct ScanBuilder {
    shard: Shard,
    projection: Projection,
    schema: Option<SchemaRef>,
    rows: Option<Range<u64>>,
    offset: u64,
    limit: Option<u64>,
    batch_size: usize,
    row_number: Option<String>,
    #[cfg(feature = "threads")]
    threads: usize,
}

impl ScanBuilder {
    pub(super) fn new(shard: Shard) -> Self {
        Self {
            shard,
            projection: Projection::All,
            schema: None,
            rows: None,
            offset: 0,
            limit: None,
            batch_size: DEFAULT_BATCH_SIZE,
            row_number: None,
            #[cfg(feature = "threads")]
            threads: 1,
        }
    }

    /// Reads these columns only; all by default.
    #[must_use]
    pub fn with_projection(mut self, projection: impl Into<Projection>) -> Self {
        self.projection = projection.into();
        self
    }

    /// Reads the columns that the schema names, in its types: other widths of offsets, views, time
    /// units, dictionaries or plain values, and whatever a checked cast can make of the stored
    /// type. Replaces a projection.
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Reads rows of this range only, by number; all by default.
    #[must_use]
    pub fn with_row_range(mut self, rows: Range<u64>) -> Self {
        self.rows = Some(rows);
        self
    }

    /// Leaves out that many rows at the start.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Reads that many rows at most.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Rows per batch; 8,192 by default. A batch is shorter at the end of a stripe, and where
    /// offsets or keys of an Arrow type would overflow.
    #[must_use]
    pub fn with_batch_size(mut self, rows: usize) -> Self {
        self.batch_size = rows;
        self
    }

    /// Adds a last column of that name with the number of each row in the shard, as UInt64.
    #[must_use]
    pub fn with_row_number(mut self, name: impl Into<String>) -> Self {
        self.row_number = Some(name.into());
        self
    }

    /// Decodes with that many tasks at a time on rayon's pool of threads; by default on the thread
    /// that asks for the batches, which come in the same order and with the same rows either way.
    #[cfg(feature = "threads")]
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Cuts the scan into at most `parts` scans of about as many rows each, in the order of the
    /// rows; scans that are read by several threads or machines. They meet where blocks end.
    ///
    /// # Errors
    /// [`RowOutOfRange`](ErrorKind::RowOutOfRange), or what is wrong with the stripe list.
    pub fn split(&self, parts: usize) -> Result<Vec<Self>> {
        let rows = self.row_range()?;
        let pieces = windows(&self.shard, rows, 1)?;
        let per_part = pieces.len().div_ceil(parts.max(1)).max(1);
        let part = |pieces: &[Range<u64>]| {
            let mut part = self.clone();
            let (first, last) = (pieces.first(), pieces.last());
            part.rows = first.zip(last).map(|(first, last)| first.start..last.end);
            (part.offset, part.limit) = (0, None);
            part
        };
        Ok(pieces.chunks(per_part).map(part).collect())
    }

    /// Starts the scan; this reads the schema, and no data yet.
    ///
    /// # Errors
    /// [`UnknownColumn`](ErrorKind::UnknownColumn), [`AmbiguousColumn`](ErrorKind::AmbiguousColumn),
    /// [`RowOutOfRange`](ErrorKind::RowOutOfRange), or what is wrong with the schema.
    pub fn build(self) -> Result<ShardReader> {
        if self.batch_size == 0 {
            return Err(Error::invalid("a batch must have at least one row"));
        }
        let Range { start, end } = self.row_range()?;
        let (columns, schema) = self.shard.drive(|bench| self.columns(bench))?;
        let format = RowFormat {
            shard: self.shard,
            columns,
            schema: schema.clone(),
            row_number: self.row_number.is_some(),
            batch_size: self.batch_size as u64,
        };
        #[cfg(feature = "threads")]
        if self.threads > 1 {
            let batches =
                Batches::Threads(ThreadedReader::try_new(format, start..end, self.threads)?);
            return Ok(ShardReader { schema, batches });
        }
        let batches = Batches::Inline(Box::new(RowReader::new(format, start..end)));
        Ok(ShardReader { schema, batches })
    }

    /// The rows to read, by number.
    fn row_range(&self) -> Result<Range<u64>> {
        let total = self.shard.num_rows();
        let rows = self.rows.clone().unwrap_or(0..total);
        if rows.start > rows.end || rows.end > total {
            return Err(Error::new(
                ErrorKind::RowOutOfRange,
                format!(
                    "rows {}..{} of a shard of {total} rows",
                    rows.start, rows.end
                ),
            ));
        }
        let start = rows.start.saturating_add(self.offset).min(rows.end);
        let end = match self.limit {
            Some(limit) => start.saturating_add(limit).min(rows.end),
            None => rows.end,
        };
        Ok(start..end)
    }

    fn columns(&self, bench: &Bench<'_>) -> Result<Option<ProjectedColumns>> {
        let metadata = &self.shard.inner;
        let (columns, mut schema) = match &self.schema {
            Some(schema) => {
                let columns = ready!(metadata.requested_columns(bench, schema));
                (columns.into(), schema.clone())
            }
            None => ready!(metadata.projected(bench, &self.projection)),
        };
        if let Some(name) = &self.row_number {
            let mut fields = schema.fields().to_vec();
            fields.push(Arc::new(Field::new(name, DataType::UInt64, false)));
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        }
        Ok(Some((columns, schema)))
    }
}

/// A scan that has been started: an iterator of batches.
#[derive(Debug)]
pub struct ShardReader {
    schema: SchemaRef,
    batches: Batches,
}

#[derive(Debug)]
enum Batches {
    Inline(Box<RowReader>),
    #[cfg(feature = "threads")]
    Threads(ThreadedReader),
}

impl ShardReader {
    /// Rows that have not been read yet.
    pub fn remaining_rows(&self) -> u64 {
        match &self.batches {
            Batches::Inline(reader) => reader.remaining_rows(),
            #[cfg(feature = "threads")]
            Batches::Threads(reader) => reader.remaining_rows(),
        }
    }
}

impl Iterator for ShardReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.batches {
            Batches::Inline(reader) => reader.next(),
            #[cfg(feature = "threads")]
            Batches::Threads(reader) => reader.next(),
        };
        next.map(|batch| batch.map_err(ArrowError::from))
    }
}

impl RecordBatchReader for ShardReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
