//! Spec: Chapter 7, "Block map" (docs/format.md, "Block streams").
//!
//! ```text
//! segment records | segment logical offsets | segment record offsets | footer
//!
//! record: u64 first position | u64 first byte | u32 least logical size | u32 least byte size
//!         u8 bits of logical sizes | u8 bits of byte sizes | u16 blocks
//!         logical sizes - least, padded to 4 | byte sizes - least, padded to 8
//! footer: u64 values | u64 blocks | u64 segments | u64 blocks per segment [| u64 data bytes]
//! ```

use crate::error::{Error, Result, to_usize};
use std::ops::Range;

/// Blocks per segment in maps from this writer.
const SEGMENT_BLOCKS: usize = 1024;
/// Bytes of a segment record before its packed sizes.
const RECORD_HEADER: usize = 28;
/// Bytes of the footer that this writer writes, with `data_size`.
const FOOTER: usize = 40;
/// Bytes of the footer printed in Chapter 7, without `data_size`.
const SHORT_FOOTER: usize = 32;

/// The byte range of each block of a stream, and the positions that it holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockMap {
    /// End of the positions of each block.
    value_ends: Vec<u64>,
    /// End of the bytes of each block, relative to the start of the buffer.
    byte_ends: Vec<u64>,
}

/// One block of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRange {
    /// Ordinal of the block.
    pub ordinal: usize,
    /// Positions of its values.
    pub values: Range<u64>,
    /// Its bytes, relative to the start of the buffer, including the checksum.
    pub bytes: Range<u64>,
}

impl BlockMap {
    /// Appends a block. Both sizes must be positive.
    pub fn push(&mut self, values: u32, bytes: u32) {
        self.value_ends.push(self.value_count() + u64::from(values));
        self.byte_ends.push(self.data_size() + u64::from(bytes));
    }

    /// Returns the memory that the map takes, in bytes.
    pub fn memory_size(&self) -> u64 {
        size_of_val(self.value_ends.as_slice()) as u64
            + size_of_val(self.byte_ends.as_slice()) as u64
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.value_ends.len()
    }

    #[cfg(feature = "experimental")]
    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.value_ends.is_empty()
    }

    /// Returns the number of values in all blocks.
    pub fn value_count(&self) -> u64 {
        self.value_ends.last().copied().unwrap_or(0)
    }

    /// Returns the number of bytes of all blocks, without the padding after them.
    pub fn data_size(&self) -> u64 {
        self.byte_ends.last().copied().unwrap_or(0)
    }

    /// Returns block `ordinal`, or `None` past the last one.
    pub fn block(&self, ordinal: usize) -> Option<BlockRange> {
        let start = |ends: &[u64]| match ordinal {
            0 => 0,
            i => ends.get(i - 1).copied().unwrap_or(0),
        };
        Some(BlockRange {
            ordinal,
            values: start(&self.value_ends)..*self.value_ends.get(ordinal)?,
            bytes: start(&self.byte_ends)..*self.byte_ends.get(ordinal)?,
        })
    }

    /// Returns the blocks that hold any of the given positions, in order.
    pub fn overlapping(&self, positions: Range<u64>) -> impl Iterator<Item = BlockRange> + '_ {
        let first = self
            .value_ends
            .partition_point(|&end| end <= positions.start);
        (first..self.len())
            .filter_map(|i| self.block(i))
            .take_while(move |b| b.values.start < positions.end)
    }

    /// Appends the stored form. The start of `out` must be a multiple of 8 within the buffer.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let mut logical_offsets = vec![0];
        let mut record_offsets = vec![0];
        let blocks: Vec<BlockRange> = (0..self.len()).filter_map(|i| self.block(i)).collect();
        for segment in blocks.chunks(SEGMENT_BLOCKS) {
            encode_segment(segment, start, out)?;
            logical_offsets.push(segment.last().map_or(0, |b| b.values.end));
            record_offsets.push((out.len() - start) as u64);
        }
        let segments = logical_offsets.len() - 1;
        let footer = [
            self.value_count(),
            self.len() as u64,
            segments as u64,
            SEGMENT_BLOCKS as u64,
            self.data_size(),
        ];
        for number in logical_offsets.iter().chain(&record_offsets).chain(&footer) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        Ok(())
    }

    /// Parses a block map, with all its segments.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the map contradicts itself, or if its blocks exceed
    /// the `data_section` bytes before it.
    pub fn parse(map: &[u8], data_section: u64) -> Result<Self> {
        let layout = BlockMapLayout::find(map)?;
        let mut parsed = Self::default();
        for segment in 0..layout.segments {
            let record = map
                .get(layout.record(map, segment)?)
                .ok_or_else(|| Error::corrupt("block map: a segment record exceeds the map"))?;
            let expected_blocks = (layout.blocks - parsed.len() as u64).min(layout.segment_blocks);
            parsed
                .parse_segment(record, expected_blocks)
                .map_err(|e| e.within(format!("block map, segment {segment}")))?;
            if parsed.value_count() != layout.logical_offset(map, segment + 1)? {
                return Err(Error::corrupt(format!(
                    "block map: the sizes of segment {segment} disagree with the segment list"
                )));
            }
        }
        if parsed.len() as u64 != layout.blocks || parsed.value_count() != layout.values {
            return Err(Error::corrupt(format!(
                "block map: the footer promises {} blocks and {} values, the segments hold {} and {}",
                layout.blocks,
                layout.values,
                parsed.len(),
                parsed.value_count()
            )));
        }
        if layout
            .data_size
            .is_some_and(|size| size != parsed.data_size())
            || parsed.data_size() > data_section
        {
            return Err(Error::corrupt(format!(
                "block map: blocks of {} bytes in a data section of {data_section}",
                parsed.data_size()
            )));
        }
        Ok(parsed)
    }

    fn parse_segment(&mut self, record: &[u8], expected_blocks: u64) -> Result<()> {
        let short = || Error::corrupt(format!("a record of {} bytes is too short", record.len()));
        let header = record.get(..RECORD_HEADER).ok_or_else(short)?;
        if le_u64(header, 0) != self.value_count() || le_u64(header, 8) != self.data_size() {
            return Err(Error::corrupt(
                "does not start where the previous segment ends",
            ));
        }
        let (least_values, least_bytes) = (le_u32(header, 16), le_u32(header, 20));
        let (value_width, byte_width) = (size_width(header[24])?, size_width(header[25])?);
        let blocks = usize::from(u16::from_le_bytes([header[26], header[27]]));
        if blocks as u64 != expected_blocks {
            return Err(Error::corrupt(format!(
                "holds {blocks} blocks instead of {expected_blocks}"
            )));
        }
        let values_end = RECORD_HEADER + blocks * value_width;
        let values = record.get(RECORD_HEADER..values_end).ok_or_else(short)?;
        let bytes_start = values_end.next_multiple_of(4);
        let bytes = record
            .get(bytes_start..bytes_start + blocks * byte_width)
            .ok_or_else(short)?;
        let sizes = values
            .chunks_exact(value_width)
            .zip(bytes.chunks_exact(byte_width));
        for (value_size, byte_size) in sizes {
            let size = |packed: &[u8], least: u32| {
                let mut word = [0; 4];
                word[..packed.len()].copy_from_slice(packed);
                least
                    .checked_add(u32::from_le_bytes(word))
                    .filter(|&size| size > 0)
                    .ok_or_else(|| Error::corrupt("a block has no size or one above 32 bits"))
            };
            self.push(
                size(value_size, least_values)?,
                size(byte_size, least_bytes)?,
            );
        }
        Ok(())
    }
}

fn encode_segment(segment: &[BlockRange], map_start: usize, out: &mut Vec<u8>) -> Result<()> {
    let size = |range: &Range<u64>| {
        u32::try_from(range.end - range.start).map_err(|_| Error::corrupt("a block exceeds 4 GiB"))
    };
    let values = segment
        .iter()
        .map(|b| size(&b.values))
        .collect::<Result<Vec<u32>>>()?;
    let bytes = segment
        .iter()
        .map(|b| size(&b.bytes))
        .collect::<Result<Vec<u32>>>()?;
    let extent = |sizes: &[u32]| {
        let least = sizes.iter().copied().min().unwrap_or(0);
        (least, sizes.iter().copied().max().unwrap_or(0) - least)
    };
    let bits = |extent: u32| match extent {
        0..=0xff => 8,
        0x100..=0xffff => 16,
        _ => 32,
    };
    let (least_values, value_extent) = extent(&values);
    let (least_bytes, byte_extent) = extent(&bytes);
    let first = &segment[0];
    out.extend_from_slice(&first.values.start.to_le_bytes());
    out.extend_from_slice(&first.bytes.start.to_le_bytes());
    out.extend_from_slice(&least_values.to_le_bytes());
    out.extend_from_slice(&least_bytes.to_le_bytes());
    out.extend_from_slice(&[bits(value_extent), bits(byte_extent)]);
    let blocks = u16::try_from(segment.len()).map_err(|_| Error::corrupt("segment too long"))?;
    out.extend_from_slice(&blocks.to_le_bytes());
    for (sizes, least, bits, align) in [
        (&values, least_values, bits(value_extent), 4),
        (&bytes, least_bytes, bits(byte_extent), 8),
    ] {
        for size in sizes {
            out.extend_from_slice(&(size - least).to_le_bytes()[..usize::from(bits / 8)]);
        }
        let padded = (out.len() - map_start).next_multiple_of(align);
        out.resize(map_start + padded, 0);
    }
    Ok(())
}

/// The fixed parts of a block map: its footer and the start of its segment list.
struct BlockMapLayout {
    values: u64,
    blocks: u64,
    segments: u64,
    segment_blocks: u64,
    data_size: Option<u64>,
    list_start: usize,
}

impl BlockMapLayout {
    /// Finds the footer. It has two possible lengths; with the right one, the segment list starts where the
    /// last segment record ends.
    fn find(map: &[u8]) -> Result<Self> {
        let long = Self::with_footer(map, FOOTER);
        if long.is_ok() {
            return long;
        }
        Self::with_footer(map, SHORT_FOOTER).or(long)
    }

    fn with_footer(map: &[u8], footer_len: usize) -> Result<Self> {
        let short = || Error::corrupt(format!("block map: {} bytes are too few", map.len()));
        let footer_start = map.len().checked_sub(footer_len).ok_or_else(short)?;
        let footer = &map[footer_start..];
        let segments = le_u64(footer, 16);
        let list_start = segments
            .checked_add(1)
            .and_then(|n| n.checked_mul(16))
            .and_then(|len| (footer_start as u64).checked_sub(len))
            .ok_or_else(|| {
                Error::corrupt(format!("block map: {segments} segments do not fit in it"))
            })?;
        let layout = Self {
            values: le_u64(footer, 0),
            blocks: le_u64(footer, 8),
            segments,
            segment_blocks: le_u64(footer, 24),
            data_size: (footer_len == FOOTER).then(|| le_u64(footer, 32)),
            list_start: to_usize(list_start)?,
        };
        if layout.record_offset(map, segments)? != list_start
            || layout.record_offset(map, 0)? != 0
            || layout.logical_offset(map, 0)? != 0
        {
            return Err(Error::corrupt(
                "block map: the segment list does not meet the segment records",
            ));
        }
        let capacity = layout.segment_blocks.checked_mul(segments);
        let plausible = layout.values >= layout.blocks
            && layout.blocks >= segments
            && layout.segment_blocks <= u64::from(u16::MAX)
            && capacity.is_some_and(|c| c >= layout.blocks)
            && (segments == 0 || layout.blocks > layout.segment_blocks * (segments - 1));
        if !plausible {
            return Err(Error::corrupt(format!(
                "block map: {} values, {} blocks, {segments} segments of {} blocks contradict each other",
                layout.values, layout.blocks, layout.segment_blocks
            )));
        }
        Ok(layout)
    }

    fn logical_offset(&self, map: &[u8], segment: u64) -> Result<u64> {
        self.list_entry(map, segment)
    }

    fn record_offset(&self, map: &[u8], segment: u64) -> Result<u64> {
        self.list_entry(map, self.segments + 1 + segment)
    }

    fn list_entry(&self, map: &[u8], entry: u64) -> Result<u64> {
        let at = self.list_start + to_usize(entry)? * 8;
        map.get(at..at + 8)
            .map(|bytes| le_u64(bytes, 0))
            .ok_or_else(|| Error::corrupt("block map: the segment list exceeds the map"))
    }

    fn record(&self, map: &[u8], segment: u64) -> Result<Range<usize>> {
        let start = self.record_offset(map, segment)?;
        let end = self.record_offset(map, segment + 1)?;
        if start >= end {
            return Err(Error::corrupt("block map: segment records do not ascend"));
        }
        Ok(to_usize(start)?..to_usize(end)?)
    }
}

fn size_width(bits: u8) -> Result<usize> {
    match bits {
        8 | 16 | 32 => Ok(usize::from(bits / 8)),
        _ => Err(Error::corrupt(format!(
            "sizes of {bits} bits, expected 8, 16 or 32"
        ))),
    }
}

/// Returns the u64 at byte `at`, which the caller has checked to exist.
fn le_u64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Returns the u32 at byte `at`, which the caller has checked to exist.
fn le_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map_of(blocks: &[(u32, u32)]) -> BlockMap {
        let mut map = BlockMap::default();
        for &(values, bytes) in blocks {
            map.push(values, bytes);
        }
        map
    }

    fn encoded(map: &BlockMap) -> Vec<u8> {
        let mut out = Vec::new();
        map.encode(&mut out).unwrap();
        out
    }

    #[test]
    fn bytes_are_those_of_the_format() {
        let empty = encoded(&BlockMap::default());
        assert_eq!(empty.len(), 56);
        assert_eq!(empty[40..48], 1024u64.to_le_bytes());

        let one = encoded(&map_of(&[(111, 7)]));
        assert_eq!(one.len(), 112);
        assert_eq!(one[16..28], [0x6f, 0, 0, 0, 7, 0, 0, 0, 8, 8, 1, 0]);

        let three = encoded(&map_of(&[(2048, 8216), (2048, 8216), (904, 3648)]));
        assert_eq!(
            three[16..48],
            [
                0x88, 3, 0, 0, 0x40, 0xe, 0, 0, 0x10, 0x10, 3, 0, 0x78, 4, 0x78, 4, 0, 0, 0, 0,
                0xd8, 0x11, 0xd8, 0x11, 0, 0, 0, 0, 0, 0, 0, 0
            ]
        );
        assert_eq!(three[three.len() - 8..], 20080u64.to_le_bytes());
    }

    #[test]
    fn the_footer_that_chapter_7_prints_is_accepted() {
        let map = map_of(&[(10, 32), (20, 40)]);
        let mut bytes = encoded(&map);
        bytes.truncate(bytes.len() - 8);
        assert_eq!(BlockMap::parse(&bytes, 80).unwrap(), map);
    }

    #[test]
    fn overlapping_finds_exactly_the_blocks_of_a_range() {
        let map = map_of(&[(10, 1), (10, 1), (10, 1)]);
        let ordinals = |r| map.overlapping(r).map(|b| b.ordinal).collect::<Vec<_>>();
        assert_eq!(ordinals(9..10), [0]);
        assert_eq!(ordinals(9..11), [0, 1]);
        assert_eq!(ordinals(10..30), [1, 2]);
        assert_eq!(ordinals(30..40), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(blocks in prop::collection::vec((1u32..1 << 20, 1u32..1 << 20), 0..3000)) {
            let map = map_of(&blocks);
            prop_assert_eq!(BlockMap::parse(&encoded(&map), map.data_size()).unwrap(), map);
        }

        #[test]
        fn damaged_maps_never_panic(
            blocks in prop::collection::vec((1u32..3000, 1u32..300), 0..40),
            at in any::<prop::sample::Index>(),
            with in any::<u64>(),
        ) {
            let map = map_of(&blocks);
            let mut bytes = encoded(&map);
            let at = at.index(bytes.len() / 8) * 8;
            bytes[at..at + 8].copy_from_slice(&with.to_le_bytes());
            let _ = BlockMap::parse(&bytes, map.data_size());
            let _ = BlockMap::parse(&bytes[..at], map.data_size());
        }
    }
}
