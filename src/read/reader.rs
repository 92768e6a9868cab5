//! A running scan.

use super::batches::BatchReader;
use super::filter::{Filter, ScanMetrics};
use super::offset_limit::OffsetLimit;
#[cfg(feature = "threads")]
use super::threads::ThreadedReader;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A running scan: an iterator of batches.
///
/// Its errors are of the type `ArrowError`, as in all readers of the Arrow crates. [`Error::from`](crate::Error) turns
/// such an error back into the original error of this crate, with its kind and place. After an error, the iterator
/// ends.
#[derive(Debug)]
pub struct ShardReader {
    pub(in crate::read) schema: SchemaRef,
    pub(in crate::read) batches: Batches,
    pub(in crate::read) filter: Option<Arc<Filter>>,
    pub(in crate::read) cut: OffsetLimit,
    pub(in crate::read) bytes_read: Arc<AtomicU64>,
}

#[derive(Debug)]
pub(in crate::read) enum Batches {
    Inline(BatchReader),
    #[cfg(feature = "threads")]
    Threads(ThreadedReader),
}

impl ShardReader {
    /// Returns the number of rows that have not been read yet. With a filter, a selection or deleted rows, this is an
    /// upper bound: rows that are not tested yet count, too.
    pub fn remaining_rows(&self) -> u64 {
        self.cut.most(match &self.batches {
            Batches::Inline(reader) => reader.remaining_rows(),
            #[cfg(feature = "threads")]
            Batches::Threads(reader) => reader.remaining_rows(),
        })
    }

    /// Returns how much the filter or the selection of rows has let the scan skip so far; `None` if it has neither, and
    /// no deleted rows to skip.
    pub fn metrics(&self) -> Option<ScanMetrics> {
        let filter = self.filter.as_ref()?;
        Some(filter.counters.metrics())
    }

    /// Returns the number of bytes that the scan has read from files so far: columns, gaps that were read along with
    /// them, and metadata that no earlier scan of the shard had needed. Bytes read by opening the shard and by planning
    /// the scan do not count, nor does any byte of a shard in memory.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }
}

impl Iterator for ShardReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.cut.is_over() {
            let next = match &mut self.batches {
                Batches::Inline(reader) => reader.next(),
                #[cfg(feature = "threads")]
                Batches::Threads(reader) => reader.next(),
            };
            let batch = match next? {
                Err(e) => return Some(Err(e.into())),
                Ok(batch) => self.cut.apply(batch),
            };
            #[cfg(feature = "threads")]
            if let (true, Batches::Threads(reader)) = (self.cut.is_over(), &mut self.batches) {
                reader.stop();
            }
            if let Some(batch) = batch {
                return Some(Ok(batch));
            }
        }
        None
    }
}

impl RecordBatchReader for ShardReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
