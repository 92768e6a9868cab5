//! Spec: docs/format.md, "Raw buffers": elements out of raw buffers.

use super::Selection;
use super::raw_part::{RawPart, raw_bytes, raw_stretches};
use super::read_context::{ReadContext, in_file};
use super::stored_buffer::{StoredBuffer, StoredRange};
use crate::encoding::Word;
use crate::error::{Result, to_usize};
use crate::kernels::{Growing, prefetch};
use arrow_buffer::Buffer;
use bytes::Bytes;
use std::ops::Range;

/// Returns the bytes of elements of a raw buffer, after verifying their checksums.
pub(super) fn raw_slice(
    buffer: &StoredBuffer,
    elements: &Range<u64>,
    width: usize,
    cx: &ReadContext<'_>,
) -> Result<Bytes> {
    let part = RawPart::new(buffer, elements, width, cx.verify)?;
    let bytes = cx.source.bytes(place(buffer, &part.covered)?)?;
    let wanted = part.verify(&bytes);
    Ok(bytes.slice(wanted.map_err(|e| in_file(e, buffer, cx))?))
}

/// Returns elements of a raw buffer, without a copy if they are one range. An element has `width` bytes, one or more
/// words of the type `W`.
pub(super) fn read_raw<W: Word>(
    buffer: &StoredBuffer,
    elements: &Selection,
    width: usize,
    cx: &ReadContext<'_>,
) -> Result<Buffer> {
    if let Some(range) = elements.as_range() {
        return Ok(Buffer::from(raw_slice(buffer, &range, width, cx)?));
    }
    cx.check_batch_bytes(elements.len(), width)?;
    let words = to_usize(elements.len())?.saturating_mul(width) / W::BYTES;
    let mut copier = Copier {
        buffer,
        width,
        cx,
        verified: 0,
        out: Growing::<W>::with_capacity(words),
    };
    if let Some(whole) = cx.source.resident(buffer.place)? {
        copier.append_ahead(&whole, elements.ranges())?;
    } else {
        for stretch in raw_stretches(buffer, elements, width, cx.verify)? {
            let bytes = cx.source.bytes(place(buffer, &stretch.covered)?)?;
            copier.append(&bytes, stretch.covered.start, stretch.elements)?;
        }
    }
    Ok(copier.out.into())
}

fn place(buffer: &StoredBuffer, bytes: &Range<u64>) -> Result<StoredRange> {
    Ok(StoredRange {
        artifact: buffer.place.artifact,
        range: buffer.place.range.slice(bytes.start, bytes.end)?,
    })
}

/// Number of scattered ranges that are prefetched from memory.
const AHEAD: usize = 16;

/// Verifies and copies elements of a raw buffer.
struct Copier<'a, W> {
    buffer: &'a StoredBuffer,
    /// Bytes of an element.
    width: usize,
    cx: &'a ReadContext<'a>,
    /// Position in the buffer up to which bytes that were verified together end.
    verified: u64,
    out: Growing<W>,
}

impl<W: Word> Copier<'_, W> {
    /// Appends elements of the buffer with all of these bytes, and prefetches the ranges that follow.
    fn append_ahead(&mut self, whole: &[u8], elements: &[Range<u64>]) -> Result<()> {
        let width = self.width;
        let fetch = |ranges: Option<&[Range<u64>]>| {
            for range in ranges.unwrap_or_default() {
                let start = raw_bytes(range, width).and_then(|bytes| to_usize(bytes.start));
                prefetch(whole, start.unwrap_or(usize::MAX));
            }
        };
        let mut groups = elements.chunks(AHEAD);
        let mut next = groups.next();
        fetch(next);
        while let Some(group) = next {
            next = groups.next();
            fetch(next);
            self.append(whole, 0, group)?;
        }
        Ok(())
    }

    /// Appends elements that lie in these bytes, which begin at position `from` of the buffer.
    fn append(&mut self, bytes: &[u8], from: u64, elements: &[Range<u64>]) -> Result<()> {
        let Some(first) = elements.first().map(|range| range.start) else {
            return Ok(());
        };
        let mut count = 0;
        for range in elements {
            let wanted = raw_bytes(range, self.width)?;
            count += wanted.end - wanted.start;
            if wanted.end > self.verified {
                let part = RawPart::new(self.buffer, range, self.width, self.cx.verify)?;
                let covered =
                    to_usize(part.covered.start - from)?..to_usize(part.covered.end - from)?;
                let checked = part.verify(bytes.get(covered).unwrap_or_default());
                checked.map_err(|e| in_file(e, self.buffer, self.cx))?;
                self.verified = part.covered.end;
            }
        }
        // Elements are counted from the first one, because the bytes may begin in the middle of one.
        let words = self.width / W::BYTES;
        let skipped = to_usize(raw_bytes(&(first..first), self.width)?.start - from)?;
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let whole = bytes.get(..bytes.len() / W::BYTES * W::BYTES);
        let ranges = elements.iter().map(|range| {
            let words_from = |element: u64| to_usize(element - first).unwrap_or(usize::MAX) * words;
            words_from(range.start)..words_from(range.end)
        });
        self.out.append(to_usize(count)? / W::BYTES, |slots| {
            let is_whole = slots.copy_ranges_from_le(whole.unwrap_or_default(), ranges);
            let end = elements.last().map_or(0, |range| range.end);
            is_whole
                .then_some(())
                .ok_or_else(|| self.buffer.too_few(end, 0))
        })
    }
}
