//! A source of bytes for tests.

use super::read_context::ByteSource;
use super::stored_buffer::StoredRange;
use crate::error::Result;
use bytes::Bytes;

/// The bytes of a file named `s.stripe`.
pub(super) struct TestSource {
    pub(super) bytes: Bytes,
    /// Whether all bytes are in memory.
    pub(super) is_resident: bool,
}

impl TestSource {
    /// Returns a source whose bytes have to be fetched.
    pub(super) fn fetched(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            is_resident: false,
        }
    }
}

impl ByteSource for TestSource {
    fn bytes(&self, place: StoredRange) -> Result<Bytes> {
        Ok(self.bytes.slice(place.range.to_usize()?))
    }

    fn resident(&self, place: StoredRange) -> Result<Option<Bytes>> {
        self.is_resident.then(|| self.bytes(place)).transpose()
    }

    fn name(&self, _: u32) -> Option<String> {
        Some("file `s.stripe`".to_owned())
    }
}
