//! Spec: Chapter 6, "Internal Fields": where a writer takes the values of internal fields from.

use crate::column::UNIX_EPOCH_TICKS;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

/// The source of the values of an internal field, for example of
/// [`with_ingestion_timestamp`](super::WriterOptions::with_ingestion_timestamp).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InternalValues {
    /// The writer generates the values.
    Generated,
    /// The top-level column of that name has the values. It is then not an ordinary column of the shard.
    Column(String),
}

/// Returns the current time in 100 ns ticks since 0001-01-01.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UNIX_EPOCH_TICKS + since.as_secs() * 10_000_000 + u64::from(since.subsec_nanos() / 100)
}

/// Leading bytes of an identity, which all records of a writer share.
const SHARED: usize = 10;

/// Generates identities of records: UUIDs of version 8 (RFC 9562), with 74 bits that are random for each writer and the
/// record number in 48 bits. Neighbors differ in few bits, so they compress well.
#[derive(Debug)]
pub(super) struct Identities([u8; SHARED]);

impl Identities {
    pub(super) fn random() -> Self {
        let random = || RandomState::new().build_hasher().finish().to_le_bytes();
        let (first, second) = (random(), random());
        let mut shared = [0; SHARED];
        for (byte, random) in shared.iter_mut().zip(first.into_iter().chain(second)) {
            *byte = random;
        }
        shared[6] = shared[6] & 0x0f | 0x80;
        shared[8] = shared[8] & 0x3f | 0x80;
        Self(shared)
    }

    /// Returns the identities of `count` records, starting with number `first`, as contiguous bytes.
    pub(super) fn bytes(&self, first: u64, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 * count);
        for number in (first..).take(count) {
            bytes.extend_from_slice(&self.0);
            // A writer never reaches 2^48 records.
            bytes.extend_from_slice(&number.to_be_bytes()[2..]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_uuids_in_order_and_of_one_writer() {
        let (one, two) = (Identities::random(), Identities::random());
        let bytes = one.bytes(254, 3);
        let ids: Vec<&[u8]> = bytes.chunks(16).collect();
        assert!(ids.is_sorted() && ids.len() == 3);
        for id in &ids {
            assert_eq!((id[6] >> 4, id[8] >> 6), (8, 2));
        }
        assert_eq!(&ids[2][SHARED..], [0, 0, 0, 0, 1, 0]);
        assert_ne!(one.0, two.0);
        assert_eq!(one.bytes(255, 1), ids[1]);
    }
}
