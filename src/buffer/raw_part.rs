//! Spec: docs/format.md, "Raw buffers": elements of a raw buffer, and what is verified with them.

use super::Selection;
use super::checksums::{CHUNK_BYTES, Chunks};
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

/// Most bytes between two ranges that are read together with them: they take less time than another read.
const MAX_GAP: u64 = 4 << 10;

/// Stretches end at multiples of 1 MiB, so that the memory of one read stays small. Chunks of checksums end there too.
const STRETCH_BORDER: u64 = 16 * CHUNK_BYTES as u64;

/// Ranges of elements that lie close together, and are read together.
pub(super) struct RawStretch<'e> {
    pub(super) elements: &'e [Range<u64>],
    /// The bytes that must be read to verify the elements.
    pub(super) covered: Range<u64>,
}

/// Divides elements of a raw buffer into stretches. If more checksums have been verified since an earlier call, each
/// stretch lies inside one of that call, because the borders do not depend on where a stretch begins.
pub(super) fn raw_stretches<'e>(
    buffer: &StoredBuffer,
    elements: &'e Selection,
    width: usize,
    verify: bool,
) -> Result<Vec<RawStretch<'e>>> {
    let ranges = elements.ranges();
    let mut stretches = Vec::new();
    let (mut first, mut covered, mut border) = (0, 0..0, 0);
    for (i, range) in ranges.iter().enumerate() {
        let wanted = raw_bytes(range, width)?;
        let is_before_border = wanted.start < border;
        if is_before_border && wanted.end <= covered.end {
            continue;
        }
        let part = RawPart::new(buffer, range, width, verify)?.covered;
        if is_before_border && part.start <= covered.end.saturating_add(MAX_GAP) {
            // A range that lies partly in verified chunks is covered from the start of the first one.
            covered = covered.start.min(part.start)..part.end;
            continue;
        }
        if i > 0 {
            let elements = ranges.get(first..i).unwrap_or_default();
            stretches.push(RawStretch { elements, covered });
        }
        (first, covered) = (i, part);
        border = (wanted.start / STRETCH_BORDER + 1).saturating_mul(STRETCH_BORDER);
    }
    let elements = ranges.get(first..).unwrap_or_default();
    if !elements.is_empty() {
        stretches.push(RawStretch { elements, covered });
    }
    Ok(stretches)
}

/// Returns the bytes of elements of `width` bytes.
pub(super) fn raw_bytes(elements: &Range<u64>, width: usize) -> Result<Range<u64>> {
    let scale = |n: u64| {
        n.checked_mul(width as u64)
            .ok_or_else(|| Error::corrupt("element positions exceed 64 bits"))
    };
    Ok(scale(elements.start)?..scale(elements.end)?)
}
