//! The selected positions of a sequence.

use crate::error::{Result, to_usize};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use smallvec::SmallVec;
use std::ops::Range;

/// Ascending, disjoint, non-empty ranges of the positions of a schema node, and their total length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    ranges: SmallVec<[Range<u64>; 1]>,
    len: u64,
}

impl Selection {
    /// Selects the positions of one range.
    pub fn range(range: Range<u64>) -> Self {
        let mut selection = Self::default();
        selection.push(range);
        selection
    }

    /// Appends a range that starts at or after the end of the last one. Adjacent ranges are joined.
    pub fn push(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        self.len += range.end - range.start;
        match self.ranges.last_mut() {
            Some(last) if last.end >= range.start => {
                debug_assert!(last.end == range.start, "ranges must ascend");
                last.end = range.end;
            }
            _ => self.ranges.push(range),
        }
    }

    /// Returns the ranges.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Returns the number of positions.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether no position is selected.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the only range, if there is exactly one.
    pub fn as_range(&self) -> Option<Range<u64>> {
        match self.ranges.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    /// Returns the position after the last selected one, or 0 if none is selected.
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |r| r.end)
    }

    /// Returns the positions that lie in a range.
    #[must_use]
    pub fn within(&self, range: &Range<u64>) -> Self {
        let first = self.ranges.partition_point(|r| r.end <= range.start);
        self.ranges[first..]
            .iter()
            .take_while(|r| r.start < range.end)
            .map(|r| r.start.max(range.start)..r.end.min(range.end))
            .collect()
    }

    /// Returns the positions that are in both selections.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut a, mut b) = (
            self.ranges.iter().peekable(),
            other.ranges.iter().peekable(),
        );
        let mut both = Self::default();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let end = x.end.min(y.end);
            let start = x.start.max(y.start);
            both.push(start.min(end)..end);
            if x.end == end {
                a.next();
            } else {
                b.next();
            }
        }
        both
    }

    /// Returns the first selected position at or after `position`.
    pub fn next_from(&self, position: u64) -> Option<u64> {
        let first = self.ranges.partition_point(|r| r.end <= position);
        self.ranges.get(first).map(|r| r.start.max(position))
    }

    /// Returns the selected positions by their ordinals, from `ordinals.start` up to, but not including,
    /// `ordinals.end`.
    #[must_use]
    pub fn slice(&self, ordinals: Range<u64>) -> Self {
        let mut slice = Self::default();
        let mut before = 0;
        for r in &self.ranges {
            let len = r.end - r.start;
            let from = ordinals.start.saturating_sub(before).min(len);
            let to = ordinals.end.saturating_sub(before).min(len);
            if from < to {
                slice.push(r.start + from..r.start + to);
            }
            before += len;
        }
        slice
    }

    /// Returns the selected elements of a sequence that has `factor` elements for each position of this one.
    #[must_use]
    pub fn scale(&self, factor: u64) -> Self {
        let mut scaled = Self::default();
        for r in &self.ranges {
            scaled.push(r.start.saturating_mul(factor)..r.end.saturating_mul(factor));
        }
        scaled
    }

    /// Returns a bit for each position of a window, set if the position is selected.
    pub(crate) fn to_bits(&self, window: &Range<u64>) -> Result<BooleanBuffer> {
        let len = to_usize(window.end - window.start)?;
        let mut bits = BooleanBufferBuilder::new(len);
        for range in self.within(window).ranges() {
            bits.append_n(to_usize(range.start - window.start)? - bits.len(), false);
            bits.append_n(to_usize(range.end - range.start)?, true);
        }
        bits.append_n(len - bits.len(), false);
        Ok(bits.finish())
    }

    /// Returns the bytes of a bitmap that hold the selected bits.
    #[must_use]
    pub fn bytes_of_bits(&self) -> Self {
        let mut bytes = Self::default();
        for range in &self.ranges {
            let start = (range.start / 8).max(bytes.end());
            bytes.push(start..range.end.div_ceil(8).max(start));
        }
        bytes
    }

    /// Returns the elements of OFFSETS that hold the starts and ends of the selected positions: for each range, one
    /// more than positions.
    #[must_use]
    pub fn with_ends(&self) -> Self {
        // The gaps between ranges leave room for the ends.
        let ranges = self.ranges.iter();
        ranges.map(|range| range.start..range.end + 1).collect()
    }
}

impl FromIterator<Range<u64>> for Selection {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut selection = Self::default();
        for range in ranges {
            selection.push(range);
        }
        selection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_are_joined_and_empty_ranges_dropped() {
        let s: Selection = [0..2, 2..5, 7..7, 9..10].into_iter().collect();
        assert_eq!(s.ranges(), [0..5, 9..10]);
        assert_eq!(s.len(), 6);
        assert_eq!(s.end(), 10);
        assert_eq!(s.as_range(), None);
        assert_eq!(s.with_ends().ranges(), [0..6, 9..11]);
        let bits: Selection = [3..9, 14..15, 17..18, 40..41].into_iter().collect();
        assert_eq!(bits.bytes_of_bits().ranges(), [0..3, 5..6]);
        assert_eq!(s.scale(2).ranges(), [0..10, 18..20]);
    }

    #[test]
    fn parts_are_cut_by_position_and_by_ordinal() {
        let s: Selection = [2..5, 7..9, 20..21].into_iter().collect();
        assert_eq!(s.within(&(3..8)).ranges(), [3..5, 7..8]);
        assert!(s.within(&(9..20)).is_empty());
        let bits = BooleanBuffer::from(vec![true, true, false, false, true]);
        assert_eq!(s.to_bits(&(3..8)).unwrap(), bits);
        assert_eq!(s.next_from(0), Some(2));
        assert_eq!(s.next_from(8), Some(8));
        assert_eq!(s.next_from(9), Some(20));
        assert_eq!(s.next_from(21), None);
        assert_eq!(s.slice(1..4).ranges(), [3..5, 7..8]);
        assert_eq!(s.slice(5..u64::MAX), Selection::range(20..21));
        assert!(s.slice(6..9).is_empty());
    }
}
