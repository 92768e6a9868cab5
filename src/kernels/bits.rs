//! Bits of bitmaps, 64 at a time.

use arrow_buffer::{BooleanBuffer, Buffer};

/// Returns a bitmap as words, starting with its first bit. The last word is padded with zeros.
fn words(bits: &BooleanBuffer) -> Vec<u64> {
    let words = bits.bit_chunks();
    words
        .iter_padded()
        .take(bits.len().div_ceil(64))
        .collect::<Vec<_>>()
}

/// Returns the number of runs of set bits.
pub(crate) fn bit_runs(bits: &BooleanBuffer) -> usize {
    let (mut runs, mut before) = (0, 0);
    for word in words(bits) {
        // Set bits after one that is not set.
        runs += (word & !(word << 1 | before)).count_ones() as usize;
        before = word >> 63;
    }
    runs
}

/// Puts `bits` one after the other at the set bits of `places`. If there are too few, the rest is 0.
pub(crate) fn deposit(places: &BooleanBuffer, bits: &BooleanBuffer) -> BooleanBuffer {
    let mut masks = words(places);
    scatter_all(&mut masks, &words(bits));
    BooleanBuffer::new(Buffer::from_vec(masks), 0, places.len())
}

/// Replaces the set bits of the masks by `bits`, one after the other.
fn scatter_all(masks: &mut [u64], bits: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    {
        use super::cpu::{CpuLevel, level};

        #[target_feature(enable = "bmi2,popcnt")]
        fn bmi2(masks: &mut [u64], bits: &[u64]) {
            scatter_each(masks, bits, |bits, mask| {
                std::arch::x86_64::_pdep_u64(bits, mask)
            });
        }
        if level() >= CpuLevel::Avx2 {
            // SAFETY: `level` returns this level and higher ones only on CPUs with these features.
            return unsafe { bmi2(masks, bits) };
        }
    }
    scatter_each(masks, bits, scatter);
}

#[inline(always)]
fn scatter_each(masks: &mut [u64], bits: &[u64], scatter: impl Fn(u64, u64) -> u64) {
    let mut from = 0;
    for mask in masks {
        let (first, shift) = (from / 64, from % 64);
        let word = |i: usize| bits.get(i).copied().unwrap_or_default();
        // Two shifts, because a shift by all 64 bits overflows.
        let next = word(first) >> shift | word(first + 1) << 1 << (63 - shift);
        from += mask.count_ones() as usize;
        *mask = scatter(next, *mask).to_le();
    }
}

/// Puts the lowest bits of a word at the set bits of a mask.
fn scatter(mut bits: u64, mut mask: u64) -> u64 {
    let mut scattered = 0;
    while mask != 0 {
        let lowest = mask & mask.wrapping_neg();
        scattered |= lowest & 0u64.wrapping_sub(bits & 1);
        bits >>= 1;
        mask ^= lowest;
    }
    scattered
}

#[cfg(test)]
mod tests {
    use super::super::cpu::tests::{STEP, at_every_level};
    use super::*;

    /// Bits that look random, some of them with long runs.
    fn some(len: usize, seed: usize) -> BooleanBuffer {
        let run = 1 + seed % 70;
        let noise = |i: usize| (i / run + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        let bit = |i: usize| noise(i).is_multiple_of(3);
        BooleanBuffer::collect_bool(len + 9, bit).slice(seed % 9, len)
    }

    #[test]
    fn runs_are_those_of_the_iterator() {
        for len in (0..200).step_by(STEP) {
            for seed in (0..80).step_by(STEP) {
                let bits = some(len, seed);
                assert_eq!(bit_runs(&bits), bits.set_slices().count(), "{len} {seed}");
            }
        }
        assert_eq!(bit_runs(&BooleanBuffer::new_set(300)), 1);
    }

    #[test]
    fn bits_come_to_the_places_of_set_bits() {
        let check = || {
            for len in (0..200).step_by(STEP) {
                for seed in (0..80).step_by(STEP) {
                    let places = some(len, seed);
                    let bits = some(places.count_set_bits(), seed + 1);
                    let found = deposit(&places, &bits);
                    assert_eq!(found.len(), len);
                    let mut rest = bits.iter();
                    for i in 0..len {
                        let expected = places.value(i) && rest.next().unwrap();
                        assert_eq!(found.value(i), expected, "{len} {seed} {i}");
                    }
                }
            }
        };
        at_every_level(check);
        // There are fewer bits than set places.
        let found = deposit(&BooleanBuffer::new_set(70), &BooleanBuffer::new_set(3));
        assert_eq!(found.count_set_bits(), 3);
    }
}
