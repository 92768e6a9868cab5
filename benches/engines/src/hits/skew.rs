//! Random choices with heavy tails, and hashes that depend on no seed.

use rand::Rng;
use rand::rngs::StdRng;

/// Returns a rank below `n` by Zipf's law: rank `r` is as frequent as `1 / (r + 1)`.
pub(super) fn zipf(n: usize, rng: &mut StdRng) -> usize {
    // The logarithm of such a rank is uniform.
    let rank = (n as f64 + 1.0).powf(rng.random()) as usize;
    rank.clamp(1, n) - 1
}

/// Returns a rank below `n`: rank `r` is about as frequent as `r` to the power of `1 / power - 1`. A larger `power` is
/// steeper; [`zipf`] is its limit.
pub(super) fn tail(n: usize, power: i32, rng: &mut StdRng) -> usize {
    (rng.random::<f64>().powi(power) * n as f64) as usize
}

/// Returns one of the choices, which are in the order of their frequencies.
pub(super) fn pick<T: Copy>(choices: &[T], rng: &mut StdRng) -> T {
    choices[zipf(choices.len(), rng)]
}

/// Returns 1 with this probability, otherwise 0.
pub(super) fn flag(probability: f64, rng: &mut StdRng) -> i16 {
    i16::from(rng.random_bool(probability))
}

/// Returns a number from 1 to `n` with this probability, otherwise 0.
pub(super) fn rare(probability: f64, n: usize, rng: &mut StdRng) -> i16 {
    if rng.random_bool(probability) {
        zipf(n, rng) as i16 + 1
    } else {
        0
    }
}

/// Spreads a number over all 64-bit numbers, without collisions (the finalizer of SplitMix64).
pub(super) const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let once = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

/// Returns the hash of a text for `URLHash` and `RefererHash` (FNV-1a, mixed).
pub(super) fn hash(text: &str) -> i64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fold);
    mix(hash) as i64
}
