//! Spec: docs/format.md, "Range indexes": the range of every 256 positions, and whether they pay.

use crate::format;

/// [`INDEX_BLOCK`](format::INDEX_BLOCK) as a count of positions in memory.
#[expect(clippy::cast_possible_truncation, reason = "a small constant")]
const INDEX_BLOCK: usize = format::INDEX_BLOCK as usize;

/// Fewest positions for a range index. Reading fewer values takes no longer than reading an index.
const MIN_INDEXED: usize = 4096;

/// The content of a range index, one entry per block of [`INDEX_BLOCK`] positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedRanges {
    /// Total positions of all blocks.
    pub(crate) positions: u64,
    /// Bytes of a value.
    pub(crate) width: usize,
    /// Least value of each block, little-endian as stored; zeros if the block has none.
    pub(crate) minimums: Vec<u8>,
    /// Greatest value of each block, little-endian as stored; zeros if the block has none.
    pub(crate) maximums: Vec<u8>,
    /// Number of positions of each block that are null or NaN.
    pub(crate) invalid: Vec<u16>,
}

/// Collects the ranges of blocks from consecutive values, without nulls and NaNs.
#[derive(Debug, Clone)]
pub(super) struct BlockRanges<T> {
    ranges: Vec<Option<(T, T)>>,
    invalid: Vec<u16>,
    /// The range of the block that is not full yet; `len` counts its positions, `open_invalid` its nulls and NaNs.
    open: Option<(T, T)>,
    len: usize,
    open_invalid: usize,
}

impl<T> Default for BlockRanges<T> {
    fn default() -> Self {
        Self {
            ranges: Vec::new(),
            invalid: Vec::new(),
            open: None,
            len: 0,
            open_invalid: 0,
        }
    }
}

impl<T: Copy> BlockRanges<T> {
    /// Returns the number of positions that still fit into the current block.
    pub(super) fn room(&self) -> usize {
        INDEX_BLOCK - self.len
    }

    /// Adds `len` positions to the current block; `invalid` of them are null or NaN, and do not count for `range`.
    pub(super) fn add(
        &mut self,
        len: usize,
        invalid: usize,
        range: Option<(T, T)>,
        wider: impl Fn((T, T), (T, T)) -> (T, T),
    ) {
        self.open = self.open.into_iter().chain(range).reduce(wider);
        self.len += len;
        self.open_invalid += invalid;
        if self.len == INDEX_BLOCK {
            self.close();
        }
    }

    /// Returns the range of all positions.
    pub(super) fn total(&self, wider: impl Fn((T, T), (T, T)) -> (T, T)) -> Option<(T, T)> {
        let ranges = self.ranges.iter().chain([&self.open]);
        ranges.flatten().copied().reduce(wider)
    }

    fn close(&mut self) {
        self.ranges.push(self.open.take());
        let invalid = std::mem::take(&mut self.open_invalid);
        self.invalid
            .push(u16::try_from(invalid).unwrap_or(u16::MAX));
        self.len = 0;
    }

    /// Returns the index of values of `width` bytes, if it is useful: there are at least [`MIN_INDEXED`] positions,
    /// and the ranges of at least half of the blocks with values are at most half as wide as the total range. `number`
    /// converts a bound to a number, `store` appends its bytes.
    pub(super) fn finish(
        mut self,
        width: usize,
        number: impl Fn(T) -> f64,
        store: impl Fn(T, &mut Vec<u8>),
    ) -> Option<IndexedRanges> {
        let positions = self.ranges.len() * INDEX_BLOCK + self.len;
        if positions < MIN_INDEXED {
            return None;
        }
        if self.len > 0 {
            self.close();
        }
        let spans = || {
            let ranges = self.ranges.iter().flatten();
            ranges.map(|&(min, max)| (number(min), number(max)))
        };
        let (min, max) = spans().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let tight = spans()
            .filter(|(low, high)| 2.0 * (high - low) <= max - min)
            .count();
        if max <= min || 2 * tight < spans().count() {
            return None;
        }
        let mut index = IndexedRanges {
            positions: positions as u64,
            width,
            minimums: Vec::with_capacity(self.ranges.len() * width),
            maximums: Vec::with_capacity(self.ranges.len() * width),
            invalid: self.invalid,
        };
        for range in &self.ranges {
            let sides = [&mut index.minimums, &mut index.maximums];
            match *range {
                Some((min, max)) => {
                    let [low, high] = sides;
                    store(min, low);
                    store(max, high);
                }
                None => sides
                    .into_iter()
                    .for_each(|side| side.resize(side.len() + width, 0)),
            }
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_of(blocks: &[(Option<(u8, u8)>, usize)]) -> Option<IndexedRanges> {
        let mut ranges = BlockRanges::default();
        for &(range, len) in blocks {
            let invalid = if range.is_none() { len } else { 0 };
            assert!(len <= ranges.room());
            ranges.add(len, invalid, range, |a, b| (a.0.min(b.0), a.1.max(b.1)));
        }
        ranges.finish(1, f64::from, |v, out| out.push(v))
    }

    #[test]
    fn an_index_has_the_range_of_every_block() {
        let mut blocks = vec![(Some((5, 9)), 200), (Some((3, 6)), 56), (None, 256)];
        blocks.extend([(Some((40, 50)), 256); 14]);
        blocks.push((Some((70, 90)), 1));
        let index = index_of(&blocks).unwrap();
        assert_eq!(index.positions, 4097);
        let bounds = |first: u8, between: u8, last: u8| {
            let between = std::iter::repeat_n(between, 14);
            let values = [first, 0].into_iter().chain(between).chain([last]);
            values.collect::<Vec<_>>()
        };
        assert_eq!(index.minimums, bounds(3, 40, 70));
        assert_eq!(index.maximums, bounds(9, 50, 90));
        assert_eq!(index.invalid[..3], [0, 256, 0]);
        blocks.pop();
        assert!(index_of(&blocks).is_some());
        blocks.pop();
        assert_eq!(index_of(&blocks), None, "few values");
    }

    #[test]
    fn an_index_that_does_not_pay_is_not_made() {
        let both = |a, b| index_of(&[[(a, 256); 8], [(b, 256); 8]].concat());
        let whole = Some((0, 100));
        assert_eq!(both(whole, whole), None, "wide");
        assert_eq!(both(None, None), None, "no value");
        assert_eq!(both(Some((7, 7)), Some((7, 7))), None, "constant");
        assert!(both(whole, Some((0, 50))).is_some());
        assert_eq!(both(whole, Some((0, 51))), None);
    }
}
