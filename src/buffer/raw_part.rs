//! Spec: docs/format.md, "Raw buffers": elements of a raw buffer, and what is verified with them.

use super::checksums::Chunks;
use super::stored_buffer::{Body, StoredBuffer};
use crate::error::{Error, Result, to_usize};
use std::ops::Range;

/// A range of elements of a raw buffer.
pub(super) struct RawPart<'a> {
    /// Their range of bytes in the buffer.
    wanted: Range<u64>,
    /// The bytes that must be read to verify the elements.
    pub(super) covered: Range<u64>,
    checksums: Option<&'a Chunks>,
}

impl<'a> RawPart<'a> {
    pub(super) fn new(
        buffer: &'a StoredBuffer,
        elements: &Range<u64>,
        width: usize,
        verify: bool,
    ) -> Result<Self> {
        let Body::Raw(checksums) = &buffer.body else {
            return Err(Error::corrupt("a raw buffer was expected"));
        };
        let wanted = raw_bytes(elements, width)?;
        if wanted.end > buffer.place.range.len() {
            let found = buffer.place.range.len() / width.max(1) as u64;
            return Err(buffer.too_few(elements.end, found));
        }
        let checksums = checksums.as_ref().filter(|_| verify);
        Ok(Self {
            covered: checksums.map_or(wanted.clone(), |c| c.cover(wanted.clone())),
            wanted,
            checksums,
        })
    }

    /// Verifies the covered bytes where necessary. Returns the range of the elements among them.
    pub(super) fn verify(&self, covered: &[u8]) -> Result<Range<usize>> {
        if let Some(checksums) = self.checksums {
            checksums.verify(&self.covered, covered)?;
        }
        let from = to_usize(self.wanted.start - self.covered.start)?;
        Ok(from..from + to_usize(self.wanted.end - self.wanted.start)?)
    }
}

/// Returns the bytes of elements of `width` bytes.
pub(super) fn raw_bytes(elements: &Range<u64>, width: usize) -> Result<Range<u64>> {
    let scale = |n: u64| {
        n.checked_mul(width as u64)
            .ok_or_else(|| Error::corrupt("element positions exceed 64 bits"))
    };
    Ok(scale(elements.start)?..scale(elements.end)?)
}
