//! Spec: Chapter 7, "RunLength" and "SingleValue": numbers of block streams as runs of equal ones,
//! without decoding each of them.

use super::block_part::block_parts;
use super::read_context::ReadContext;
use super::stored_buffer::{Body, StoredBuffer};
use super::stream::{BlockCache, block_bytes};
use super::{BlockRange, Selection};
use crate::encoding::number::{self, View};
use crate::encoding::{EncodingCode, NumberKind, Word, envelope, presence};
use crate::error::{Error, Result, Within, to_usize};
use std::ops::Range;

/// Shortest average length for which handling runs is faster than handling values.
const SHORTEST: usize = 16;

/// Numbers as runs of equal values. Adjacent runs may be equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// The value of each run, little-endian.
    pub values: Vec<u8>,
    /// End of each run, counted from the first element. Ends ascend.
    pub ends: Vec<usize>,
}

impl Runs {
    fn of<W: Word>(view: View<W>, len: usize) -> Option<Self> {
        let (values, ends) = match view {
            View::Constant(value) => (vec![value], vec![len]),
            View::Runs { values, ends } => {
                (values, ends.into_iter().map(|end| end as usize).collect())
            }
            View::Codes { .. } | View::None => return None,
        };
        let mut bytes = Vec::with_capacity(values.len() * W::BYTES);
        for value in values {
            bytes.extend_from_slice(value.to_le().as_ref());
        }
        Some(Self {
            values: bytes,
            ends,
        })
    }

    /// Appends the runs of a range of elements of `other`, whose values have `width` bytes.
    fn push(&mut self, other: &Self, range: &Range<usize>, width: usize) {
        let base = self.ends.last().copied().unwrap_or(0);
        let first = other.ends.partition_point(|end| *end <= range.start);
        let last = other.ends.partition_point(|end| *end < range.end);
        let (Some(ends), Some(values)) = (
            other.ends.get(first..=last),
            other.values.get(first * width..(last + 1) * width),
        ) else {
            return;
        };
        let end = |end: &usize| base + (*end).min(range.end) - range.start;
        self.ends.extend(ends.iter().map(end));
        self.values.extend_from_slice(values);
    }
}

/// Reads elements of a buffer of numbers as runs. Returns `None` if a block does not store runs, if its runs are
/// short, or if it has nulls.
///
/// # Errors
/// Returns an error that names the block if the block is damaged.
pub fn read_runs<W: Word>(
    buffer: &StoredBuffer,
    kind: NumberKind,
    elements: Range<u64>,
    cx: &mut ReadContext<'_>,
    cache: &mut BlockCache<Runs>,
) -> Result<Option<Runs>> {
    let Body::Blocks(blocks) = &buffer.body else {
        return Ok(None);
    };
    let map = blocks.loaded_map()?;
    let mut all = Runs::default();
    let elements = Selection::range(elements);
    for part in block_parts(buffer, map, &elements, W::BYTES, cx.limits)? {
        let place = || format!("block {}", part.block.ordinal);
        let bytes = block_bytes(buffer, blocks, &part.block, cx).within(place)?;
        let block = envelope::open(&bytes).within(place)?;
        let count = number::run_count(block.values, part.len).within(place)?;
        let is_long = count.is_some_and(|count| count.saturating_mul(SHORTEST) <= part.len);
        if !is_long || !block.presence.is_empty() {
            return Ok(None);
        }
        let runs = cache.get_or_decode(part.block.ordinal, || {
            let view = number::view::<W>(block.values, kind, part.len, &mut cx.decoding())?;
            Runs::of(view, part.len).ok_or_else(|| Error::corrupt("the block has no runs"))
        });
        let runs = runs.within(place)?;
        for range in &part.ranges {
            all.push(runs, range, W::BYTES);
        }
    }
    Ok(Some(all))
}

/// Finds the blocks that hold elements of a buffer of byte strings. Returns the end of each, counted from the first
/// element; `None` if a block does not hold equal values, if it is short, or if it has nulls.
///
/// # Errors
/// Returns an error that names the block if the block is damaged.
pub fn equal_blocks(
    buffer: &StoredBuffer,
    elements: Range<u64>,
    cx: &ReadContext<'_>,
) -> Result<Option<Vec<usize>>> {
    let Body::Blocks(blocks) = &buffer.body else {
        return Ok(None);
    };
    let map = blocks.loaded_map()?;
    let elements = Selection::range(elements);
    let mut ends = Vec::new();
    let mut end = 0;
    for part in block_parts(buffer, map, &elements, 1, cx.limits)? {
        let place = || format!("block {}", part.block.ordinal);
        let bytes = block_bytes(buffer, blocks, &part.block, cx).within(place)?;
        let block = envelope::open(&bytes).within(place)?;
        let code = EncodingCode::read(block.values).within(place)?;
        if code != EncodingCode::SingleValue || !block.presence.is_empty() {
            return Ok(None);
        }
        end += part.ranges.iter().map(Range::len).sum::<usize>();
        ends.push(end);
    }
    let is_long = ends.len().saturating_mul(SHORTEST) <= end;
    Ok(is_long.then_some(ends))
}

/// Returns whether the encoding of a block is SingleValue, so that decoding one value checks all of
/// them. Checks the presence section.
///
/// # Errors
/// Returns an error that names the block if the block is damaged.
pub fn is_single_value(
    buffer: &StoredBuffer,
    block: &BlockRange,
    cx: &ReadContext<'_>,
) -> Result<bool> {
    let Body::Blocks(blocks) = &buffer.body else {
        return Ok(false);
    };
    let look = || {
        let bytes = block_bytes(buffer, blocks, block, cx)?;
        let opened = envelope::open(&bytes)?;
        if EncodingCode::read(opened.values)? != EncodingCode::SingleValue {
            return Ok(false);
        }
        let len = to_usize(block.values.end - block.values.start)?;
        presence::kind(opened.presence, len)?;
        Ok(true)
    };
    look().within(|| format!("block {}", block.ordinal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_runs_is_cut_at_both_ends() {
        let runs = Runs {
            values: vec![1, 2, 3],
            ends: vec![10, 11, 30],
        };
        let cut = |range: Range<usize>| {
            let mut cut = Runs {
                values: vec![9],
                ends: vec![100],
            };
            cut.push(&runs, &range, 1);
            (cut.values, cut.ends)
        };
        assert_eq!(cut(0..30), (vec![9, 1, 2, 3], vec![100, 110, 111, 130]));
        assert_eq!(cut(5..11), (vec![9, 1, 2], vec![100, 105, 106]));
        assert_eq!(cut(10..12), (vec![9, 2, 3], vec![100, 101, 102]));
        assert_eq!(cut(12..13), (vec![9, 3], vec![100, 101]));
    }
}
