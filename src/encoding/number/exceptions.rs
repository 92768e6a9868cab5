//! Spec: Chapter 7, the exceptions of ALP and ALPRD: positions that are stored apart.

use super::super::fields::{expect_words, read_words, split_at};
use super::{Context, Request, Word};
use crate::error::{Error, Result};
use std::ops::Range;

/// Values that are stored separately, with their positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exceptions<'a> {
    pub(super) count: usize,
    /// A u32 per exception.
    pub(super) positions: &'a [u8],
    pub(super) values: &'a [u8],
}

impl<'a> Exceptions<'a> {
    /// Splits the end of a region into the positions of `count` exceptions and their values of type `V`.
    pub(super) fn split<V: Word>(bytes: &'a [u8], count: usize) -> Result<Self> {
        let (positions, values) = split_at(bytes, 4 * count, "exception positions")?;
        expect_words::<V>(values, count)?;
        Ok(Self {
            count,
            positions,
            values,
        })
    }

    /// Calls `f(place, value)` for each exception that lies in the ranges, where `place` is its index among the
    /// selected values.
    pub(super) fn for_each<V: Word>(
        self,
        request: Request<'_>,
        cx: &mut Context<'_>,
        mut f: impl FnMut(usize, V),
    ) -> Result<()> {
        expect_words::<V>(self.values, self.count)?;
        if self.count == 0 {
            return Ok(());
        }
        let values = V::chunks(self.values);
        cx.with_words(self.count, |_, positions: &mut [u32]| {
            read_words(self.positions, positions)?;
            for_selected(positions, request.n, request.ranges, |place, i| {
                if let Some(value) = values.get(i) {
                    f(place, V::from_le(*value));
                }
            })
        })
    }

    /// Writes the exceptions among the selected values to their places.
    pub(super) fn patch<W: Word>(
        self,
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        self.for_each(request, cx, |place, value| {
            if let Some(d) = dst.get_mut(place) {
                *d = value;
            }
        })
    }
}

/// Calls `f(place, exception)` for each exception that lies in the ranges, where `place` is its index among
/// the selected values. All positions must ascend below `n`.
pub(in super::super) fn for_selected(
    positions: &[u32],
    n: usize,
    ranges: &[Range<usize>],
    mut f: impl FnMut(usize, usize),
) -> Result<()> {
    let ascends = positions.windows(2).all(|w| matches!(w, [a, b] if a < b));
    if !ascends || positions.last().is_some_and(|last| *last as usize >= n) {
        return Err(Error::corrupt(format!(
            "expected ascending positions below {n}, found {} others",
            positions.len()
        )));
    }
    let mut before = 0;
    for range in ranges {
        let first = positions.partition_point(|p| (*p as usize) < range.start);
        for (i, &position) in positions.iter().enumerate().skip(first) {
            if position as usize >= range.end {
                break;
            }
            f(before + position as usize - range.start, i);
        }
        before += range.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exceptions_in_the_ranges_are_named() {
        let mut got = Vec::new();
        for_selected(&[1, 5, 6, 9], 10, &[0..2, 4..6, 9..10], |at, i| {
            got.push((at, i))
        })
        .unwrap();
        assert_eq!(got, [(1, 0), (3, 1), (4, 3)]);
        assert!(for_selected(&[1, 1], 10, &[], |_, _| ()).is_err());
        assert!(for_selected(&[10], 10, &[], |_, _| ()).is_err());
    }
}
