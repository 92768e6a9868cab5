//! What tells whether a file is the one that a shard was made for.

use crate::buffer::StoredRange;
use crate::format::checksum;
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The external files of an open shard that have been found to be those that the shard was made for.
#[derive(Debug, Default)]
pub(crate) struct VerifiedFiles(Mutex<HashSet<(u32, u64, u32)>>);

/// What tells whether a file is the one that a shard was made for: the checksum of its last bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    /// The place of the bytes, which ends where the file ends.
    pub(crate) place: StoredRange,
    /// Their checksum.
    pub(crate) checksum: u32,
}

impl FileIdentity {
    /// Returns whether the bytes are those of the file that the shard was made for.
    pub(crate) fn fits(&self, bytes: &Bytes) -> bool {
        checksum(bytes) == self.checksum
    }

    fn key(&self) -> (u32, u64, u32) {
        (self.place.artifact, self.place.range.end(), self.checksum)
    }
}

impl VerifiedFiles {
    /// Returns whether the file has been verified.
    pub(crate) fn contains(&self, file: &FileIdentity) -> bool {
        let verified = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        verified.contains(&file.key())
    }

    /// Notes that the file has been verified.
    pub(crate) fn insert(&self, file: &FileIdentity) {
        let mut verified = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        verified.insert(file.key());
    }
}
