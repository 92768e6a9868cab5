//! Selections of rows by number.

use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, to_usize};
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use std::ops::{Range, RangeInclusive};

/// A set of row numbers, made of ranges, a bitmap or a list, for
/// [`ScanBuilder::with_row_selection`](crate::read::ScanBuilder::with_row_selection). Sets have unions and
/// intersections. Rows are numbered from 0 through the whole shard, deleted ones included, unlike in `parquet`'s type
/// of the same name, which counts rows to skip and to select. A scan with a row beyond the last fails with
/// [`RowOutOfRange`](ErrorKind::RowOutOfRange).
///
/// ```
/// use arrow_shard::read::RowSelection;
/// let selection = RowSelection::from(vec![5..8, 0..2, 6..9]);
/// assert_eq!(selection.ranges(), [0..2, 5..9]);
/// assert_eq!(selection.intersection(&(1..6).into()).ranges(), [1..2, 5..6]);
/// assert_eq!(selection.len(), 6);
///
/// let rows: Vec<u64> = vec![7, 3, 4, 7];
/// assert_eq!(RowSelection::from(&rows).ranges(), [3..5, 7..8]);
/// assert_eq!(RowSelection::from(3..=4).union(&[7].into()), rows.into());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowSelection(Selection);

impl RowSelection {
    /// Returns the rows as ascending ranges that are not empty and do not touch each other.
    pub fn ranges(&self) -> &[Range<u64>] {
        self.0.ranges()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the rows that are in either selection.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let ranges = self.ranges().iter().chain(other.ranges());
        ranges.cloned().collect::<Vec<_>>().into()
    }

    /// Returns the rows that are in both selections.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0))
    }

    /// Returns the rows that lie in a range. This takes a binary search and the time for the result.
    #[must_use]
    pub(crate) fn within(&self, rows: &Range<u64>) -> Self {
        Self(self.0.within(rows))
    }

    /// Returns the rows that are also in the selection so far, if there is one.
    #[must_use]
    pub(crate) fn narrowing(self, selection: Option<Self>) -> Self {
        match selection {
            Some(selection) => selection.intersection(&self),
            None => self,
        }
    }

    /// Returns a bitmap of the first `rows` rows, with a set bit for each selected row.
    ///
    /// # Errors
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if there is not enough memory.
    pub fn to_bitmap(&self, rows: u64) -> Result<BooleanBuffer> {
        let mut bytes: Vec<u8> = Vec::new();
        bytes
            .try_reserve_exact(to_usize(rows.div_ceil(8))?)
            .map_err(|e| {
                let message = format!("no memory for a bitmap of {rows} rows");
                Error::new(ErrorKind::LimitExceeded, message).caused_by(e)
            })?;
        let mut bits = BooleanBufferBuilder::new_from_buffer(bytes.into(), 0);
        for range in self.0.within(&(0..rows)).ranges() {
            bits.append_n(to_usize(range.start)? - bits.len(), false);
            bits.append_n(to_usize(range.end - range.start)?, true);
        }
        bits.append_n(to_usize(rows)? - bits.len(), false);
        Ok(bits.finish())
    }

    pub(in crate::read) fn into_inner(self) -> Selection {
        self.0
    }
}

/// Fails with [`RowOutOfRange`](ErrorKind::RowOutOfRange) unless the rows are a range of the `total` rows of a shard or
/// file; `of` is the noun for it.
pub(crate) fn check_rows(rows: &Range<u64>, total: u64, of: &str) -> Result<()> {
    if rows.start > rows.end || rows.end > total {
        return Err(Error::new(
            ErrorKind::RowOutOfRange,
            format!(
                "rows {}..{} of a {of} of {total} rows",
                rows.start, rows.end
            ),
        ));
    }
    Ok(())
}

impl From<Selection> for RowSelection {
    fn from(selection: Selection) -> Self {
        Self(selection)
    }
}

impl From<Vec<Range<u64>>> for RowSelection {
    /// Selects ranges in any order; they may overlap.
    fn from(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut selection = Selection::default();
        for range in ranges {
            let start = range.start.max(selection.end());
            selection.push(start..range.end.max(start));
        }
        Self(selection)
    }
}

impl From<Range<u64>> for RowSelection {
    fn from(range: Range<u64>) -> Self {
        vec![range].into()
    }
}

impl From<RangeInclusive<u64>> for RowSelection {
    fn from(range: RangeInclusive<u64>) -> Self {
        if range.is_empty() {
            Self::default()
        } else {
            (*range.start()..range.end().saturating_add(1)).into()
        }
    }
}

impl From<&[u64]> for RowSelection {
    /// Selects row numbers in any order; they may be repeated.
    fn from(rows: &[u64]) -> Self {
        rows.iter().copied().collect()
    }
}

impl<const N: usize> From<[u64; N]> for RowSelection {
    /// Selects row numbers in any order; they may be repeated.
    fn from(rows: [u64; N]) -> Self {
        rows.as_slice().into()
    }
}

impl From<&Vec<u64>> for RowSelection {
    /// Selects row numbers in any order; they may be repeated.
    fn from(rows: &Vec<u64>) -> Self {
        rows.as_slice().into()
    }
}

impl From<Vec<u64>> for RowSelection {
    /// Selects row numbers in any order; they may be repeated.
    fn from(rows: Vec<u64>) -> Self {
        rows.as_slice().into()
    }
}

impl From<&BooleanBuffer> for RowSelection {
    /// Selects the rows with a set bit.
    fn from(bits: &BooleanBuffer) -> Self {
        let slices = bits.set_slices();
        Self(slices.map(|(from, to)| from as u64..to as u64).collect())
    }
}

impl From<BooleanBuffer> for RowSelection {
    fn from(bits: BooleanBuffer) -> Self {
        Self::from(&bits)
    }
}

impl From<&BooleanArray> for RowSelection {
    /// Selects the rows with the value true.
    fn from(values: &BooleanArray) -> Self {
        match values.nulls() {
            Some(nulls) => (values.values() & nulls.inner()).into(),
            None => values.values().into(),
        }
    }
}

impl FromIterator<u64> for RowSelection {
    /// Selects row numbers in any order. `u64::MAX` is treated as `u64::MAX - 1`: no shard has either row.
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        let ranges = rows.into_iter().map(|row| row.min(u64::MAX - 1));
        let ranges = ranges.map(|row| row..row + 1);
        ranges.collect::<Vec<_>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_bitmaps_say_the_same() {
        for (a, b) in (0u32..64).flat_map(|a| (0u32..64).map(move |b| (a, b))) {
            let bits = |bits: u32| BooleanBuffer::collect_bool(6, |i| bits & 1 << i != 0);
            let (x, y) = (RowSelection::from(bits(a)), RowSelection::from(bits(b)));
            assert_eq!(x.len(), u64::from(a.count_ones()));
            assert_eq!(x.to_bitmap(6).unwrap(), bits(a));
            assert_eq!(x.union(&y), bits(a | b).into(), "{a:b} {b:b}");
            assert_eq!(x.intersection(&y), bits(a & b).into(), "{a:b} {b:b}");
            assert_eq!(x.clone().narrowing(Some(y.clone())), x.intersection(&y));
            assert_eq!(x.clone().narrowing(None), x);
            let numbers = (0..6).rev().filter(|i| a & 1 << i != 0);
            assert_eq!(numbers.clone().collect::<RowSelection>(), x);
            let numbers: Vec<u64> = numbers.collect();
            assert_eq!(RowSelection::from(&numbers), x);
            assert_eq!(RowSelection::from(&*numbers), x);
            assert_eq!(RowSelection::from(numbers), x);
        }
        let array = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
        assert_eq!(RowSelection::from(&array).ranges(), [0..1, 3..4]);
    }

    #[test]
    fn a_part_is_the_intersection_with_its_range() {
        for a in 0u32..64 {
            let x = RowSelection::from(BooleanBuffer::collect_bool(6, |i| a & 1 << i != 0));
            for rows in (0..8).flat_map(|start| (start..8).map(move |end| start..end)) {
                let part = x.intersection(&rows.clone().into());
                assert_eq!(x.within(&rows), part, "{a:b} {rows:?}");
            }
        }
    }

    #[test]
    fn rows_beyond_the_last_one_are_out_of_range() {
        for rows in [0..0, 3..9, 9..9] {
            check_rows(&rows, 9, "file").unwrap();
        }
        for (start, end, message) in [
            (3, 10, "rows 3..10 of a file of 9 rows"),
            (5, 4, "rows 5..4 of a file of 9 rows"),
        ] {
            let error = check_rows(&(start..end), 9, "file").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::RowOutOfRange);
            assert_eq!(error.message(), message);
        }
    }

    #[test]
    fn no_row_number_is_dropped() {
        let last = RowSelection::from_iter([u64::MAX, 3]);
        assert_eq!((last.len(), last.ranges().len()), (2, 2));
        let one = RowSelection::from(5..=5);
        assert_eq!((one.ranges().len(), &one.ranges()[0]), (1, &(5..6)));
        let nothing = RangeInclusive::new(5, 4);
        assert!(RowSelection::from(nothing).is_empty());
        assert_eq!(RowSelection::from(u64::MAX - 1..=u64::MAX).len(), 1);
    }
}
