//! The identity of external files.

use crate::buffer::StoredRange;
use crate::format::checksum;
use bytes::Bytes;

/// The last bytes of an external file when the shard was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    /// The place of the bytes, which ends where the file ends.
    pub(crate) place: StoredRange,
    /// Their checksum.
    pub(crate) checksum: u32,
}

impl FileIdentity {
    /// Returns whether the bytes have the checksum.
    pub(crate) fn fits(&self, bytes: &Bytes) -> bool {
        checksum(bytes) == self.checksum
    }

    /// Returns what differs for another file, or another version of it.
    pub(super) fn key(&self) -> (u32, u64, u32) {
        (self.place.artifact, self.place.range.end(), self.checksum)
    }
}
