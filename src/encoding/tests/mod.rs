//! Properties that all encodings share.

mod bytes;
mod examples;
#[expect(
    clippy::cast_possible_truncation,
    reason = "regions of tests are short"
)]
mod nesting;
mod number;
#[expect(
    clippy::cast_possible_truncation,
    reason = "offsets of tests are short"
)]
mod properties;
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "any bits will do for test values"
)]
mod shapes;
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "any bits will do for test values"
)]
mod table;

use super::{Context, Scratch};
use crate::Limits;
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::ops::Range;

/// Runs `f` with a context of default limits.
fn with_context<T>(f: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    f(&mut Context::new(&limits, &mut scratch))
}

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// Ascending ranges within `n`: few or many, single or long.
fn random_ranges(rng: &mut StdRng, n: usize) -> Vec<Range<usize>> {
    let longest = *[1usize, 3, 100, 3000].get(rng.random_range(0..4)).unwrap();
    let gap = *[1usize, 50, 2000].get(rng.random_range(0..3)).unwrap();
    let (mut ranges, mut at) = (Vec::new(), rng.random_range(0..=gap.min(n)));
    while at < n {
        let end = (at + rng.random_range(0..=longest)).min(n);
        ranges.push(at..end);
        at = end + rng.random_range(0..=gap);
    }
    ranges
}

/// Damages bytes: flips bits, cuts, or overwrites a stretch.
fn mutate(rng: &mut StdRng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.random_range(1..4) {
        if bytes.is_empty() {
            return;
        }
        // The first bytes are metadata, where damage has larger effects.
        let reach = if rng.random() {
            bytes.len().min(40)
        } else {
            bytes.len()
        };
        let at = rng.random_range(0..reach);
        match rng.random_range(0..4) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = rng.random(),
            2 => bytes.truncate(at),
            _ => bytes[at] = *[0, 1, 0x7f, 0xff].get(rng.random_range(0..4)).unwrap(),
        }
    }
}
