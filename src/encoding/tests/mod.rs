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

use super::bytes::{BytesBuilder, BytesLayout, Decoded, NullsOut};
use super::{Context, Scratch};
use crate::Limits;
use arrow_buffer::BooleanBufferBuilder;
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::ops::Range;

/// Runs `f` with a context of default limits.
fn with_context<T>(f: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let (limits, mut scratch) = (Limits::default(), Scratch::default());
    f(&mut Context::new(&limits, &mut scratch))
}

/// Returns the bytes of the `n` values of a region.
fn read_bytes(region: &[u8], n: usize, fixed: Option<usize>) -> crate::Result<(Vec<u8>, usize)> {
    with_context(|cx| {
        let mut bits = BooleanBufferBuilder::new(n);
        bits.append_n(n, true);
        let mut nulls = NullsOut::new(&mut bits, 0);
        let layout = fixed.map_or(BytesLayout::Offsets64, BytesLayout::Fixed);
        let mut out = BytesBuilder::new(layout, n);
        super::bytes::decode(region, n, fixed, cx, &mut out, &mut nulls)?;
        let cleared = nulls.cleared();
        Ok(match out.finish() {
            Decoded::Offsets64(_, values) | Decoded::Fixed(values) => (values.to_vec(), cleared),
            other => panic!("{other:?}"),
        })
    })
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
