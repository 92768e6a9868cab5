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
        let mut rest = dst;
        let mut kept = Kept {
            chunk: usize::MAX,
            values: [W::ZERO; CHUNK],
        };
        let mut pieces = ranges.iter().flat_map(pieces_of).peekable();
        let mut wanted = (usize::MAX, 0);
        while let Some((chunk, piece)) = pieces.next() {
            if wanted.0 != chunk {
                // A look ahead at the next pieces tells single values from dense ranges.
                let next = pieces.peek().is_some_and(|(c, _)| *c == chunk);
                wanted = (
                    chunk,
                    if next {
                        self.count_in(chunk, ranges)
                    } else {
                        piece.len()
                    },
                );
            }
            let Some((now, later)) = std::mem::take(&mut rest).split_at_mut_checked(piece.len())
            else {
                return;
            };
            self.piece(chunk, piece, wanted.1 >= WHOLE_CHUNK, &mut kept, now);
            rest = later;
        }
    }

    /// How many positions of a chunk the ranges name.
    fn count_in(&self, chunk: usize, ranges: &[Range<usize>]) -> usize {
        let (start, end) = (chunk * CHUNK, (chunk + 1) * CHUNK);
        let first = ranges.partition_point(|r| r.end <= start);
        let touched = ranges.iter().skip(first).take_while(|r| r.start < end);
        touched.map(|r| r.end.min(end) - r.start.max(start)).sum()
    }

    fn piece(
        &self,
        chunk: usize,
        piece: Range<usize>,
        whole: bool,
        kept: &mut Kept<W>,
        dst: &mut [W],
    ) {
        let size = chunk_bytes(self.width);
        let Some(bytes) = self.chunks.get(chunk * size..(chunk + 1) * size) else {
            return;
        };
        if piece.len() == CHUNK {
            unpack(bytes, self.width, self.reference, dst);
        } else if whole {
            if kept.chunk != chunk {
                unpack(bytes, self.width, self.reference, &mut kept.values);
                kept.chunk = chunk;
            }
            if let Some(values) = kept.values.get(piece) {
                dst.copy_from_slice(values);
            }
        } else {
            for (d, i) in dst.iter_mut().zip(piece) {
                *d = unpack_single::<W>(bytes, self.width, i).plus(self.reference);
            }
        }
    }
}

/// The chunk that was unpacked last.
struct Kept<W> {
    chunk: usize,
    values: [W; CHUNK],
}

/// A range cut at chunk borders: chunks and ranges within them.
fn pieces_of(range: &Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
    let range = range.clone();
    let chunks = if range.is_empty() {
        0..0
    } else {
        range.start / CHUNK..range.end.div_ceil(CHUNK)
    };
    chunks.map(move |chunk| {
        let base = chunk * CHUNK;
        (
            chunk,
            range.start.max(base) - base..range.end.min(base + CHUNK) - base,
        )
    })
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
