//! The blocks of encoded buffers, a few megabytes at a time.

use crate::buffer::{BlockMap, BlockRange, Physical};
use crate::encoding::NumberKind;
use crate::format::{BufferKind, DataType};
use crate::read::scan::source::number_kind;
use std::ops::Range;

/// Most bytes of blocks to read at once, unless a single block has more.
const GROUP_BYTES: u64 = 4 << 20;

/// The elements of a buffer's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum BlockElements {
    /// Numbers of this many bytes.
    Numbers(NumberKind, usize),
    /// Byte values, all of the same size if it is given.
    Bytes(Option<usize>),
    /// Byte values of any size, each after its length.
    Delimited,
}

/// Properties that determine the elements of a DATA buffer.
#[derive(Debug, Clone, Copy)]
pub(in crate::read) struct BufferRole {
    /// The role of the buffer.
    pub(in crate::read) kind: BufferKind,
    /// Whether the field has a value dictionary.
    pub(in crate::read) dictionary: bool,
    /// Whether the blocks carry the offsets of their values.
    pub(in crate::read) embedded_offsets: bool,
    /// Whether the offsets are in a separate buffer.
    pub(in crate::read) separate_offsets: bool,
}

impl BlockElements {
    /// Returns the elements of the blocks of a buffer of `node`; `None` if the buffer has none, or of an unknown type.
    pub(in crate::read) fn of(
        node: &DataType,
        physical: Physical,
        part: BufferRole,
    ) -> Option<Self> {
        let unsigned = |width| Some(Self::Numbers(NumberKind::Unsigned, width));
        match (part.kind, physical) {
            (BufferKind::Presence, _) => unsigned(1),
            (BufferKind::Offsets, _) => unsigned(8),
            (BufferKind::Data, Physical::Presence | Physical::Lists) => None,
            (BufferKind::Data, _) if part.dictionary => unsigned(4),
            (BufferKind::Data, Physical::Bits | Physical::Union) => unsigned(1),
            (BufferKind::Data, Physical::Number(width)) => {
                Some(Self::Numbers(number_kind(node), width))
            }
            (BufferKind::Data, Physical::Fixed(width)) => Some(Self::Bytes(Some(width))),
            (BufferKind::Data, Physical::Bytes) if part.embedded_offsets => Some(Self::Bytes(None)),
            (BufferKind::Data, Physical::Bytes) if part.separate_offsets => unsigned(1),
            (BufferKind::Data, Physical::Bytes) => Some(Self::Delimited),
            _ => None,
        }
    }
}

/// Returns groups of adjacent blocks to read at once, each with its byte range in the buffer.
pub(in crate::read) fn block_groups(
    map: &BlockMap,
) -> impl Iterator<Item = (Range<u64>, Vec<BlockRange>)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = map.block(next)?;
        let mut bytes = first.bytes.clone();
        let mut group = vec![first];
        while let Some(block) = map.block(next + group.len())
            && block.bytes.end - bytes.start <= GROUP_BYTES
        {
            bytes.end = block.bytes.end;
            group.push(block);
        }
        next += group.len();
        Some((bytes, group))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_block_once_and_few_bytes() {
        let mut map = BlockMap::default();
        let sizes = [1000, 5 << 20, 2 << 20, 2 << 20, 1, 8];
        for size in sizes {
            map.push(1024, size);
        }
        let groups: Vec<_> = block_groups(&map).collect();
        let ordinals: Vec<Vec<usize>> = groups
            .iter()
            .map(|(_, g)| g.iter().map(|b| b.ordinal).collect())
            .collect();
        assert_eq!(ordinals, [vec![0], vec![1], vec![2, 3], vec![4, 5]]);
        assert_eq!(groups[3].0, (map.data_size() - 9)..map.data_size());
    }
}
