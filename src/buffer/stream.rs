//! Spec: Chapter 6, "Encoded Buffers": elements out of raw buffers and block streams.

use super::block_part::{BlockPart, block_parts};
use super::packed_group::member_block;
use super::raw_values::read_raw;
use super::read_context::{ReadContext, in_file};
use super::stored_buffer::{Blocks, Body, StoredBuffer, StoredRange};
use super::{BlockRange, Selection};
use crate::encoding::bytes::NullsOut;
use crate::encoding::{NumberKind, Word, envelope, number, presence};
use crate::error::{Error, Result, Within, to_usize};
use crate::kernels::{Growing, Slots};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer};
use bytes::Bytes;
use std::ops::Range;

/// Decoded numbers and, if their blocks hold it, their presence.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// The values, little-endian.
    pub data: Buffer,
    /// Presence of the values. `None` if all are present.
    pub nulls: Option<BooleanBuffer>,
}

/// The last decoded block, kept for the next batch. Its key is its ordinal, and any other parameters of
/// decoding.
#[derive(Debug)]
pub struct BlockCache<T, K = usize>(Option<(K, T)>);

impl<T, K> Default for BlockCache<T, K> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T, K: PartialEq> BlockCache<T, K> {
    pub(super) fn get_or_decode(
        &mut self,
        key: K,
        decode: impl FnOnce() -> Result<T>,
    ) -> Result<&T> {
        let block = match self.0.take() {
            Some((kept, block)) if kept == key => block,
            _ => decode()?,
        };
        Ok(&self.0.insert((key, block)).1)
    }

    /// Frees the memory of the block, so that the next decoder finds it in the CPU cache.
    fn clear(&mut self) {
        self.0 = None;
    }
}

/// Returns the bytes of a block without its checksum. If it has not been verified, compares the checksum with the
/// bytes, and with the checksum in the descriptor.
pub(super) fn block_bytes(
    buffer: &StoredBuffer,
    blocks: &Blocks,
    block: &BlockRange,
    cx: &ReadContext<'_>,
) -> Result<Bytes> {
    let place = StoredRange {
        artifact: buffer.place.artifact,
        range: buffer
            .place
            .range
            .slice(block.bytes.start, block.bytes.end)?,
    };
    let bytes = cx.source.bytes(place)?;
    if !blocks.checksums {
        return of_member(blocks, bytes);
    }
    let verify = cx.verify && !blocks.is_verified(block.ordinal);
    let content = envelope::strip_checksum(&bytes, verify);
    let content = content.map_err(|e| blocks.explain(block.ordinal, &bytes, e));
    let len = content.map_err(|e| in_file(e, buffer, cx))?.len();
    if verify {
        let checked = blocks.check_carried(block.ordinal, &bytes);
        checked.map_err(|e| in_file(e, buffer, cx))?;
        blocks.set_verified(block.ordinal);
    }
    of_member(blocks, bytes.slice(..len))
}

/// Returns the block of a member, if `block` is a super-block. Otherwise, returns `block`.
fn of_member(blocks: &Blocks, block: Bytes) -> Result<Bytes> {
    match blocks.member() {
        Some(index) => Ok(block.slice(member_block(&block, index)?)),
        None => Ok(block),
    }
}

/// Reads elements of a buffer of numbers. With `embedded_presence`, blocks hold the presence of their
/// values.
///
/// # Errors
/// Returns an error that names the block if bytes are damaged.
pub fn read_numbers<W: Word>(
    buffer: &StoredBuffer,
    kind: NumberKind,
    embedded_presence: bool,
    elements: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut BlockCache<Numbers>,
) -> Result<Numbers> {
    let blocks = match &buffer.body {
        Body::Raw(_) => {
            return Ok(Numbers {
                data: read_raw::<W>(buffer, elements, W::BYTES, cx)?,
                nulls: None,
            });
        }
        Body::Blocks(blocks) => blocks,
    };
    let map = blocks.loaded_map()?;
    cx.check_batch_bytes(elements.len(), W::BYTES)?;
    let parts = block_parts(buffer, map, elements, W::BYTES, cx.limits)?;
    let reader = NumberReader {
        buffer,
        blocks,
        kind,
        embedded_presence,
    };
    if let [part] = parts.as_slice()
        && let [range] = part.ranges.as_slice()
        && cx.sequential
        && is_kept::<W>(part)
    {
        let block = cache.get_or_decode(part.block.ordinal, || reader.read_whole::<W>(part, cx))?;
        return Ok(block.slice(range, W::BYTES));
    }
    reader.read::<W>(&parts, cx, Some(cache))
}

/// Returns whether the whole block is decoded, for rows after the requested ones.
fn is_kept<W: Word>(part: &BlockPart) -> bool {
    !part.is_whole() && (part.len as u64).saturating_mul(W::BYTES as u64) <= part.most_kept()
}

impl Numbers {
    fn slice(&self, range: &Range<usize>, width: usize) -> Self {
        Self {
            data: self
                .data
                .slice_with_length(range.start * width, range.len() * width),
            nulls: self
                .nulls
                .as_ref()
                .map(|nulls| nulls.slice(range.start, range.len())),
        }
    }
}

struct NumberReader<'a> {
    buffer: &'a StoredBuffer,
    blocks: &'a Blocks,
    kind: NumberKind,
    embedded_presence: bool,
}

impl NumberReader<'_> {
    /// Decodes parts of blocks one after the other. Whole blocks are decoded in place. Without a cache, no block
    /// is kept.
    fn read<W: Word>(
        &self,
        parts: &[BlockPart],
        cx: &mut ReadContext<'_>,
        mut cache: Option<&mut BlockCache<Numbers>>,
    ) -> Result<Numbers> {
        let total: usize = parts.iter().map(BlockPart::selected).sum();
        let mut data = Growing::<W>::with_capacity(total);
        let mut nulls = NullsBuilder::default();
        for part in parts {
            match &mut cache {
                Some(cache) if cx.sequential && is_kept::<W>(part) => {
                    let block = cache
                        .get_or_decode(part.block.ordinal, || self.read_whole::<W>(part, cx))?;
                    data.append(part.selected(), |slots| {
                        let is_whole =
                            slots.copy_ranges_from_le(&block.data, part.ranges.iter().cloned());
                        is_whole.then_some(()).ok_or_else(|| {
                            let len = block.data.len() / W::BYTES;
                            self.buffer.too_few(part.len as u64, len as u64)
                        })
                    })?;
                    nulls.append_ranges(&part.ranges, block.nulls.as_ref());
                    if part.ends_block() {
                        cache.clear();
                    }
                }
                _ => data
                    .append(part.selected(), |slots| {
                        self.read_part(part, cx, slots, &mut nulls)
                    })
                    .within(|| format!("block {}", part.block.ordinal))?,
            }
        }
        Ok(Numbers {
            data: data.into(),
            nulls: nulls.finish(),
        })
    }

    /// Decodes the whole block that contains a part.
    fn read_whole<W: Word>(&self, part: &BlockPart, cx: &mut ReadContext<'_>) -> Result<Numbers> {
        let whole = part.whole();
        self.read::<W>(std::slice::from_ref(&whole), cx, None)
    }

    fn read_part<W: Word>(
        &self,
        part: &BlockPart,
        cx: &mut ReadContext<'_>,
        dst: &mut Slots<'_, W>,
        nulls: &mut NullsBuilder,
    ) -> Result<()> {
        let bytes = block_bytes(self.buffer, self.blocks, &part.block, cx)?;
        let block = envelope::open(&bytes)?;
        if part.is_whole() {
            number::fill(block.values, self.kind, &mut cx.decoding(), dst)?;
        } else {
            let (values, len) = (block.values, part.len);
            number::decode_selected(
                values,
                self.kind,
                len,
                &part.ranges,
                &mut cx.decoding(),
                dst.values(),
            )?;
        }
        check_section(block.presence, self.embedded_presence)?;
        nulls.append_section(block.presence, part)
    }
}

/// Checks that a block has a presence section only if its buffer has embedded presence.
fn check_section(section: &[u8], embedded: bool) -> Result<()> {
    if !embedded && !section.is_empty() {
        return Err(Error::corrupt(
            "a presence section in a buffer without presence",
        ));
    }
    Ok(())
}

/// A builder of presence bits. Without nulls, it needs no memory.
#[derive(Default)]
pub(super) struct NullsBuilder {
    len: usize,
    bits: Option<BooleanBufferBuilder>,
}

impl NullsBuilder {
    fn bits(&mut self) -> &mut BooleanBufferBuilder {
        let len = self.len;
        self.bits.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(len);
            bits.append_n(len, true);
            bits
        })
    }

    pub(super) fn append(&mut self, len: usize, presence: Option<&BooleanBuffer>) {
        if let Some(presence) = presence {
            self.bits().append_buffer(presence);
        } else if let Some(bits) = &mut self.bits {
            bits.append_n(len, true);
        }
        self.len += len;
    }

    /// Appends the presence of ranges of a block that was decoded before.
    pub(super) fn append_ranges(
        &mut self,
        ranges: &[Range<usize>],
        presence: Option<&BooleanBuffer>,
    ) {
        let len = ranges.iter().map(Range::len).sum();
        let Some(presence) = presence else {
            self.append(len, None);
            return;
        };
        let (bits, offset) = (self.bits(), presence.offset());
        for range in ranges {
            bits.append_packed_range(range.start + offset..range.end + offset, presence.values());
        }
        self.len += len;
    }

    /// Appends the presence of a block's selected values: the presence section, if the buffer has `embedded`
    /// presence, without the values that `decode` marks as null.
    pub(super) fn append_block(
        &mut self,
        section: &[u8],
        embedded: bool,
        part: &BlockPart,
        decode: impl FnOnce(&mut NullsOut<'_>) -> Result<()>,
    ) -> Result<()> {
        check_section(section, embedded)?;
        let mut bits = BooleanBufferBuilder::new(part.selected());
        if part.is_whole() {
            presence::decode(section, part.len, &mut bits)?;
        } else {
            presence::decode_selected(section, part.len, &part.ranges, &mut bits)?;
        }
        let mut nulls = NullsOut::new(&mut bits, 0);
        decode(&mut nulls)?;
        let bits = (nulls.cleared() > 0 || !section.is_empty()).then(|| bits.finish());
        self.append(part.selected(), bits.as_ref());
        Ok(())
    }

    /// Appends the selected part of a block's presence section.
    fn append_section(&mut self, section: &[u8], part: &BlockPart) -> Result<()> {
        if section.is_empty() {
            self.append(part.selected(), None);
            return Ok(());
        }
        if part.is_whole() {
            presence::decode(section, part.len, self.bits())?;
            self.len += part.len;
            return Ok(());
        }
        presence::decode_selected(section, part.len, &part.ranges, self.bits())?;
        self.len += part.selected();
        Ok(())
    }

    pub(super) fn finish(self) -> Option<BooleanBuffer> {
        self.bits.map(|mut bits| bits.finish())
    }
}

/// Reads bits of a bit buffer, which is raw or has blocks of u8.
///
/// # Errors
/// Returns the errors of [`read_numbers`].
pub fn read_bits(
    buffer: &StoredBuffer,
    positions: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut BlockCache<Numbers>,
) -> Result<BooleanBuffer> {
    let elements = positions.bytes_of_bits();
    let bytes = read_numbers::<u8>(buffer, NumberKind::Unsigned, false, &elements, cx, cache)?.data;
    if let Some(range) = positions.as_range() {
        let offset = (range.start % 8) as usize;
        return Ok(BooleanBuffer::new(
            bytes,
            offset,
            to_usize(positions.len())?,
        ));
    }
    let mut bits = BooleanBufferBuilder::new(to_usize(positions.len())?);
    // `stretch_bit` is the index in `bytes` of the first bit of the stretch that contains the range.
    let (mut stretch_start, mut stretch_bit, mut total) = (0, 0, 0);
    let mut stretches = elements.ranges().iter();
    for range in positions.ranges() {
        while range.start / 8 >= stretch_start + total / 8 {
            let Some(stretch) = stretches.next() else {
                return Err(Error::corrupt("bits out of order"));
            };
            stretch_bit += total;
            stretch_start = stretch.start;
            total = (stretch.end - stretch.start) * 8;
        }
        let first = to_usize(stretch_bit + range.start - stretch_start * 8)?;
        bits.append_packed_range(first..first + to_usize(range.end - range.start)?, &bytes);
    }
    Ok(bits.finish())
}

#[cfg(test)]
mod tests;
