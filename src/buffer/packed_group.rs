//! Spec: Chapter 6, "Packed Group Encoding"; docs/format.md, "Packed groups": the blocks of a struct's
//! members side by side, so that one request reads them all.
//!
//! ```text
//! members u32 | size of each u32 | pad to 8 | block 0 | pad to 8 | block 1 | ... | pad | checksum u32
//! ```
//! The padding before the checksum makes the size of the super-block a multiple of 8.

use super::own_properties::OwnProperties;
use super::stored_buffer::{Body, StoredBuffer, StoredRange, stored_buffer};
use crate::error::{Error, Result, to_usize};
use crate::format::{BufferKind, DataEncoding, StripeFieldDescriptor, checksum};
use crate::io::ByteRange;
use std::ops::Range;

const WORD: usize = size_of::<u32>();

/// The packed group of a struct, which holds the blocks of its members.
#[derive(Debug)]
pub struct PackedGroup {
    buffer: StoredBuffer,
}

impl PackedGroup {
    /// Finds the packed group of a struct. Returns `None` if it has none. `artifact` returns the number of an
    /// artifact for its URL.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if its descriptor contradicts itself.
    pub fn try_new(
        descriptor: &StripeFieldDescriptor,
        artifact: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Option<Self>> {
        for (encoding, described) in descriptor.encodings.iter().enumerate() {
            let DataEncoding::Native(native) = described else {
                continue;
            };
            let mut buffers = native.buffers.iter().enumerate();
            let data = buffers.find(|(_, buffer)| buffer.kind == BufferKind::Data);
            let Some((ordinal, data)) = data.filter(|_| native.packed_group) else {
                continue;
            };
            let notes = OwnProperties::from_properties(&descriptor.field.custom_properties)?;
            let buffer = stored_buffer(data, encoding, ordinal, &notes, artifact)
                .map_err(|e| e.within("packed group"))?;
            if let Body::Raw(_) = buffer.body {
                return Err(Error::corrupt("a packed group without a block map"));
            }
            return Ok(Some(Self { buffer }));
        }
        Ok(None)
    }

    /// Returns the place of the buffer, the range of its block map, and whether super-blocks have checksums.
    pub fn parts(&self) -> (StoredRange, Option<ByteRange>, bool) {
        let (map, checksums) = match &self.buffer.body {
            Body::Blocks(blocks) => (Some(blocks.map_range), blocks.checksums),
            Body::Raw(_) => (None, false),
        };
        (self.buffer.place, map, checksums)
    }

    /// Returns the blocks of a member. All members share the block map and the verified super-blocks.
    pub(super) fn member(&self, index: u32) -> Result<StoredBuffer> {
        let Body::Blocks(blocks) = &self.buffer.body else {
            return Err(Error::corrupt("a packed group without a block map"));
        };
        Ok(StoredBuffer {
            kind: BufferKind::Data,
            place: self.buffer.place,
            body: Body::Blocks(blocks.of_member(index)),
        })
    }
}

/// Returns the range of a member's block in a super-block without its checksum.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the super-block lacks the member, or if its length contradicts
/// its header.
pub fn member_block(super_block: &[u8], index: u32) -> Result<Range<usize>> {
    let word = |i: usize| {
        let bytes = super_block.get(i * WORD..)?.first_chunk::<WORD>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let too_short = || {
        Error::corrupt(format!(
            "a super-block of {} bytes ends within its members",
            super_block.len()
        ))
    };
    let count = word(0).ok_or_else(too_short)?;
    if index >= count {
        return Err(Error::corrupt(format!(
            "a super-block has {count} members, member {index} was expected"
        )));
    }
    let words = to_usize(u64::from(count))?.saturating_add(1);
    let header = words.saturating_mul(WORD);
    if header > super_block.len() {
        return Err(too_short());
    }
    let mut block = 0..header;
    for i in 0..=to_usize(u64::from(index))? {
        let size = to_usize(u64::from(word(i + 1).ok_or_else(too_short)?))?;
        let start = block.end.checked_next_multiple_of(8);
        let end = start.and_then(|start| start.checked_add(size));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(too_short());
        };
        block = start..end;
    }
    if block.end > super_block.len() {
        return Err(too_short());
    }
    if index == count - 1 && super_block.len() - block.end >= 8 {
        return Err(Error::corrupt(format!(
            "{} bytes follow the members of a super-block, and padding has at most 7",
            super_block.len() - block.end
        )));
    }
    Ok(block)
}

/// Writes a super-block of `members` members to `out`, which is cleared first. `block` appends the block of each.
///
/// # Errors
/// Returns the errors of `block`, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a block exceeds
/// 4 GiB.
pub(super) fn write_super_block(
    members: usize,
    out: &mut Vec<u8>,
    mut block: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let too_big = |_| Error::invalid("a block of a packed group exceeds 4 GiB");
    let count = u32::try_from(members).map_err(too_big)?;
    out.clear();
    out.extend_from_slice(&count.to_le_bytes());
    out.resize((members + 1) * WORD, 0);
    for member in 0..members {
        let start = out.len().next_multiple_of(8);
        out.resize(start, 0);
        block(member, out)?;
        let size = u32::try_from(out.len() - start).map_err(too_big)?;
        if let Some(place) = out.get_mut((member + 1) * WORD..(member + 2) * WORD) {
            place.copy_from_slice(&size.to_le_bytes());
        }
    }
    let size = (out.len() + WORD).next_multiple_of(8);
    out.resize(size - WORD, 0);
    let sum = checksum(out);
    out.extend_from_slice(&sum.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::envelope::strip_checksum;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_super_block_has_the_blocks_that_were_written(
            blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6),
        ) {
            let mut out = Vec::new();
            write_super_block(blocks.len(), &mut out, |i, out| {
                out.extend(&blocks[i]);
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(out.len() % 8, 0);
            let content = strip_checksum(&out, true).unwrap();
            for (i, block) in (0u32..).zip(&blocks) {
                let range = member_block(content, i).unwrap();
                prop_assert_eq!(range.start % 8, 0);
                prop_assert_eq!(&content[range], &block[..]);
            }
            let count = u32::try_from(blocks.len()).unwrap();
            prop_assert!(member_block(content, count).is_err());
            for end in 0..content.len().saturating_sub(12) {
                let last = count - 1;
                if content.len() - end > 8 {
                    let read = member_block(&content[..end], last);
                    prop_assert!(read.is_err() || read.unwrap().end <= end);
                }
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            count in 0u32..9,
            index: u8,
        ) {
            let mut bytes = bytes;
            if let Some(place) = bytes.get_mut(..4) {
                place.copy_from_slice(&count.to_le_bytes());
            }
            if let Ok(range) = member_block(&bytes, u32::from(index % 9)) {
                prop_assert!(range.start <= range.end && range.end <= bytes.len());
            }
        }
    }

    #[test]
    fn surplus_bytes_and_huge_counts_are_refused() {
        let mut out = Vec::new();
        write_super_block(1, &mut out, |_, out| {
            out.extend([1, 2, 3]);
            Ok(())
        })
        .unwrap();
        let content = strip_checksum(&out, true).unwrap();
        assert_eq!(member_block(content, 0).unwrap(), 8..11);
        let longer = [content, &[0; 8]].concat();
        assert!(member_block(&longer, 0).is_err());
        let mut many = content.to_vec();
        many[..4].fill(0xff);
        assert!(member_block(&many, 0).is_err());
    }
}
