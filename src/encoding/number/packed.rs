//! Spec: Chapter 7, "FLBitPack" and "FFOR": what the bit-packed encodings share.

use super::{Codec, Context, Request, Word};
use crate::error::{Error, Result};
use crate::kernels::{
    BitPlace, CHUNK, Slots, chunk_bytes, pack, place_of, prefetch_at, unpack, unpack_at,
};
use std::marker::PhantomData;
use std::ops::Range;

/// An encoding that consists of a header and bit-packed values.
pub(super) trait PackedLayout {
    /// Parses a region of `n` values.
    fn parse<W: Word>(values: &[u8], n: usize) -> Result<Packed<'_, W>>;
}

/// The codec of a [`PackedLayout`].
pub(super) struct BitPacked<L>(PhantomData<L>);

impl<L: PackedLayout> Codec for BitPacked<L> {
    fn decode<W: Word>(
        request: Request<'_>,
        _cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        L::parse(request.values, request.n)?.decode(dst)
    }

    fn select<W: Word>(request: Request<'_>, _cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        L::parse(request.values, request.n)?.select(request.ranges, dst);
        Ok(())
    }
}

/// Chunks of bit-packed values, and the reference that is added to each value.
pub(super) struct Packed<'a, W> {
    chunks: &'a [u8],
    width: u32,
    reference: W,
}

/// Fewest wanted values of a chunk for which it is unpacked as a whole. Unpacking one value costs about
/// as much as unpacking 32 together.
const WHOLE_CHUNK: usize = 32;

/// Number of values that are prefetched from memory, if few of a chunk are wanted.
const AHEAD: usize = 32;

impl<'a, W: Word> Packed<'a, W> {
    /// Checks that the width suits the words and that the chunks have the size of `n` values.
    pub(super) fn try_new(chunks: &'a [u8], width: u8, reference: W, n: usize) -> Result<Self> {
        let width = u32::from(width);
        if width == 0 || width > W::BITS {
            return Err(Error::corrupt(format!(
                "expected a bit width of 1 to {}, found {width}",
                W::BITS
            )));
        }
        let count = n.div_ceil(CHUNK);
        if count.checked_mul(chunk_bytes(width)) != Some(chunks.len()) {
            return Err(Error::corrupt(format!(
                "expected {count} chunks of {} bytes, found {} bytes",
                chunk_bytes(width),
                chunks.len()
            )));
        }
        Ok(Self {
            chunks,
            width,
            reference,
        })
    }

    pub(super) fn decode(&self, dst: &mut Slots<'_, W>) -> Result<()> {
        if dst.unpack(self.chunks, self.width, self.reference) {
            Ok(())
        } else {
            Err(too_few(dst.len()))
        }
    }

    /// Decodes values that start with `first` and have the packed values as differences. There is at most one
    /// more value than differences.
    pub(super) fn decode_sums(&self, first: W, dst: &mut Slots<'_, W>) -> Result<()> {
        if dst.unpack_sums(self.chunks, self.width, self.reference, first) {
            Ok(())
        } else {
            Err(too_few(dst.len()))
        }
    }

    pub(super) fn select(&self, ranges: &[Range<usize>], dst: &mut [W]) {
        let mut values = None;
        let mut ahead = Prefetcher {
            wanted: ranges.iter().cloned().flatten(),
            taken: 0,
            places: [BitPlace::default(); AHEAD],
        };
        let mut selected = 0;
        let (mut rest, mut dst) = (ranges, dst);
        let mut done = 0;
        while let Some(first) = rest.first() {
            if first.end <= done || first.is_empty() {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let chunk = first.start.max(done) / CHUNK;
            let (start, end) = (done.max(chunk * CHUNK), (chunk + 1) * CHUNK);
            let touched = rest.iter().take_while(|range| range.start < end);
            let pieces = touched.map(|range| range.start.max(start)..range.end.min(end));
            let (count, wanted) = pieces.clone().fold((0, 0), |(count, wanted), piece| {
                (count + 1, wanted + piece.len())
            });
            let Some((now, later)) = std::mem::take(&mut dst).split_at_mut_checked(wanted) else {
                return;
            };
            let local = pieces.map(|piece| piece.start % CHUNK..piece.end - chunk * CHUNK);
            if wanted < WHOLE_CHUNK {
                ahead.unpack(self, selected, now)
            } else {
                self.select_in(chunk, local, now, &mut values)
            }
            selected += wanted;
            dst = later;
            // The last range may continue in the next chunk.
            rest = rest.get(count - 1..).unwrap_or_default();
            done = end;
        }
    }

    /// Unpacks pieces of a chunk, `dst.len()` values altogether. `values` is set to a buffer for a chunk
    /// if one is needed.
    fn select_in(
        &self,
        chunk: usize,
        pieces: impl Iterator<Item = Range<usize>>,
        mut dst: &mut [W],
        values: &mut Option<[W; CHUNK]>,
    ) {
        let size = chunk_bytes(self.width);
        let Some(bytes) = self.chunks.get(chunk * size..(chunk + 1) * size) else {
            return;
        };
        if dst.len() == CHUNK {
            unpack(bytes, self.width, self.reference, dst);
        } else {
            let values = values.get_or_insert([W::ZERO; CHUNK]);
            unpack(bytes, self.width, self.reference, values);
            for piece in pieces {
                let Some((now, later)) = std::mem::take(&mut dst).split_at_mut_checked(piece.len())
                else {
                    return;
                };
                now.copy_from_slice(values.get(piece).unwrap_or_default());
                dst = later;
            }
        }
    }
}

fn too_few(n: usize) -> Error {
    Error::corrupt(format!("expected chunks of {n} values, found fewer"))
}

/// An unpacker of scattered values that prefetches the following ones from memory.
struct Prefetcher<I> {
    /// Indexes of all wanted values.
    wanted: I,
    /// Number of indexes that were taken.
    taken: usize,
    /// Places of the last indexes taken. The index in the array is the ordinal modulo its length.
    places: [BitPlace; AHEAD],
}

impl<I: Iterator<Item = usize>> Prefetcher<I> {
    /// Unpacks the next `dst.len()` of the wanted values, starting with number `first`.
    fn unpack<W: Word>(&mut self, packed: &Packed<'_, W>, first: usize, dst: &mut [W]) {
        let (chunks, width) = (packed.chunks, packed.width);
        if let Some(skipped) = first.checked_sub(self.taken + 1) {
            self.wanted.nth(skipped);
            self.taken = first;
        }
        while self.taken < first + AHEAD && self.take(packed) {}
        for (ordinal, to) in (first..).zip(dst) {
            let place = self.places[ordinal % AHEAD];
            self.take(packed);
            *to = unpack_at::<W>(chunks, width, place).plus(packed.reference);
        }
    }

    /// Takes the next index. Returns false after the last one.
    #[inline(always)]
    fn take<W: Word>(&mut self, packed: &Packed<'_, W>) -> bool {
        let Some(i) = self.wanted.next() else {
            return false;
        };
        let place = place_of::<W>(packed.width, i);
        prefetch_at::<W>(packed.chunks, packed.width, place);
        self.places[self.taken % AHEAD] = place;
        self.taken += 1;
        true
    }
}

/// Returns the size of the chunks of `n` values, in bytes. It is 0 for a width of 0.
pub(super) fn packed_bytes(n: usize, width: u32) -> usize {
    n.div_ceil(CHUNK) * chunk_bytes(width)
}

/// Appends the chunks of `values` less `reference`.
pub(super) fn write_chunks<W: Word>(values: &[W], width: u32, reference: W, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + packed_bytes(values.len(), width), 0);
    pack(
        values,
        width,
        reference,
        out.get_mut(start..).unwrap_or_default(),
    );
}

/// Converts a bit width to the byte that stores it.
pub(super) fn width_byte(width: u32) -> u8 {
    u8::try_from(width).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects_what_decode_gives<W: Word>(width: u32) {
        let n = 9 * CHUNK + 100;
        let mask = W::MAX >> (W::BITS - width);
        let values: Vec<W> = (0..n as u64)
            .map(|i| W::truncate(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7) & mask)
            .collect();
        let mut chunks = Vec::new();
        write_chunks(&values, width, W::ZERO, &mut chunks);
        let packed = Packed::try_new(&chunks, width_byte(width), W::ONE, n).unwrap();
        // Wanted values per chunk: few, none, just enough to unpack it as a whole, and all.
        let mut ranges = Vec::new();
        for (chunk, count) in [3, 31, 32, 0, CHUNK, 1, 500, 0, 33, 7]
            .into_iter()
            .enumerate()
        {
            let last = n.min((chunk + 1) * CHUNK) - chunk * CHUNK;
            for i in 0..count {
                let at = chunk * CHUNK + (i * last / count);
                ranges.push(at..at + 1);
            }
        }
        // A range that spans several chunks.
        let mut long = vec![2..4, 1000..3 * CHUNK + 5, 5 * CHUNK - 1..5 * CHUNK + 1];
        long.push(n - 1..n);
        for ranges in [ranges, long] {
            let wanted: Vec<W> = ranges
                .iter()
                .flat_map(|range| &values[range.clone()])
                .map(|v| v.plus(W::ONE))
                .collect();
            let mut got = vec![W::ZERO; wanted.len()];
            packed.select(&ranges, &mut got);
            assert!(got == wanted, "width {width} of {}", W::BITS);
        }
    }

    #[test]
    fn scattered_and_dense_values_are_selected_alike() {
        for width in [1, 5, 8] {
            selects_what_decode_gives::<u8>(width);
        }
        for width in [3, 12, 31, 32] {
            selects_what_decode_gives::<u32>(width);
        }
        for width in [7, 20, 63, 64] {
            selects_what_decode_gives::<u64>(width);
        }
    }
}
