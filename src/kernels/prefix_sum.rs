//! Running sums. One addition waits for the one before, so that a plain loop takes a cycle per value,
//! whatever their size. Vectors sum up windows of 2, 4, 8 and more values, each with the help of the
//! one before, until a window is as wide as a vector and the sums are those of the vector before and
//! the windows: of all that, one addition is waited for.

use super::Word;
use super::bitpack::{CHUNK, chunk_bytes, unpack};

/// Running sums modulo 2^`BITS`, in place.
pub(crate) fn prefix_sum<W: Word>(values: &mut [W]) {
    let done = vectors(values);
    let (done, rest) = values.split_at_mut(done);
    let mut sum = done.last().copied().unwrap_or(W::ZERO);
    for v in rest {
        sum = sum.plus(*v);
        *v = sum;
    }
}

/// Values of which neighbours differ by what is packed: the first is `first`, and each of the others
/// is the one before it plus the next value that [`unpack`] gives. `packed` holds the chunks of at
/// least `dst.len() - 1` differences, and `width` is 1 to `BITS`: the caller has checked both.
pub(crate) fn unpack_sums<W: Word>(
    packed: &[u8],
    width: u32,
    reference: W,
    first: W,
    dst: &mut [W],
) {
    let mut packed = packed.chunks_exact(chunk_bytes(width));
    let mut sum = first;
    let (chunks, rest) = dst.as_chunks_mut::<CHUNK>();
    for chunk in chunks {
        let Some(bytes) = packed.next() else {
            return;
        };
        sum = sums_of_chunk(bytes, width, reference, sum, chunk);
    }
    match (rest, packed.next()) {
        // A sum that needs no difference more.
        ([last], _) => *last = sum,
        (rest, Some(bytes)) if !rest.is_empty() => {
            let mut values = [W::ZERO; CHUNK];
            sums_of_chunk(bytes, width, reference, sum, &mut values);
            rest.copy_from_slice(&values[..rest.len()]);
        }
        _ => {}
    }
}

/// What stands before each value of a chunk if `sum` does before the first, and the sum of all.
fn sums_of_chunk<W: Word>(
    packed: &[u8],
    width: u32,
    reference: W,
    sum: W,
    dst: &mut [W; CHUNK],
) -> W {
    let packed = &packed[..chunk_bytes(width)];
    #[cfg(target_arch = "x86_64")]
    {
        use super::cpu::{Level, level};
        let (from, to) = (packed.as_ptr(), dst.as_mut_ptr());
        let (reference, sum) = (reference.to_u64(), sum.to_u64());
        match (level(), W::BYTES) {
            (Level::Avx512, 4) => {
                let (reference, sum) = (u32::truncate(reference), u32::truncate(sum));
                // SAFETY: the CPU has the features, `packed` has the size of a chunk of words of
                // `width` bits, and `dst` is a chunk of words of that size.
                let sum = unsafe { x86::unpack_sums32(from, width, reference, sum, to.cast()) };
                return W::truncate(u64::from(sum));
            }
            (Level::Avx512, 8) => {
                // SAFETY: as above.
                let sum = unsafe { x86::unpack_sums64(from, width, reference, sum, to.cast()) };
                return W::truncate(sum);
            }
            _ => {}
        }
    }
    let mut values = [W::ZERO; CHUNK];
    unpack(packed, width, reference, &mut values);
    let mut sum = sum;
    for (to, value) in dst.iter_mut().zip(values) {
        *to = sum;
        sum = sum.plus(value);
    }
    sum
}

/// Sums up as many values as make whole vectors, and gives their number; 0 where there are no
/// vectors that it pays with.
#[cfg(target_arch = "x86_64")]
fn vectors<W: Word>(values: &mut [W]) -> usize {
    use super::cpu::{Level, level};
    let bytes = size_of_val(values) / x86::BYTES * x86::BYTES;
    let start = values.as_mut_ptr();
    match (level(), W::BYTES) {
        // SAFETY: the CPU has the features, and `bytes` of the words belong to the slice.
        (Level::Avx512, 4) => unsafe { x86::sum32(start.cast(), bytes / x86::BYTES) },
        // SAFETY: as above.
        (Level::Avx512, 8) => unsafe { x86::sum64(start.cast(), bytes / x86::BYTES) },
        _ => return 0,
    }
    bytes / W::BYTES
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors<W: Word>(_values: &mut [W]) -> usize {
    0
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::kernels::Word;
    use crate::kernels::bitpack::{CHUNK, row_in_order};
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_alignr_epi32, _mm512_alignr_epi64,
        _mm512_and_si512, _mm512_loadu_si512, _mm512_or_si512, _mm512_set1_epi32,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_sllv_epi32, _mm512_sllv_epi64,
        _mm512_srlv_epi32, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi32,
        _mm512_sub_epi64,
    };

    /// Bytes of a vector.
    pub(super) const BYTES: usize = 64;

    /// Sums that run over 16 values per vector, and what the next vectors need of the last ones.
    struct Sums32 {
        values: __m512i,
        pairs: __m512i,
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
                values: zero,
                pairs: zero,
                fours: zero,
                eights: zero,
                sums: _mm512_set1_epi32(sum.cast_signed()),
            }
        }

        /// Sums up to each of the next values.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn next(&mut self, values: __m512i) -> __m512i {
            let pairs = _mm512_add_epi32(values, _mm512_alignr_epi32::<15>(values, self.values));
            let fours = _mm512_add_epi32(pairs, _mm512_alignr_epi32::<14>(pairs, self.pairs));
            let eights = _mm512_add_epi32(fours, _mm512_alignr_epi32::<12>(fours, self.fours));
            let all = _mm512_add_epi32(eights, _mm512_alignr_epi32::<8>(eights, self.eights));
            *self = Self {
                values,
                pairs,
                fours,
                eights,
                sums: _mm512_add_epi32(self.sums, all),
            };
            self.sums
        }
    }

    /// As [`Sums32`], of 8 values per vector.
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
            self.sums
        }
    }

    /// Defines what sums up vectors of a word, in memory and while they are unpacked.
    macro_rules! sums {
        ($in_place:ident, $unpacked:ident, $word:ty, $sums:ident, $set1:ident, $srlv:ident, $sllv:ident, $add:ident, $sub:ident) => {
            /// Running sums of whole vectors.
            ///
            /// # Safety
            /// `at` is valid for reads and writes of `count` vectors; it needs no alignment.
            #[target_feature(enable = "avx512f")]
            pub(super) unsafe fn $in_place(at: *mut u8, count: usize) {
                let mut sums = $sums::new(0);
                for i in 0..count {
                    // SAFETY: `i` is below `count`.
                    let place = unsafe { at.add(i * BYTES) };
                    // SAFETY: `place` begins one of the vectors.
                    let values = unsafe { _mm512_loadu_si512(place.cast()) };
                    // SAFETY: as above.
                    unsafe { _mm512_storeu_si512(place.cast(), sums.next(values)) };
                }
            }

            /// Unpacks a chunk, writes the sums up to its values, not included, that begin with
            /// `sum`, and gives that of all.
            ///
            /// # Safety
            /// `width` is 1 to the bits of a word, `packed` is valid for reads of a chunk of so many
            /// bits per value, and `dst` for writes of a chunk of words; they need no alignment.
            #[target_feature(enable = "avx512f")]
            pub(super) unsafe fn $unpacked(
                packed: *const u8,
                width: u32,
                reference: $word,
                sum: $word,
                dst: *mut u8,
            ) -> $word {
                const BITS: usize = 8 * <$word as Word>::BYTES;
                // Bytes of a row, which is two vectors.
                const ROW: usize = 2 * BYTES;
                let width = width as usize;
                let splat = |value: $word| $set1(value.cast_signed());
                let mask = splat(<$word>::MAX >> (BITS - width));
                let reference = splat(reference);
                let mut sums = $sums::new(sum);
                for ordinal in 0..BITS {
                    let bit = row_in_order::<$word>(ordinal) * width;
                    let (word, shift) = (bit / BITS, bit % BITS);
                    // Of the last row, nothing is needed of a next one.
                    let next = (word + 1).min(width - 1);
                    let splat_bits = |bits: usize| splat(<$word as Word>::truncate(bits as u64));
                    let (down, up) = (splat_bits(shift), splat_bits(BITS - shift));
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
                        // A shift by all bits gives zeros.
                        let bits = _mm512_or_si512($srlv(low, down), $sllv(high, up));
                        let values = $add(_mm512_and_si512(bits, mask), reference);
                        let before = $sub(sums.next(values), values);
                        // SAFETY: a chunk has `BITS` rows.
                        let place = unsafe { dst.add(ordinal * ROW + half) };
                        // SAFETY: `place` begins a vector of a row.
                        unsafe { _mm512_storeu_si512(place.cast(), before) };
                    }
                }
                const { assert!(BITS * ROW == CHUNK * <$word as Word>::BYTES) };
                let mut last = [0; BYTES / <$word as Word>::BYTES];
                // SAFETY: it has the size of a vector.
                unsafe { _mm512_storeu_si512(last.as_mut_ptr().cast(), sums.sums) };
                last[last.len() - 1]
            }
        };
    }

    sums!(
        sum32,
        unpack_sums32,
        u32,
        Sums32,
        _mm512_set1_epi32,
        _mm512_srlv_epi32,
        _mm512_sllv_epi32,
        _mm512_add_epi32,
        _mm512_sub_epi32
    );
    sums!(
        sum64,
        unpack_sums64,
        u64,
        Sums64,
        _mm512_set1_epi64,
        _mm512_srlv_epi64,
        _mm512_sllv_epi64,
        _mm512_add_epi64,
        _mm512_sub_epi64
    );
}

#[cfg(test)]
mod tests {
    use super::super::bitpack::pack;
    use super::*;

    fn random<W: Word>(seed: u64, i: u64) -> W {
        W::truncate((seed + i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 3)
    }

    fn summed<W: Word>(first: W, values: impl Iterator<Item = W>) -> Vec<W> {
        values
            .scan(first, |sum, v| {
                *sum = sum.plus(v);
                Some(*sum)
            })
            .collect()
    }

    fn agrees<W: Word>(seed: u64) {
        for n in [0, 1, 7, 8, 15, 16, 17, 64, 1000, 1023] {
            let values: Vec<W> = (0..n).map(|i| random(seed, i)).collect();
            let expected = summed(W::ZERO, values.iter().copied());
            // Wherever in memory they start.
            for shift in 0..3 {
                let mut moved = vec![W::ONE; shift];
                moved.extend_from_slice(&values);
                prefix_sum(&mut moved[shift..]);
                assert!(moved[shift..] == expected, "{n} words of {} bits", W::BITS);
            }
        }
    }

    #[test]
    fn sums_run_over_all_values() {
        agrees::<u8>(1);
        agrees::<u16>(2);
        agrees::<u32>(3);
        agrees::<u64>(4);
    }

    fn agrees_with_unpacking<W: Word>(seed: u64) {
        let (first, reference) = (random::<W>(seed, 1), random::<W>(seed, 2));
        for width in 1..=W::BITS {
            let mask = W::MAX >> (W::BITS - width);
            for n in [
                1,
                2,
                500,
                CHUNK,
                CHUNK + 1,
                CHUNK + 2,
                3 * CHUNK,
                3 * CHUNK + 17,
            ] {
                let packed_values: Vec<W> = (0..n as u64 - 1)
                    .map(|i| random::<W>(seed, i) & mask)
                    .collect();
                let count = packed_values.len().div_ceil(CHUNK);
                let mut packed = vec![0; count * chunk_bytes(width)];
                pack(&packed_values, width, W::ZERO, &mut packed);
                let differences = packed_values.iter().map(|v| v.plus(reference));
                let mut expected = vec![first];
                expected.extend(summed(first, differences));
                let mut found = vec![W::ZERO; n];
                unpack_sums(&packed, width, reference, first, &mut found);
                assert!(found == expected, "{n} words of {} bits, {width}", W::BITS);
            }
        }
    }

    #[test]
    fn values_are_summed_up_while_they_are_unpacked() {
        agrees_with_unpacking::<u8>(1);
        agrees_with_unpacking::<u16>(2);
        agrees_with_unpacking::<u32>(3);
        agrees_with_unpacking::<u64>(4);
    }
}
