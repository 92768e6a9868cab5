//! Spec: Chapter 6, "Encoded Buffers": the parts of blocks that a selection covers.

use super::stored_buffer::StoredBuffer;
use super::{BlockMap, BlockRange, Selection};
use crate::error::{Result, Within, to_usize};
use crate::limits::Limits;
use std::ops::Range;

/// Largest decoded block that a reader always keeps, in bytes. It is several times the size of an ordinary block,
/// which has up to 65,536 values.
const MAX_KEPT_BYTES: u64 = 8 << 20;
/// Additional decoded bytes that a reader keeps per stored byte of a block.
const MAX_KEPT_RATIO: u64 = 64;

/// The part of a block that a selection covers.
pub(super) struct BlockPart {
    pub(super) block: BlockRange,
    /// Number of values in the block.
    pub(super) len: usize,
    /// Selected values, relative to the block.
    pub(super) ranges: Vec<Range<usize>>,
}

impl BlockPart {
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.ranges.as_slice(), [r] if r.start == 0 && r.end == self.len)
    }

    /// Returns whether the rest of the block after the selection is too short to be worth keeping: at most 1/64 of
    /// the selected span. Batches mostly end with blocks, apart from rows that do not match.
    pub(super) fn ends_block(&self) -> bool {
        let start = self.ranges.first().map_or(0, |range| range.start);
        let end = self.ranges.last().map_or(0, |range| range.end);
        (self.len - end).saturating_mul(64) <= end - start
    }

    pub(super) fn selected(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// Returns the most decoded bytes of the block that are kept for later rows. A reader decodes only the requested
    /// rows of a larger block, because few bytes may encode any number of values.
    pub(super) fn most_kept(&self) -> u64 {
        let encoded = self.block.bytes.end - self.block.bytes.start;
        MAX_KEPT_BYTES.saturating_add(encoded.saturating_mul(MAX_KEPT_RATIO))
    }

    /// Returns the whole block.
    pub(super) fn whole(&self) -> Self {
        #[expect(
            clippy::single_range_in_vec_init,
            reason = "the list of one range is what is meant"
        )]
        let ranges = vec![0..self.len];
        Self {
            block: self.block.clone(),
            len: self.len,
            ranges,
        }
    }
}

/// Splits a selection at block borders. Values take `width` bytes each. The block map determines the number of
/// values of a block, and few bytes may claim many values: memory is allocated only after the claim
/// was checked against the limits.
pub(super) fn block_parts(
    buffer: &StoredBuffer,
    map: &BlockMap,
    elements: &Selection,
    width: usize,
    limits: &Limits,
) -> Result<Vec<BlockPart>> {
    if elements.end() > map.value_count() {
        return Err(buffer.too_few(elements.end(), map.value_count()));
    }
    let mut parts: Vec<BlockPart> = Vec::new();
    let mut rest = elements.ranges();
    loop {
        // Most ranges lie in the same block as the previous one.
        if let Some(last) = parts.last_mut() {
            let Range { start, end } = last.block.values;
            let inside = rest.partition_point(|range| range.end <= end);
            let (now, later) = rest.split_at_checked(inside).unwrap_or_default();
            last.ranges.reserve(inside);
            for range in now {
                last.ranges
                    .push(to_usize(range.start - start)?..to_usize(range.end - start)?);
            }
            rest = later;
        }
        let Some((range, later)) = rest.split_first() else {
            return Ok(parts);
        };
        rest = later;
        for block in map.overlapping(range.clone()) {
            let start = range.start.max(block.values.start) - block.values.start;
            let end = range.end.min(block.values.end) - block.values.start;
            let local = to_usize(start)?..to_usize(end)?;
            match parts.last_mut() {
                Some(last) if last.block.ordinal == block.ordinal => last.ranges.push(local),
                _ => {
                    let len = block.values.end - block.values.start;
                    limits
                        .check_block_values(len)
                        .and_then(|()| limits.check_block_bytes(len.saturating_mul(width as u64)))
                        .within(|| format!("block {}", block.ordinal))?;
                    parts.push(BlockPart {
                        block,
                        len: to_usize(len)?,
                        ranges: vec![local],
                    });
                }
            }
        }
    }
}
