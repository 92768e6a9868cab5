//! Running sums. One addition waits for the one before, so that a plain loop takes a cycle per value,
//! whatever their size; vectors sum up within themselves, and only their last sum is waited for.

use super::Word;

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
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_add_epi64, _mm512_alignr_epi32, _mm512_alignr_epi64,
        _mm512_loadu_si512, _mm512_permutexvar_epi32, _mm512_permutexvar_epi64, _mm512_set1_epi32,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
    };

    /// Bytes of a vector.
    pub(super) const BYTES: usize = 64;

    /// Running sums of 16 values per vector.
    ///
    /// # Safety
    /// `at` is valid for reads and writes of `count` vectors; it needs no alignment.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn sum32(at: *mut u8, count: usize) {
        let zero = _mm512_setzero_si512();
        let last = _mm512_set1_epi32(15);
        let mut before = zero;
        for i in 0..count {
            // SAFETY: `i` is below `count`.
            let place = unsafe { at.add(i * BYTES) };
            // SAFETY: `place` begins one of the vectors.
            let mut v = unsafe { _mm512_loadu_si512(place.cast()) };
            v = _mm512_add_epi32(v, _mm512_alignr_epi32::<15>(v, zero));
            v = _mm512_add_epi32(v, _mm512_alignr_epi32::<14>(v, zero));
            v = _mm512_add_epi32(v, _mm512_alignr_epi32::<12>(v, zero));
            v = _mm512_add_epi32(v, _mm512_alignr_epi32::<8>(v, zero));
            let sums = _mm512_add_epi32(v, before);
            before = _mm512_add_epi32(before, _mm512_permutexvar_epi32(last, v));
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(place.cast(), sums) };
        }
    }

    /// Running sums of 8 values per vector.
    ///
    /// # Safety
    /// As [`sum32`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn sum64(at: *mut u8, count: usize) {
        let zero = _mm512_setzero_si512();
        let last = _mm512_set1_epi64(7);
        let mut before = zero;
        for i in 0..count {
            // SAFETY: `i` is below `count`.
            let place = unsafe { at.add(i * BYTES) };
            // SAFETY: `place` begins one of the vectors.
            let mut v = unsafe { _mm512_loadu_si512(place.cast()) };
            v = _mm512_add_epi64(v, _mm512_alignr_epi64::<7>(v, zero));
            v = _mm512_add_epi64(v, _mm512_alignr_epi64::<6>(v, zero));
            v = _mm512_add_epi64(v, _mm512_alignr_epi64::<4>(v, zero));
            let sums = _mm512_add_epi64(v, before);
            before = _mm512_add_epi64(before, _mm512_permutexvar_epi64(last, v));
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(place.cast(), sums) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees<W: Word>(seed: u64) {
        for n in [0, 1, 7, 8, 15, 16, 17, 64, 1000, 1023] {
            let next = |i: u64| (seed + i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let values: Vec<W> = (0..n).map(|i| W::truncate(next(i) >> 3)).collect();
            let mut sum = W::ZERO;
            let expected: Vec<W> = values
                .iter()
                .map(|v| {
                    sum = sum.plus(*v);
                    sum
                })
                .collect();
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
}
