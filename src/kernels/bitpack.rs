//! Spec: Chapter 7, "FLBitPack" and "FFOR": the FastLanes order of 1024 values.
//!
//! A chunk holds 1024 values of `width` bits in `BITS` rows of `LANES` lanes. Each lane is a
//! little-endian bit stream of its values in row order. Word k of lane l is at index `LANES * k + l`, so
//! that a loop over lanes accesses adjacent words.

#[cfg(target_arch = "x86_64")]
use super::avx512::{unpack16, unpack32, unpack64};
use super::chunk::{CHUNK, ORDER, row_start};
use super::fresh_memory::initialized;
use super::{Word, dispatch, prefetch};
use std::mem::MaybeUninit;

/// Returns the size of a chunk of values of `width` bits, in bytes.
pub(crate) fn chunk_bytes(width: u32) -> usize {
    CHUNK / 8 * width as usize
}

/// Returns the mask of the low `width` bits, 1 to `BITS`.
#[inline(always)]
fn mask<W: Word>(width: u32) -> W {
    W::MAX >> (W::BITS - width)
}

#[inline(always)]
fn unpack_body<W: Word>(
    packed: &[u8],
    width: u32,
    reference: W,
    dst: &mut [MaybeUninit<W>; CHUNK],
) {
    let packed = &packed[..chunk_bytes(width)];
    let words = W::chunks(packed);
    let mask = mask::<W>(width);
    for row in 0..W::BITS {
        let start = row_start(row as usize);
        let dst = &mut dst[start..start + W::LANES];
        let bit = row * width;
        let (word, shift) = ((bit / W::BITS) as usize, bit % W::BITS);
        let low = &words[W::LANES * word..W::LANES * (word + 1)];
        if shift + width <= W::BITS {
            for (d, &l) in dst.iter_mut().zip(low) {
                d.write(((W::from_le(l) >> shift) & mask).plus(reference));
            }
        } else {
            let high = &words[W::LANES * (word + 1)..W::LANES * (word + 2)];
            let up = W::BITS - shift;
            for ((d, &l), &h) in dst.iter_mut().zip(low).zip(high) {
                let bits = (W::from_le(l) >> shift) | (W::from_le(h) << up);
                d.write((bits & mask).plus(reference));
            }
        }
    }
}

#[inline(always)]
fn pack_body<W: Word>(values: &[W; CHUNK], width: u32, reference: W, packed: &mut [u8]) {
    let mut words = [W::ZERO; CHUNK];
    let mask = mask::<W>(width);
    for row in 0..W::BITS {
        let start = row_start(row as usize);
        let src = &values[start..start + W::LANES];
        let bit = row * width;
        let (word, shift) = ((bit / W::BITS) as usize, bit % W::BITS);
        for (w, &v) in words[W::LANES * word..W::LANES * (word + 1)]
            .iter_mut()
            .zip(src)
        {
            *w = *w | ((v.minus(reference) & mask) << shift);
        }
        if shift + width > W::BITS {
            let down = W::BITS - shift;
            let high = &mut words[W::LANES * (word + 1)..W::LANES * (word + 2)];
            for (w, &v) in high.iter_mut().zip(src) {
                *w = *w | ((v.minus(reference) & mask) >> down);
            }
        }
    }
    for (bytes, w) in W::chunks_mut(packed).iter_mut().zip(words) {
        *bytes = w.to_le();
    }
}

/// A way to unpack a chunk. This is a trait because closures cannot be marked `#[inline(always)]`, and code that is
/// not inlined is not compiled for the instruction set of its caller.
trait Unpack<W> {
    /// Writes every value of the chunk.
    fn unpack(packed: &[u8], width: u32, reference: W, dst: &mut [MaybeUninit<W>; CHUNK]);
}

/// Unpacking by loops that the compiler vectorizes.
struct Loops;

impl<W: Word> Unpack<W> for Loops {
    #[inline(always)]
    fn unpack(packed: &[u8], width: u32, reference: W, dst: &mut [MaybeUninit<W>; CHUNK]) {
        unpack_body(packed, width, reference, dst);
    }
}

/// Unpacks each chunk. A partial last chunk goes through temporary memory.
#[inline(always)]
fn unpack_chunks<W: Word, U: Unpack<W>>(
    packed: &[u8],
    width: u32,
    reference: W,
    dst: &mut [MaybeUninit<W>],
) {
    let (chunks, rest) = dst.as_chunks_mut::<CHUNK>();
    let mut packed = packed.chunks_exact(chunk_bytes(width));
    for (chunk, bytes) in chunks.iter_mut().zip(&mut packed) {
        U::unpack(bytes, width, reference, chunk);
    }
    if !rest.is_empty()
        && let Some(bytes) = packed.next()
    {
        let mut last = [MaybeUninit::new(W::ZERO); CHUNK];
        U::unpack(bytes, width, reference, &mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

#[inline(always)]
fn unpack_all_body<W: Word>(packed: &[u8], width: u32, reference: W, dst: &mut [MaybeUninit<W>]) {
    unpack_chunks::<W, Loops>(packed, width, reference, dst);
}

#[inline(always)]
fn pack_all_body<W: Word>(values: &[W], width: u32, reference: W, packed: &mut [u8]) {
    let (chunks, rest) = values.as_chunks::<CHUNK>();
    let mut packed = packed.chunks_exact_mut(chunk_bytes(width));
    for (chunk, bytes) in chunks.iter().zip(&mut packed) {
        pack_body(chunk, width, reference, bytes);
    }
    if !rest.is_empty()
        && let Some(bytes) = packed.next()
    {
        let mut last = [W::ZERO; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        pack_body(&last, width, reference, bytes);
    }
}

dispatch! {
    fn unpack_by_level<W: Word>(packed: &[u8], width: u32, reference: W, dst: &mut [MaybeUninit<W>]) = unpack_all_body;
}

/// Unpacks `dst.len()` values from whole chunks and adds `reference` to each. The caller has checked that
/// `packed` holds the chunks of that many values and that `width` is 1 to `BITS`.
pub(crate) fn unpack<W: Word>(packed: &[u8], width: u32, reference: W, dst: &mut [W]) {
    unpack_places(packed, width, reference, initialized(dst));
}

/// Unpacks `dst.len()` values from whole chunks and adds `reference` to each. If `packed` holds all their
/// chunks, every place is written to. `width` is 1 to `BITS`.
pub(super) fn unpack_places<W: Word>(
    packed: &[u8],
    width: u32,
    reference: W,
    dst: &mut [MaybeUninit<W>],
) {
    #[cfg(target_arch = "x86_64")]
    if super::cpu::level() == super::cpu::CpuLevel::Avx512Vbmi2 && W::BYTES > 1 {
        return unpack_chunks::<W, Funnels>(packed, width, reference, dst);
    }
    unpack_by_level(packed, width, reference, dst);
}

/// Unpacking of words of 2 bytes and more with shifts across two vectors, on CPUs that have them.
#[cfg(target_arch = "x86_64")]
struct Funnels;

#[cfg(target_arch = "x86_64")]
impl<W: Word> Unpack<W> for Funnels {
    #[inline(always)]
    fn unpack(packed: &[u8], width: u32, reference: W, dst: &mut [MaybeUninit<W>; CHUNK]) {
        let packed = &packed[..chunk_bytes(width)];
        let (from, to) = (packed.as_ptr(), dst.as_mut_ptr().cast());
        let reference = reference.to_u64();
        // SAFETY: only `unpack_places` selects this, on CPUs with the features. `packed` has the size of
        // a chunk of words of `width` bits, and `dst` is a chunk of words of `W`'s size.
        unsafe {
            match W::BYTES {
                2 => unpack16(from, width, u16::truncate(reference), to),
                4 => unpack32(from, width, u32::truncate(reference), to),
                _ => unpack64(from, width, reference, to),
            }
        }
    }
}

dispatch! {
    /// Packs `values` less `reference` into `packed`, which has the size of their chunks. A partial last
    /// chunk is padded with the value 0.
    pub(crate) fn pack<W: Word>(values: &[W], width: u32, reference: W, packed: &mut [u8]) = pack_all_body;
}

/// Position of a value in the bytes of chunks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BitPlace {
    byte: usize,
    /// Bits of its word that precede it.
    shift: u32,
}

/// Returns the position of value `index` in chunks of `width` bits.
#[inline(always)]
pub(crate) fn place_of<W: Word>(width: u32, index: usize) -> BitPlace {
    let lane = index % W::LANES;
    let group = ORDER[(index % 128 - lane) / 16];
    let row = 8 * group + index % CHUNK / 128;
    let bit = row * width as usize;
    let (word, shift) = (bit / (8 * W::BYTES), bit % (8 * W::BYTES));
    #[expect(clippy::cast_possible_truncation, reason = "a shift is below 64")]
    let shift = shift as u32;
    BitPlace {
        byte: index / CHUNK * chunk_bytes(width) + W::BYTES * (W::LANES * word + lane),
        shift,
    }
}

/// Prefetches the bytes of the value at a place into the CPU cache.
#[inline(always)]
pub(crate) fn prefetch_at<W: Word>(packed: &[u8], width: u32, place: BitPlace) {
    let crosses = usize::from(place.shift + width > W::BITS);
    prefetch(packed, place.byte);
    prefetch(packed, place.byte + crosses * W::LANES * W::BYTES);
}

/// Returns the value at a place, without adding a reference.
#[inline(always)]
pub(crate) fn unpack_at<W: Word>(packed: &[u8], width: u32, place: BitPlace) -> W {
    let word = |byte: usize| W::from_le(W::chunks(&packed[byte..byte + W::BYTES])[0]);
    let low = word(place.byte) >> place.shift;
    let value = if place.shift + width > W::BITS {
        low | (word(place.byte + W::LANES * W::BYTES) << (W::BITS - place.shift))
    } else {
        low
    };
    value & mask::<W>(width)
}

#[cfg(test)]
mod tests {
    use super::super::cpu::tests::{STEP, at_every_level};
    use super::*;

    /// Packs bit by bit, by the closed formulas of the format.
    fn pack_slowly<W: Word>(values: &[W; CHUNK], width: u32) -> Vec<u8> {
        let mut words = vec![0u64; W::LANES * width as usize];
        for row in 0..W::BITS as usize {
            for lane in 0..W::LANES {
                let value = values[16 * ORDER[row / 8] + 128 * (row % 8) + lane].to_u64();
                for b in 0..width as usize {
                    let q = row * width as usize + b;
                    let at = W::LANES * (q / W::BITS as usize) + lane;
                    words[at] |= ((value >> b) & 1) << (q % W::BITS as usize);
                }
            }
        }
        words
            .iter()
            .flat_map(|&w| W::truncate(w).to_le().as_ref().to_vec())
            .collect()
    }

    fn random<W: Word>(seed: u64) -> [W; CHUNK] {
        let mut x = seed | 1;
        std::array::from_fn(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            W::truncate(x >> 3)
        })
    }

    fn agrees_with_the_formulas<W: Word>() {
        for width in (1..=W::BITS).step_by(STEP * STEP) {
            let values = random::<W>(u64::from(width)).map(|v| v & mask::<W>(width));
            let mut packed = vec![0; chunk_bytes(width)];
            pack(&values, width, W::ZERO, &mut packed);
            assert_eq!(packed, pack_slowly(&values, width), "width {width}");
            // An odd address shows that nothing relies on alignment.
            let mut shifted = vec![0u8];
            shifted.extend_from_slice(&packed);
            let mut back = [W::ZERO; CHUNK];
            unpack(&shifted[1..], width, W::ONE, &mut back);
            assert_eq!(back, values.map(|v| v.plus(W::ONE)));
            // A part of a chunk goes through temporary memory.
            let mut part = [W::ZERO; 1000];
            unpack(&packed, width, W::ZERO, &mut part);
            assert_eq!(part, values[..1000]);
            for i in (0..CHUNK).step_by(7) {
                assert_eq!(
                    unpack_at::<W>(&packed, width, place_of::<W>(width, i)),
                    values[i]
                );
            }
        }
    }

    #[test]
    fn every_width_of_every_word_agrees_with_the_formulas() {
        at_every_level(|| {
            agrees_with_the_formulas::<u8>();
            agrees_with_the_formulas::<u16>();
            agrees_with_the_formulas::<u32>();
            agrees_with_the_formulas::<u64>();
        });
    }

    #[test]
    fn the_check_values_of_the_format_hold() {
        let values: [u32; CHUNK] = std::array::from_fn(|i| u32::try_from(i % 8).unwrap());
        let mut packed = vec![0; chunk_bytes(3)];
        pack(&values, 3, 0, &mut packed);
        assert_eq!(packed[..8], [0, 0, 0, 0, 0x49, 0x92, 0x24, 0x49]);
        for (index, word) in [(128, 2u32), (32, 0x0001_0000)] {
            let mut values = [0u32; CHUNK];
            values[index] = 1;
            let mut packed = vec![0; chunk_bytes(1)];
            pack(&values, 1, 0, &mut packed);
            assert_eq!(packed[..4], word.to_le_bytes());
        }
    }
}
