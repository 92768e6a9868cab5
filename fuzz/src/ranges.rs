//! Chooses positions to select.

use std::ops::Range;

/// Returns up to eight ascending ranges of `n` positions, chosen by the bits of `seed`.
pub fn ranges(seed: u8, n: usize) -> Vec<Range<usize>> {
    let (mut ranges, mut at) = (Vec::new(), 0);
    for bit in 0..8 {
        // The length depends only on the seed and `n`, so a case can be repeated.
        let step = n * (1 + usize::from(seed.rotate_left(bit) & 7)) / 40 + 1;
        let end = (at + step).min(n);
        if seed >> bit & 1 == 1 {
            ranges.push(at..end);
        }
        at = end;
    }
    ranges
}

/// Returns the elements of the ranges, one after the other.
pub fn pick<T: Clone>(all: &[T], ranges: &[Range<usize>]) -> Vec<T> {
    ranges
        .iter()
        .flat_map(|r| all[r.clone()].to_vec())
        .collect()
}
