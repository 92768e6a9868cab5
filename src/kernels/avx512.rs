//! Unpacking chunks, and running sums, by vectors of 512 bits. A row of a chunk is two of them.

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

/// Bytes of a vector.
pub(super) const BYTES: usize = 64;
/// Bytes of a row, whatever its words.
const ROW: usize = 2 * BYTES;

/// Defines the unpacking of a chunk. Words of a row are loaded once, and serve all rows of values
/// that have bits in them.
macro_rules! unpack {
    ($name:ident, $word:ty, $set1:ident, $shrdv:ident, $add:ident) => {
        /// Unpacks a chunk and adds `reference` to its values.
        ///
        /// # Safety
        /// `width` is 1 to the bits of a word, `packed` is valid for reads of a chunk of so many
        /// bits per value, and `dst` for writes of a chunk of words; they need no alignment.
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
        pub(super) unsafe fn $name(packed: *const u8, width: u32, reference: $word, dst: *mut u8) {
            const BITS: usize = 8 * <$word as Word>::BYTES;
            let splat = |value: $word| $set1(value.cast_signed());
            let mask = splat(<$word>::MAX >> (<$word>::BITS - width));
            let reference = splat(reference);
            let step = splat(<$word as Word>::truncate(u64::from(width)));
            let width = width as usize;
            let load = |row: usize| {
                // Of the last row, nothing is needed of a next one.
                let row = row.min(width - 1);
                // SAFETY: there are `width` rows, each of two vectors.
                let place = unsafe { packed.add(row * ROW) };
                // SAFETY: as above.
                unsafe {
                    [
                        _mm512_loadu_si512(place.cast()),
                        _mm512_loadu_si512(place.add(BYTES).cast()),
                    ]
                }
            };
            let (mut low, mut high, mut next) = (load(0), load(1), 2);
            // The bits of a word that are before the value: a shift takes them modulo its bits.
            let (mut bit, mut shift) = (0, _mm512_setzero_si512());
            for row in 0..BITS {
                let start = row_start(row) * <$word as Word>::BYTES;
                for half in 0..2 {
                    let bits = $shrdv(low[half], high[half], shift);
                    let values = $add(_mm512_and_si512(bits, mask), reference);
                    // SAFETY: a chunk of words is `BITS` rows.
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

/// Sums that run over 16 values per vector. Within four neighbours they go from the last to the first,
/// which costs no shift across the vector; [`Sums32::next`] takes them away from the sums up to the
/// end of the four, of which there are four equal ones.
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

    /// The sums before each of the next values.
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

    /// The sum of all values.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn total(&self) -> u32 {
        let mut sums = [0; BYTES / 4];
        // SAFETY: it has the size of a vector.
        unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), self.sums) };
        sums[sums.len() - 1]
    }
}

/// As [`Sums32`], of 8 values per vector, by windows of values that end with each.
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

    /// The sums before each of the next values.
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

    /// The sum of all values.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn total(&self) -> u64 {
        let mut sums = [0; BYTES / 8];
        // SAFETY: it has the size of a vector.
        unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), self.sums) };
        sums[sums.len() - 1]
    }
}

/// The words from a bit of `low` on, whose upper bits are those of `high`.
#[inline]
#[target_feature(enable = "avx512f")]
fn funnel32(low: __m512i, high: __m512i, bit: __m512i) -> __m512i {
    let down = _mm512_and_si512(bit, _mm512_set1_epi32(31));
    // A shift by all bits gives zeros.
    let up = _mm512_sub_epi32(_mm512_set1_epi32(32), down);
    _mm512_or_si512(_mm512_srlv_epi32(low, down), _mm512_sllv_epi32(high, up))
}

/// As [`funnel32`].
#[inline]
#[target_feature(enable = "avx512f")]
fn funnel64(low: __m512i, high: __m512i, bit: __m512i) -> __m512i {
    let down = _mm512_and_si512(bit, _mm512_set1_epi64(63));
    let up = _mm512_sub_epi64(_mm512_set1_epi64(64), down);
    _mm512_or_si512(_mm512_srlv_epi64(low, down), _mm512_sllv_epi64(high, up))
}

/// Defines what sums up vectors of a word in memory.
macro_rules! sum {
    ($name:ident, $sums:ident, $add:ident) => {
        /// Running sums of whole vectors, in place.
        ///
        /// # Safety
        /// `at` is valid for reads and writes of `count` vectors; it needs no alignment.
        #[target_feature(enable = "avx512f")]
        pub(super) unsafe fn $name(at: *mut u8, count: usize) {
            let mut sums = $sums::new(0);
            for i in 0..count {
                // SAFETY: `i` is below `count`.
                let place = unsafe { at.add(i * BYTES) };
                // SAFETY: `place` begins one of the vectors.
                let values = unsafe { _mm512_loadu_si512(place.cast()) };
                let before = sums.next(values);
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(place.cast(), $add(before, values)) };
            }
        }
    };
}

sum!(sum32, Sums32, _mm512_add_epi32);
sum!(sum64, Sums64, _mm512_add_epi64);

/// The row whose values are the next after those of `ordinal` others.
#[inline(always)]
fn row_in_order<W: Word>(ordinal: usize) -> usize {
    // As many groups of 8 rows as a word has bytes make 128 values.
    let (block, place) = (ordinal / W::BYTES, ordinal % W::BYTES);
    // `ORDER` is its own inverse.
    8 * ORDER[place * (8 / W::BYTES)] + block
}

/// Defines what sums up values while they are unpacked, in the order in which they stand, not in that
/// of the rows.
macro_rules! unpack_sums {
    ($name:ident, $features:literal, $word:ty, $sums:ident, $set1:ident, $funnel:ident, $add:ident) => {
        /// Unpacks a chunk, writes the sums up to its values, not included, that begin with `sum`,
        /// and gives that of all.
        ///
        /// # Safety
        /// `width` is 1 to the bits of a word, `packed` is valid for reads of a chunk of so many
        /// bits per value, and `dst` for writes of a chunk of words; they need no alignment.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(
            packed: *const u8,
            width: u32,
            reference: $word,
            sum: $word,
            dst: *mut u8,
        ) -> $word {
            const BITS: usize = 8 * <$word as Word>::BYTES;
            // Rows of 128 values that follow one another.
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
                    // Of the last row, nothing is needed of a next one.
                    let next = (word + 1).min(width - 1);
                    let bit = splat(<$word as Word>::truncate(bit as u64));
                    for half in [0, BYTES] {
                        // SAFETY: there are `width` rows, and both ordinals are below that.
                        let (low, high) = unsafe {
                            (packed.add(word * ROW + half), packed.add(next * ROW + half))
                        };
                        // SAFETY: each begins a vector of a row.
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
