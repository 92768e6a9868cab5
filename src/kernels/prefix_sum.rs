//! Running sums. In a plain loop, each addition waits for the previous one, so a value takes a cycle
//! whatever its size. Vectors sum up windows of 2, 4 and more values, each from two windows of half the size,
//! until a window is as wide as a vector. A vector of sums is then the previous one plus these windows, and
//! only that addition waits.

use super::Word;
use super::bitpack::{chunk_bytes, unpack};
use super::chunk::CHUNK;
use std::mem::MaybeUninit;

/// Replaces values by their running sums modulo 2^`BITS`.
// Inlined into a decoder, the loop is not unrolled and takes more than twice as many instructions.
#[inline(never)]
pub(crate) fn prefix_sum<W: Word>(values: &mut [W]) {
    let done = vectors(values);
    let (done, rest) = values.split_at_mut(done);
    let mut sum = done.last().copied().unwrap_or(W::ZERO);
    for v in rest {
        sum = sum.plus(*v);
        *v = sum;
    }
}

/// Unpacks differences into values: the first value is `first`, and each of the others is its predecessor
/// plus the next value that [`unpack`] would return. The caller has checked that `packed` holds the chunks of at
/// least `dst.len() - 1` differences and that `width` is 1 to `BITS`. Then every place is written to.
pub(super) fn unpack_sums_places<W: Word>(
    packed: &[u8],
    width: u32,
    reference: W,
    first: W,
    dst: &mut [MaybeUninit<W>],
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
        // A single last sum needs no difference.
        ([last], _) => drop(last.write(sum)),
        (rest, Some(bytes)) if !rest.is_empty() => {
            let mut values = [MaybeUninit::new(W::ZERO); CHUNK];
            sums_of_chunk(bytes, width, reference, sum, &mut values);
            rest.copy_from_slice(&values[..rest.len()]);
        }
        _ => {}
    }
}

/// Writes for each value of a chunk the sum of `sum` and all values before it. Returns the sum of `sum` and all
/// values.
fn sums_of_chunk<W: Word>(
    packed: &[u8],
    width: u32,
    reference: W,
    sum: W,
    dst: &mut [MaybeUninit<W>; CHUNK],
) -> W {
    let packed = &packed[..chunk_bytes(width)];
    #[cfg(target_arch = "x86_64")]
    {
        use super::avx512::{
            unpack_sums32, unpack_sums32_vbmi2, unpack_sums64, unpack_sums64_vbmi2,
        };
        use super::cpu::{CpuLevel, level};
        let (from, to) = (packed.as_ptr(), dst.as_mut_ptr().cast());
        let (reference, sum) = (reference.to_u64(), sum.to_u64());
        let (reference32, sum32) = (u32::truncate(reference), u32::truncate(sum));
        // SAFETY: the CPU has the features, `packed` has the size of a chunk of words of `width` bits,
        // and `dst` is a chunk of words of that size.
        let sum = unsafe {
            match (level(), W::BYTES) {
                (CpuLevel::Avx512Vbmi2, 4) => {
                    Some(unpack_sums32_vbmi2(from, width, reference32, sum32, to).into())
                }
                (CpuLevel::Avx512, 4) => {
                    Some(unpack_sums32(from, width, reference32, sum32, to).into())
                }
                (CpuLevel::Avx512Vbmi2, 8) => {
                    Some(unpack_sums64_vbmi2(from, width, reference, sum, to))
                }
                (CpuLevel::Avx512, 8) => Some(unpack_sums64(from, width, reference, sum, to)),
                _ => None,
            }
        };
        if let Some(sum) = sum {
            return W::truncate(sum);
        }
    }
    let mut values = [W::ZERO; CHUNK];
    unpack(packed, width, reference, &mut values);
    let mut sum = sum;
    for (to, value) in dst.iter_mut().zip(values) {
        to.write(sum);
        sum = sum.plus(value);
    }
    sum
}

/// Computes running sums of the values that fill whole vectors, and returns their number. It is 0 for CPUs
/// and words for which vectors do not pay off.
#[cfg(target_arch = "x86_64")]
fn vectors<W: Word>(values: &mut [W]) -> usize {
    use super::avx512::{BYTES, sum32, sum64};
    use super::cpu::{CpuLevel, level};
    let count = size_of_val(values) / BYTES;
    let start = values.as_mut_ptr().cast();
    match (level(), W::BYTES) {
        // SAFETY: the CPU has the features, and `count` vectors of words lie in the slice.
        (CpuLevel::Avx512 | CpuLevel::Avx512Vbmi2, 4) => unsafe { sum32(start, count) },
        // SAFETY: as above.
        (CpuLevel::Avx512 | CpuLevel::Avx512Vbmi2, 8) => unsafe { sum64(start, count) },
        _ => return 0,
    }
    count * BYTES / W::BYTES
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors<W: Word>(_values: &mut [W]) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::super::bitpack::pack;
    use super::super::cpu::tests::{STEP, at_every_level};
    use super::super::slots::Slots;
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
            // At any alignment.
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
        at_every_level(|| {
            agrees::<u8>(1);
            agrees::<u16>(2);
            agrees::<u32>(3);
            agrees::<u64>(4);
        });
    }

    fn agrees_with_unpacking<W: Word>(seed: u64) {
        let (first, reference) = (random::<W>(seed, 1), random::<W>(seed, 2));
        for width in (1..=W::BITS).step_by(STEP * STEP) {
            let mask = W::MAX >> (W::BITS - width);
            let lengths = [
                1,
                2,
                500,
                CHUNK,
                CHUNK + 1,
                CHUNK + 2,
                3 * CHUNK,
                3 * CHUNK + 17,
            ];
            for n in lengths.into_iter().step_by(STEP.min(5)) {
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
                let mut slots = Slots::from(&mut found[..]);
                assert!(slots.unpack_sums(&packed, width, reference, first));
                assert!(found == expected, "{n} words of {} bits, {width}", W::BITS);
            }
        }
    }

    #[test]
    fn values_are_summed_up_while_they_are_unpacked() {
        at_every_level(|| {
            agrees_with_unpacking::<u8>(1);
            agrees_with_unpacking::<u16>(2);
            agrees_with_unpacking::<u32>(3);
            agrees_with_unpacking::<u64>(4);
        });
    }
}
