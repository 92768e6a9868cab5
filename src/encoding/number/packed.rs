//! Spec: Chapter 7, "FLBitPack" and "FFOR": what the bit-packed encodings share.

use super::Word;
use crate::error::{Error, Result};
use crate::kernels::{CHUNK, chunk_bytes, pack, unpack, unpack_single};
use std::ops::Range;

/// Chunks of bit-packed values, and what to add to each value.
pub(super) struct Packed<'a, W> {
    chunks: &'a [u8],
    width: u32,
    reference: W,
}

/// From this many wanted values on, a chunk is unpacked whole: a value alone costs about as much
/// as 32 do together.
const WHOLE_CHUNK: usize = 32;

impl<'a, W: Word> Packed<'a, W> {
    /// Checks that the width suits the words and that there are the chunks of `n` values.
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

    pub(super) fn decode(&self, dst: &mut [W]) {
        unpack(self.chunks, self.width, self.reference, dst);
    }

    pub(super) fn select(&self, ranges: &[Range<usize>], dst: &mut [W]) {
        let mut values = None;
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
            self.select_in(chunk, local, now, &mut values);
            dst = later;
            // The last of the ranges may go on in the next chunk.
            rest = rest.get(count - 1..).unwrap_or_default();
            done = end;
        }
    }

    /// Unpacks the pieces of a chunk, as many values as `dst` takes; `values` becomes room for a
    /// chunk if that is needed.
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
        } else if dst.len() >= WHOLE_CHUNK {
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
        } else {
            for (to, i) in dst.iter_mut().zip(pieces.flatten()) {
                *to = unpack_single::<W>(bytes, self.width, i).plus(self.reference);
            }
        }
    }
}

/// Bytes of the chunks of `n` values.
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

/// A bit width as the byte that stores it.
pub(super) fn width_byte(width: u32) -> u8 {
    u8::try_from(width).unwrap_or(u8::MAX)
}
