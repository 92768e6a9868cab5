//! A reader that logs its requests.

use arrow_shard::Result;
use arrow_shard::io::{ByteRange, ReadAt};
use bytes::Bytes;
use std::sync::{Arc, Mutex};

/// A simulated remote file that logs every request.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) bytes: Bytes,
    log: Mutex<Vec<ByteRange>>,
}

impl ReadAt for Logged {
    fn size(&self) -> Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        self.log.lock().unwrap().push(range);
        self.bytes.read_at(range)
    }
}

impl Logged {
    pub(crate) fn new(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            log: Mutex::default(),
        })
    }

    /// Returns the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<ByteRange> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

/// Returns the total number of requested bytes.
pub(crate) fn bytes_of(requests: &[ByteRange]) -> u64 {
    requests.iter().map(|range| range.len()).sum()
}
