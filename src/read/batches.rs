//! Readers of batches: all rows of a range, or only the rows that are selected and match.

use super::filter::{Filter, FilteredReader};
use super::scan::rows::{RowReader, ScanFormat};
use super::shard::waiting::ready_now;
use crate::buffer::Selection;
use crate::error::Result;
use arrow_array::RecordBatch;
use std::ops::Range;
use std::sync::Arc;

/// Rows and columns that a scan reads.
#[derive(Debug, Clone)]
pub(super) struct RowPlan {
    pub(super) format: ScanFormat,
    /// The rows that match; `None` if all do.
    pub(super) filter: Option<Arc<Filter>>,
    /// The selected rows, by number; `None` if all are. Requires a filter.
    pub(super) selection: Option<Arc<Selection>>,
}

/// Reads rows on the calling thread.
#[derive(Debug)]
pub(super) enum BatchReader {
    All(Box<RowReader>),
    Filtered(Box<FilteredReader>),
}

impl RowPlan {
    pub(super) fn read(&self, rows: Range<u64>) -> BatchReader {
        let format = self.format.clone();
        match &self.filter {
            None => BatchReader::All(Box::new(RowReader::new(format, rows))),
            Some(filter) => {
                let (filter, selection) = (filter.clone(), self.selection.clone());
                let reader = FilteredReader::new(format, filter, selection, rows);
                BatchReader::Filtered(Box::new(reader))
            }
        }
    }
}

impl BatchReader {
    /// Continues with other rows after reading the previous ones.
    #[cfg(feature = "threads")]
    pub(super) fn restart(&mut self, rows: Range<u64>) {
        match self {
            Self::All(reader) => reader.restart(rows),
            Self::Filtered(reader) => reader.restart(rows),
        }
    }

    /// Returns the number of rows that have not been read yet; with a filter, of the rows that may still match.
    pub(super) fn remaining_rows(&self) -> u64 {
        match self {
            Self::All(reader) => reader.remaining_rows(),
            Self::Filtered(reader) => reader.remaining_rows(),
        }
    }
}

impl BatchReader {
    /// Returns the next batch; `None` after the last. Nothing follows an error.
    pub(in crate::read) async fn next_batch(&mut self) -> Option<Result<RecordBatch>> {
        let next = match self {
            Self::All(reader) => reader.next_batch().await,
            Self::Filtered(reader) => reader.next_batch().await,
        };
        if next.is_err() {
            self.stop();
        }
        next.transpose()
    }

    /// Skips the rest of the stripe and returns its rows, if all of them are known to match. Returns `None` if the
    /// next rows have to be read, or at the end.
    pub(in crate::read) async fn take_known(&mut self) -> Result<Option<Range<u64>>> {
        match self {
            Self::All(reader) => Ok(reader.take_rest()),
            Self::Filtered(reader) => reader.take_known().await,
        }
    }

    /// Tests the next rows of a filtered scan, unless matches wait to be read. Returns false if there is nothing to
    /// test before the next batch is read.
    pub(in crate::read) async fn test_some(&mut self) -> Result<bool> {
        match self {
            Self::All(_) => Ok(false),
            Self::Filtered(reader) => reader.test_some().await,
        }
    }

    /// Fetches the bytes for the next batch, and the bytes that are fetched together with them.
    pub(in crate::read) async fn prefetch(&mut self) -> Result<()> {
        match self {
            Self::All(reader) => reader.prefetch().await.map(|_| ()),
            Self::Filtered(reader) => reader.prefetch().await,
        }
    }

    fn stop(&mut self) {
        match self {
            Self::All(reader) => reader.stop(),
            Self::Filtered(reader) => reader.stop(),
        }
    }
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        ready_now(async { Ok(self.next_batch().await) }).unwrap_or_else(|error| {
            self.stop();
            Some(Err(error))
        })
    }
}
