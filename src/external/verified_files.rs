//! The external files that have been compared with their descriptions.

use super::file_identity::FileIdentity;
use super::parquet::Footers;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The external files of an open shard that have been found to be those that the shard was made for.
#[derive(Debug, Default)]
pub(crate) struct VerifiedFiles {
    keys: Mutex<HashSet<(u32, u64, u32)>>,
    footers: Footers,
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
