//! XXH3-64 of many numbers at once.

use super::{Word, dispatch};

/// Words 1 and 2 of the secret of XXH3, which mixes them into inputs of 4 to 8 bytes.
const FLIP: u64 = 0x1cad_21f7_2c81_017c ^ 0xdb97_9083_e96d_d4de;
const PRIME: u64 = 0x9FB2_1C65_1E98_DF25;

#[inline(always)]
fn hash_words_body<W: Word>(values: &[W], seed: u64, shift: u32, hashes: &mut [u64]) -> u64 {
    // The low half of the seed, its bytes reversed, is mixed into the high half.
    let reversed = (seed << 32).swap_bytes() << 32;
    let flip = FLIP.wrapping_sub(seed ^ reversed);
    let mut least = u64::MAX;
    for (hash, &value) in hashes.iter_mut().zip(values) {
        let word = value.to_u64();
        // The first four bytes become the high half, the last four the low half.
        let mut h = flip
            ^ match W::BYTES {
                8 => word.rotate_left(32),
                _ => word << 32 | word,
            };
        h ^= h.rotate_left(49) ^ h.rotate_left(24);
        h = h.wrapping_mul(PRIME);
        h ^= (h >> 35).wrapping_add(W::BYTES as u64);
        h = h.wrapping_mul(PRIME);
        h ^= h >> 28;
        *hash = h;
        least = least.min(h << shift);
    }
    least
}

dispatch! {
    /// Hashes the little-endian bytes of values of 4 or 8 bytes. Returns the smallest hash after
    /// a shift to the left by `shift` bits, which drops the highest bits.
    pub(crate) fn hash_words<W: Word>(values: &[W], seed: u64, shift: u32, hashes: &mut [u64]) -> u64 = hash_words_body;
}

#[cfg(test)]
mod tests {
    use super::super::cpu::tests::at_every_level;
    use super::*;
    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    fn check<W: Word>(values: &[W], seed: u64) {
        let mut hashes = vec![0; values.len()];
        let least = hash_words(values, seed, 7, &mut hashes);
        assert_eq!(
            least,
            hashes.iter().map(|h| h << 7).min().unwrap_or(u64::MAX)
        );
        for (hash, value) in hashes.iter().zip(values) {
            assert_eq!(*hash, xxh3_64_with_seed(value.to_le().as_ref(), seed));
        }
    }

    proptest! {
        #[test]
        fn hashes_are_those_of_the_library(narrow: Vec<u32>, wide: Vec<u64>, seed: u64) {
            at_every_level(|| {
                for seed in [0, seed] {
                    check(&narrow, seed);
                    check(&wide, seed);
                }
            });
        }
    }
}
