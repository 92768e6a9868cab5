//! Spec: Chapter 6, "Encoded Buffers": the parts of blocks that a selection covers.

use super::stored_buffer::StoredBuffer;
use super::{BlockMap, BlockRange, Selection};
use crate::error::{Result, Within, to_usize};
use crate::limits::Limits;
use std::ops::Range;

/// Decoded bytes of a block that a reader always keeps: several times those of ordinary blocks, which have up to
/// 65,536 values.
const MOST_KEPT_BYTES: u64 = 8 << 20;
/// Additional decoded bytes per stored byte of a block that a reader keeps.
const MOST_KEPT_RATIO: u64 = 64;

/// The part of a block that a selection covers.
pub(super) struct BlockPart {
    pub(super) block: BlockRange,
    /// Number of values of the block.
    pub(super) len: usize,
    /// Selected values, relative to the block.
    pub(super) ranges: Vec<Range<usize>>,
}

impl BlockPart {
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.ranges.as_slice(), [r] if r.start == 0 && r.end == self.len)
    }

    /// Whether so little of the block follows, beside what is selected, that it is not worth keeping: batches
    /// mostly end with blocks, but for rows that do not match.
    pub(super) fn ends_block(&self) -> bool {
        let start = self.ranges.first().map_or(0, |range| range.start);
        let end = self.ranges.last().map_or(0, |range| range.end);
        (self.len - end).saturating_mul(64) <= end - start
    }

    pub(super) fn selected(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// Most decoded bytes of the block that are kept for later rows. A reader decodes only the requested rows of
    /// a larger block, because a few bytes may stand for any number of values.
    pub(super) fn most_kept(&self) -> u64 {
        let encoded = self.block.bytes.end - self.block.bytes.start;
        MOST_KEPT_BYTES.saturating_add(encoded.saturating_mul(MOST_KEPT_RATIO))
    }

    /// All of the block.
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

/// Splits a selection at the borders of blocks, whose values take `width` bytes each. A block says how
/// many it has, and few bytes may say much: there must be no room for them before they have been found
/// to be within the limits.
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
        // Most ranges lie in the same block as the one before.
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
