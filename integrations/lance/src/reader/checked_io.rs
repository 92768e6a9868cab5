//! Checks requests of the Lance decoders against the size of the file.

use bytes::Bytes;
use futures::future::BoxFuture;
use lance_core::utils::io_stats::IoStatsRecorder;
use lance_core::{Error, Result};
use lance_encoding::EncodingsIo;
use std::ops::Range;
use std::sync::Arc;

/// Rejects requests beyond the end of a file before the scheduler sees them.
///
/// The scheduler cuts a request into parts and allocates room for the parts, so that a damaged file of a few kilobytes
/// that asks for terabytes would take gigabytes of memory, and minutes.
#[derive(Debug)]
pub(super) struct CheckedIo {
    inner: Arc<dyn EncodingsIo>,
    /// Bytes of the file.
    size: u64,
}

impl CheckedIo {
    pub(super) fn new(inner: Arc<dyn EncodingsIo>, size: u64) -> Self {
        Self { inner, size }
    }

    fn with(&self, inner: Option<Arc<dyn EncodingsIo>>) -> Option<Arc<dyn EncodingsIo>> {
        Some(Arc::new(Self::new(inner?, self.size)))
    }
}

impl EncodingsIo for CheckedIo {
    fn submit_request(
        &self,
        ranges: Vec<Range<u64>>,
        priority: u64,
    ) -> BoxFuture<'static, Result<Vec<Bytes>>> {
        let size = self.size;
        let is_outside = |range: &&Range<u64>| range.start > range.end || range.end > size;
        if let Some(range) = ranges.iter().find(is_outside) {
            let why =
                format!("bytes {range:?} are beyond the end of the file, which has {size} bytes");
            return Box::pin(async { Err(Error::invalid_input(why)) });
        }
        self.inner.submit_request(ranges, priority)
    }

    fn with_bypass_backpressure(&self) -> Option<Arc<dyn EncodingsIo>> {
        self.with(self.inner.with_bypass_backpressure())
    }

    fn with_io_stats(&self, stats: Arc<dyn IoStatsRecorder>) -> Option<Arc<dyn EncodingsIo>> {
        self.with(self.inner.with_io_stats(stats))
    }

    fn with_coalesce_gap(&self, gap: u64) -> Option<Arc<dyn EncodingsIo>> {
        self.with(self.inner.with_coalesce_gap(gap))
    }
}
