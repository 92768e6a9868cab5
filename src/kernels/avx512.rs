//! Unpacks chunks and computes running sums with vectors of 512 bits. A row of a chunk is two vectors.

use super::Word;
use super::chunk::{CHUNK, ORDER, row_start};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi16, _mm512_add_epi32, _mm512_add_epi64, _mm512_alignr_epi64,
    _mm512_and_si512, _mm512_loadu_si512, _mm512_maskz_shuffle_epi32, _mm512_or_si512,
    _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_shrdv_epi16, _mm512_shrdv_epi32, _mm512_shrdv_epi64, _mm512_shuffle_epi32,
    _mm512_sllv_epi32, _mm512_sllv_epi64, _mm512_srli_epi64, _mm512_srlv_epi32, _mm512_srlv_epi64,
    _mm512_storeu_si512, _mm512_sub_epi32, _mm512_sub_epi64,
};

/// Bytes in a vector.
pub(super) const BYTES: usize = 64;
/// Bytes in a row, for every type of word.
const ROW: usize = 2 * BYTES;

/// Defines a function that unpacks a chunk. It loads each row of packed words once, and uses it for all
/// rows of values that have bits in it.
macro_rules! unpack {
    ($name:ident, $word:ty, $set1:ident, $shrdv:ident, $add:ident) => {
        /// Unpacks a chunk and adds `reference` to its values.
        ///
        /// # Safety
        /// `width` is 1 to the number of bits of a word, `packed` is valid for reads of a chunk of values of
        /// `width` bits, and `dst` is valid for writes of a chunk of words. Neither needs alignment.
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
        pub(super) unsafe fn $name(packed: *const u8, width: u32, reference: $word, dst: *mut u8) {
            const BITS: usize = 8 * <$word as Word>::BYTES;
            let splat = |value: $word| $set1(value.cast_signed());
            let mask = splat(<$word>::MAX >> (<$word>::BITS - width));
            let reference = splat(reference);
            let step = splat(<$word as Word>::truncate(u64::from(width)));
            let width = width as usize;
            let load = |row: usize| {
                // The last row has no next one, and needs none.
                let row = row.min(width - 1);
                // SAFETY: there are `width` rows of two vectors each.
                let place = unsafe { packed.add(row * ROW) };
                // SAFETY: `place` begins a row of two vectors.
                unsafe {
                    [
                        _mm512_loadu_si512(place.cast()),
                        _mm512_loadu_si512(place.add(BYTES).cast()),
                    ]
                }
            };
            let (mut low, mut high, mut next) = (load(0), load(1), 2);
            // Bits of the words before the value. The shift uses it modulo the bits of a word.
            let (mut bit, mut shift) = (0, _mm512_setzero_si512());
            for row in 0..BITS {
                let start = row_start(row) * <$word as Word>::BYTES;
                for half in 0..2 {
                    let bits = $shrdv(low[half], high[half], shift);
                    let values = $add(_mm512_and_si512(bits, mask), reference);
                    // SAFETY: a chunk has `BITS` rows.
                    let place = unsafe { dst.add(start + half * BYTES) };
                    // SAFETY: `place` begins a vector of a row.
                    unsafe { _mm512_storeu_si512(place.cast(), values) };
                }
                bit += width;
                shift = $add(shift, step);
                if bit >= BITS {
                    bit -= BITS;
                    (low, high, next) = (high, load(next), next + 1);
                }
            }
            const { assert!(BITS * ROW == CHUNK * <$word as Word>::BYTES) };
        }
    };
}

unpack!(
    unpack16,
    u16,
    _mm512_set1_epi16,
    _mm512_shrdv_epi16,
    _mm512_add_epi16
);
unpack!(
    unpack32,
    u32,
    _mm512_set1_epi32,
    _mm512_shrdv_epi32,
    _mm512_add_epi32
);
unpack!(
    unpack64,
    u64,
    _mm512_set1_epi64,
    _mm512_shrdv_epi64,
    _mm512_add_epi64
);

/// Running sums over 16 values per vector. Within groups of four values, sums run from the last to the
/// first, because that takes no shift across the vector. [`Sums32::next`] subtracts them from the sum
/// up to the end of the group, which is the same for all four.
struct Sums32 {
    fours: __m512i,
    eights: __m512i,
    sums: __m512i,
}

impl Sums32 {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(sum: u32) -> Self {
        let zero = _mm512_setzero_si512();
        Self {
            fours: zero,
            eights: zero,
            sums: _mm512_set1_epi32(sum.cast_signed()),
        }
    }

    /// Returns for each of the next values the sum of the values before it.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn next(&mut self, values: __m512i) -> __m512i {
        let ends = _mm512_add_epi32(values, _mm512_srli_epi64::<32>(values));
        let third = _mm512_maskz_shuffle_epi32::<0b10_10_10_10>(0b0011_0011_0011_0011, ends);
        let ends = _mm512_add_epi32(ends, third);
        let fours = _mm512_shuffle_epi32::<0>(ends);
        let eights = _mm512_add_epi32(fours, _mm512_alignr_epi64::<6>(fours, self.fours));
        let all = _mm512_add_epi32(eights, _mm512_alignr_epi64::<4>(eights, self.eights));
        *self = Self {
            fours,
            eights,
            sums: _mm512_add_epi32(self.sums, all),
        };
        _mm512_sub_epi32(self.sums, ends)
    }

    /// Returns the sum of all values.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn total(&self) -> u32 {
        let mut sums = [0; BYTES / 4];
        // SAFETY: `sums` has the size of a vector.
        unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), self.sums) };
        sums[sums.len() - 1]
    }
}

/// Running sums over 8 values per vector, by windows of 2, 4 and 8 values that end at each value.
struct Sums64 {
    values: __m512i,
    pairs: __m512i,
    fours: __m512i,
    sums: __m512i,
}

impl Sums64 {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(sum: u64) -> Self {
        let zero = _mm512_setzero_si512();
        Self {
            values: zero,
            pairs: zero,
            fours: zero,
            sums: _mm512_set1_epi64(sum.cast_signed()),
        }
    }

    /// Returns for each of the next values the sum of the values before it.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn next(&mut self, values: __m512i) -> __m512i {
        let pairs = _mm512_add_epi64(values, _mm512_alignr_epi64::<7>(values, self.values));
        let fours = _mm512_add_epi64(pairs, _mm512_alignr_epi64::<6>(pairs, self.pairs));
        let all = _mm512_add_epi64(fours, _mm512_alignr_epi64::<4>(fours, self.fours));
        *self = Self {
            values,
            pairs,
            fours,
            sums: _mm512_add_epi64(self.sums, all),
        };
        _mm512_sub_epi64(self.sums, values)
    }

    /// Returns the sum of all values.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn total(&self) -> u64 {
        let mut sums = [0; BYTES / 8];
        // SAFETY: `sums` has the size of a vector.
        unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), self.sums) };
        sums[sums.len() - 1]
    }
}

/// Shifts 32-bit words of `low` down by `bit`, modulo 32, and fills the upper bits from `high`.
#[inline]
#[target_feature(enable = "avx512f")]
fn funnel32(low: __m512i, high: __m512i, bit: __m512i) -> __m512i {
    let down = _mm512_and_si512(bit, _mm512_set1_epi32(31));
    // A shift by all bits results in zeros.
    let up = _mm512_sub_epi32(_mm512_set1_epi32(32), down);
    _mm512_or_si512(_mm512_srlv_epi32(low, down), _mm512_sllv_epi32(high, up))
}

/// Shifts 64-bit words of `low` down by `bit`, modulo 64, and fills the upper bits from `high`.
#[inline]
#[target_feature(enable = "avx512f")]
fn funnel64(low: __m512i, high: __m512i, bit: __m512i) -> __m512i {
    let down = _mm512_and_si512(bit, _mm512_set1_epi64(63));
    let up = _mm512_sub_epi64(_mm512_set1_epi64(64), down);
    _mm512_or_si512(_mm512_srlv_epi64(low, down), _mm512_sllv_epi64(high, up))
}

/// Defines a function that computes running sums of words in memory.
macro_rules! sum {
    ($name:ident, $sums:ident, $add:ident) => {
        /// Replaces the words of whole vectors by their running sums.
        ///
        /// # Safety
        /// `at` is valid for reads and writes of `count` vectors. It needs no alignment.
        #[target_feature(enable = "avx512f")]
        pub(super) unsafe fn $name(at: *mut u8, count: usize) {
            let mut sums = $sums::new(0);
            for i in 0..count {
                // SAFETY: `i` is below `count`.
                let place = unsafe { at.add(i * BYTES) };
                // SAFETY: `place` begins one of the vectors.
                let values = unsafe { _mm512_loadu_si512(place.cast()) };
                let before = sums.next(values);
                // SAFETY: `place` begins one of the vectors.
                unsafe { _mm512_storeu_si512(place.cast(), $add(before, values)) };
            }
        }
    };
}

sum!(sum32, Sums32, _mm512_add_epi32);
sum!(sum64, Sums64, _mm512_add_epi64);

/// Returns the row that holds the next values after the first `ordinal` rows in the order of values.
#[inline(always)]
fn row_in_order<W: Word>(ordinal: usize) -> usize {
    // 128 values are `W::BYTES` groups of 8 rows.
    let (block, place) = (ordinal / W::BYTES, ordinal % W::BYTES);
    // `ORDER` is its own inverse.
    8 * ORDER[place * (8 / W::BYTES)] + block
}

/// Defines a function that computes running sums of values while it unpacks them, in the order of values,
/// not in the order of rows.
macro_rules! unpack_sums {
    ($name:ident, $features:literal, $word:ty, $sums:ident, $set1:ident, $funnel:ident, $add:ident) => {
        /// Unpacks a chunk, and writes for each value the sum of `sum` and all values before it.
        /// Returns the sum of `sum` and all values.
        ///
        /// # Safety
        /// `width` is 1 to the number of bits of a word, `packed` is valid for reads of a chunk of values of
        /// `width` bits, and `dst` is valid for writes of a chunk of words. Neither needs alignment.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(
            packed: *const u8,
            width: u32,
            reference: $word,
            sum: $word,
            dst: *mut u8,
        ) -> $word {
            const BITS: usize = 8 * <$word as Word>::BYTES;
            // Consecutive rows of 128 values.
            const GROUP: usize = <$word as Word>::BYTES;
            let width = width as usize;
            let splat = |value: $word| $set1(value.cast_signed());
            let mask = splat(<$word>::MAX >> (BITS - width));
            let reference = splat(reference);
            let mut sums = $sums::new(sum);
            for group in 0..BITS / GROUP {
                for row in 0..GROUP {
                    let ordinal = group * GROUP + row;
                    let bit = row_in_order::<$word>(ordinal) * width;
                    let word = bit / BITS;
                    // The last row has no next one, and needs none.
                    let next = (word + 1).min(width - 1);
                    let bit = splat(<$word as Word>::truncate(bit as u64));
                    for half in [0, BYTES] {
                        // SAFETY: there are `width` rows, and both row numbers are below `width`.
                        let (low, high) = unsafe {
                            (packed.add(word * ROW + half), packed.add(next * ROW + half))
                        };
                        // SAFETY: both pointers begin a vector of a row.
                        let (low, high) = unsafe {
                            (
                                _mm512_loadu_si512(low.cast()),
                                _mm512_loadu_si512(high.cast()),
                            )
                        };
                        let bits = _mm512_and_si512($funnel(low, high, bit), mask);
                        let before = sums.next($add(bits, reference));
                        // SAFETY: a chunk has `BITS` rows.
                        let place = unsafe { dst.add(ordinal * ROW + half) };
                        // SAFETY: `place` begins a vector of a row.
                        unsafe { _mm512_storeu_si512(place.cast(), before) };
                    }
                }
            }
            const { assert!(BITS * ROW == CHUNK * <$word as Word>::BYTES) };
            sums.total()
        }
    };
}

unpack_sums!(
    unpack_sums32,
    "avx512f",
    u32,
    Sums32,
    _mm512_set1_epi32,
    funnel32,
    _mm512_add_epi32
);
unpack_sums!(
    unpack_sums64,
    "avx512f",
    u64,
    Sums64,
    _mm512_set1_epi64,
    funnel64,
    _mm512_add_epi64
);
unpack_sums!(
    unpack_sums32_vbmi2,
    "avx512f,avx512vbmi2",
    u32,
    Sums32,
    _mm512_set1_epi32,
    _mm512_shrdv_epi32,
    _mm512_add_epi32
);
unpack_sums!(
    unpack_sums64_vbmi2,
    "avx512f,avx512vbmi2",
    u64,
    Sums64,
    _mm512_set1_epi64,
    _mm512_shrdv_epi64,
    _mm512_add_epi64
);

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_are_in_order<W: Word>() {
        for ordinal in 0..8 * W::BYTES {
            let start = row_start(row_in_order::<W>(ordinal));
            assert_eq!(start, ordinal * W::LANES);
        }
    }

    #[test]
    fn rows_of_every_word_follow_one_another() {
        rows_are_in_order::<u8>();
        rows_are_in_order::<u16>();
        rows_are_in_order::<u32>();
        rows_are_in_order::<u64>();
    }
}
