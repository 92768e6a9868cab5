//! The identity of external files.

use super::parquet::Footers;
use crate::buffer::StoredRange;
use crate::format::checksum;
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The external files of an open shard that have been found to be those that the shard was made for.
#[derive(Debug, Default)]
pub(crate) struct VerifiedFiles {
    keys: Mutex<HashSet<(u32, u64, u32)>>,
    footers: Footers,
}

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

    fn key(&self) -> (u32, u64, u32) {
        (self.place.artifact, self.place.range.end(), self.checksum)
    }
}

impl VerifiedFiles {
    /// Returns a set without files, with the same footers.
    pub(crate) fn unverified(&self) -> Self {
        Self {
            keys: Mutex::default(),
            footers: self.footers.clone(),
        }
    }

    /// Returns the footers of files that the shard does not describe.
    pub(crate) fn footers(&self) -> &Footers {
        &self.footers
    }

    /// Returns whether the file has been verified.
    pub(crate) fn contains(&self, file: &FileIdentity) -> bool {
        let verified = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        verified.contains(&file.key())
    }

    /// Notes that the file has been verified.
    pub(crate) fn insert(&self, file: &FileIdentity) {
        let mut verified = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        verified.insert(file.key());
    }
}
