//! Sets of rows of a stripe. Their memory does not depend on the number of rows that a stripe declares.

use crate::write::{BitPiece, WINDOW_BITS};
use roaring::RoaringTreemap;
use roaring::treemap::Iter;
use std::ops::Range;

/// A set of rows of a stripe, by number in the stripe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowSet {
    /// Number of rows of the stripe.
    rows: u64,
    /// The rows of the set, or its complement.
    listed: RoaringTreemap,
    /// Whether `listed` is the complement.
    lists_others: bool,
}

impl RowSet {
    /// Returns the empty set.
    pub(super) fn none(rows: u64) -> Self {
        Self {
            rows,
            listed: RoaringTreemap::new(),
            lists_others: false,
        }
    }

    /// Returns the set of all rows of a stripe.
    pub(super) fn all(rows: u64) -> Self {
        Self {
            lists_others: true,
            ..Self::none(rows)
        }
    }

    /// Returns the number of rows of the stripe.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of rows in the set.
    pub(super) fn len(&self) -> u64 {
        if self.lists_others {
            self.rows - self.listed.len()
        } else {
            self.listed.len()
        }
    }

    /// Adds rows of the stripe.
    pub(super) fn insert(&mut self, rows: Range<u64>) {
        if rows.start == 0 && rows.end >= self.rows {
            *self = Self::all(self.rows);
            return;
        }
        if self.lists_others {
            self.listed.remove_range(rows);
        } else if rows.end - rows.start == 1 {
            self.listed.insert(rows.start);
        } else {
            self.listed.insert_range(rows);
        }
    }

    /// Adds the rows of another set of the same stripe.
    pub(super) fn add(&mut self, other: &Self) {
        match (self.lists_others, other.lists_others) {
            (false, false) => self.listed |= &other.listed,
            (true, true) => self.listed &= &other.listed,
            (true, false) => self.listed -= &other.listed,
            (false, true) => {
                self.listed = &other.listed - &self.listed;
                self.lists_others = true;
            }
        }
    }

    /// Removes the rows of another set of the same stripe.
    pub(super) fn remove(&mut self, other: &Self) {
        match (self.lists_others, other.lists_others) {
            (false, false) => self.listed -= &other.listed,
            (false, true) => self.listed &= &other.listed,
            (true, false) => self.listed |= &other.listed,
            (true, true) => {
                self.listed = &other.listed - &self.listed;
                self.lists_others = false;
            }
        }
    }

    /// Returns one bit for each row of the stripe: 1 if the set has the row.
    pub(super) fn bits(&self) -> impl Iterator<Item = BitPiece> + '_ {
        Bits {
            set: self,
            start: 0,
            next: self.listed.min(),
            iter: self.listed.iter(),
        }
    }
}

/// An iterator over the bits of a set.
struct Bits<'a> {
    set: &'a RowSet,
    /// The first row of the next window.
    start: u64,
    /// The first listed row at or after `start`.
    next: Option<u64>,
    /// The listed rows, in order.
    iter: Iter<'a>,
}

impl Iterator for Bits<'_> {
    type Item = BitPiece;

    fn next(&mut self) -> Option<BitPiece> {
        let RowSet {
            rows,
            listed,
            lists_others,
        } = self.set;
        let start = self.start;
        if start >= *rows {
            return None;
        }
        let next = self
            .next
            .map_or(*rows, |row| row / WINDOW_BITS * WINDOW_BITS);
        if next > start {
            self.start = next;
            return Some(BitPiece::Alike(*lists_others, next - start));
        }
        let end = start.saturating_add(WINDOW_BITS).min(*rows);
        self.start = end;
        if listed.range_cardinality(start..end) == end - start {
            self.iter.advance_to(end);
            self.next = self.iter.next();
            return Some(BitPiece::Alike(!lists_others, end - start));
        }
        let place = |row: u64| usize::try_from((row - start) / 8).unwrap_or(usize::MAX);
        let mut bytes = vec![if *lists_others { u8::MAX } else { 0 }; place(end - 1) + 1];
        if end % 8 > 0
            && let Some(last) = bytes.last_mut()
        {
            *last &= !(u8::MAX << (end % 8));
        }
        while let Some(row) = self.next.filter(|row| *row < end) {
            if let Some(byte) = bytes.get_mut(place(row)) {
                *byte ^= 1 << (row % 8);
            }
            self.next = self.iter.by_ref().find(|next| *next > row);
        }
        Some(BitPiece::Window(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the rows of a set, read from its bits.
    fn rows(set: &RowSet) -> Vec<bool> {
        let mut rows = Vec::new();
        for piece in set.bits() {
            assert!(
                rows.len().is_multiple_of(65_536),
                "windows begin at windows"
            );
            match piece {
                BitPiece::Alike(bit, count) => {
                    rows.extend(std::iter::repeat_n(bit, usize::try_from(count).unwrap()));
                }
                BitPiece::Window(bytes) => {
                    let bits = bytes
                        .iter()
                        .flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1));
                    rows.extend(bits);
                }
            }
        }
        let len = usize::try_from(set.rows).unwrap();
        assert!(rows.iter().skip(len).all(|bit| !bit), "spare bits are 0");
        rows.truncate(len);
        rows
    }

    proptest! {
        #[test]
        fn sets_are_those_of_single_rows(
            len in 1..200_000u64,
            steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0..200_000u64, 0..150_000u64), 1..8),
        ) {
            let mut set = RowSet::none(len);
            let mut expected = vec![false; usize::try_from(len).unwrap()];
            for (adds, inverts, from, count) in steps {
                let from = from % len;
                let range = from..(from + count).min(len).max(from + 1);
                let mut other = RowSet::none(len);
                other.insert(range.clone());
                if inverts {
                    let mut all = RowSet::all(len);
                    all.remove(&other);
                    other = all;
                }
                match adds {
                    true => set.add(&other),
                    false => set.remove(&other),
                }
                for (row, bit) in (0..).zip(&mut expected) {
                    if range.contains(&row) != inverts {
                        *bit = adds;
                    }
                }
            }
            let count = expected.iter().filter(|bit| **bit).count() as u64;
            prop_assert_eq!(set.len(), count);
            prop_assert!(rows(&set) == expected);
        }
    }

    #[test]
    fn rows_that_nobody_names_cost_nothing() {
        let rows = 1 << 62;
        let mut set = RowSet::all(rows);
        let mut some = RowSet::none(rows);
        some.insert(5..6);
        some.insert(rows - 1..rows);
        set.remove(&some);
        assert_eq!(set.len(), rows - 2);
        assert_eq!(set.bits().count(), 3);
        set.add(&some);
        assert_eq!(set.len(), rows);
        let all = set.bits().collect::<Vec<_>>();
        assert_eq!(all, [BitPiece::Alike(true, rows)]);
    }
}
