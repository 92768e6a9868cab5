//! Spec: Chapter 7, the exceptions of ALP and ALPRD: positions that are stored apart.

use super::super::fields::{expect_words, read_words};
use super::{Context, Word};
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

impl Exceptions<'_> {
    /// Writes the exceptions among the selected of `n` values to their places.
    pub(super) fn patch<W: Word>(
        self,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        expect_words::<W>(self.values, self.count)?;
        if self.count == 0 {
            return Ok(());
        }
        let values = W::chunks(self.values);
        cx.with_words(self.count, |_, positions: &mut [u32]| {
            read_words(self.positions, positions)?;
            for_selected(positions, n, ranges, |place, i| {
                if let (Some(d), Some(v)) = (dst.get_mut(place), values.get(i)) {
                    *d = W::from_le(*v);
                }
            })
        })
    }
}

/// Calls `f(place, exception)` for each exception that lies in the ranges, where `place` is its index among
/// the selected values. All positions must ascend below `n`.
pub(super) fn for_selected(
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
