//! Spec: Chapter 7, the exceptions of ALP and ALPRD: positions that are stored apart.

use crate::error::{Error, Result};
use std::ops::Range;

/// Calls `f(place, exception)` for each exception that lies in the ranges, with its place among
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
