//! Spec: docs/format.md, "Checksums of raw buffers and block maps": the checksums that a buffer carries,
//! repeated in the descriptor, which shows whether an intact block belongs to another file.

use crate::encoding::envelope;
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::io::ByteRange;

/// Most blocks with checksums that a descriptor repeats. If there are more blocks, their checksums are listed before
/// the block map, which has about the same size. A block takes at least two bytes of the map, so
/// buffers with a copied map (at most 4,096 bytes) do not exceed this number.
pub(super) const MAX_REPEATED_CHECKSUMS: usize = 2048;

/// The checksums that the parts of a buffer must carry, in the order of the parts: the blocks of a
/// stream, the header and sections of a value dictionary, or the parts of a range index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedChecksums(Box<[u32]>);

impl CarriedChecksums {
    /// Takes the expected checksums.
    pub fn new(checksums: Vec<u32>) -> Self {
        Self(checksums.into())
    }

    /// Reads the checksums from a list of little-endian numbers.
    pub fn from_list(list: &[u8]) -> Self {
        let (words, _) = list.as_chunks();
        Self(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Returns the number of parts.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the checksum that a part must carry.
    pub fn get(&self, ordinal: usize) -> Option<u32> {
        self.0.get(ordinal).copied()
    }

    /// Returns the memory that the checksums take, in bytes.
    pub fn memory_size(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }

    /// Compares the checksum at the end of a block with the expected one.
    ///
    /// # Errors
    /// [`WrongFile`](ErrorKind::WrongFile) if the checksum has changed since the block was written.
    pub fn check_block(&self, ordinal: usize, block: &[u8]) -> Result<()> {
        match (self.0.get(ordinal), envelope::stored_checksum(block)) {
            (Some(expected), Some(found)) if *expected == found => Ok(()),
            (expected, found) => Err(wrong_file(expected.copied(), found)),
        }
    }

    /// Compares the checksums of all parts with the expected ones.
    ///
    /// # Errors
    /// [`WrongFile`](ErrorKind::WrongFile) if one of them has changed since the buffer was written.
    pub fn check_all(&self, found: &[u32]) -> Result<()> {
        if *found == *self.0 {
            return Ok(());
        }
        let differs = |i: &usize| self.0.get(*i) != found.get(*i);
        let first = (0..self.count().max(found.len()))
            .find(differs)
            .unwrap_or(0);
        Err(wrong_file(
            self.0.get(first).copied(),
            found.get(first).copied(),
        ))
    }
}

/// Returns the error for bytes that are whole, but carry another checksum than the expected one.
#[cold]
pub(crate) fn wrong_file(expected: Option<u32>, found: Option<u32>) -> Error {
    let text = |sum: Option<u32>| sum.map_or("none".to_owned(), |sum| format!("{sum:08x}"));
    Error::new(
        ErrorKind::WrongFile,
        format!(
            "the bytes are whole, but are not those that the shard was written with (checksum {}, expected \
             {}): another file has this name now; put the right one back",
            text(found),
            text(expected)
        ),
    )
}

/// Returns the range of the list of block checksums, which is at the end of the bytes before the block map.
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) if the list does not fit into the buffer.
pub(super) fn list_range(buffer: ByteRange, map: ByteRange, blocks: u64) -> Result<ByteRange> {
    let len = blocks.checked_mul(4);
    let start = len.and_then(|len| map.start().checked_sub(len));
    match start.filter(|start| *start >= buffer.start()) {
        Some(start) => ByteRange::try_new(start, map.start()),
        None => Err(Error::corrupt(format!(
            "the list of the checksums of {blocks} blocks does not fit between {buffer} and {map}"
        ))),
    }
}

/// Returns the stored form of the list of block checksums.
pub(super) fn encode_list(checksums: &[u32]) -> Vec<u8> {
    checksums.iter().flat_map(|sum| sum.to_le_bytes()).collect()
}

/// Returns the checksums at the ends of consecutive parts. Parts without bytes have none.
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) if there are too few bytes.
pub(super) fn checksums_at_ends(
    bytes: &[u8],
    parts: impl IntoIterator<Item = ByteRange>,
) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for part in parts {
        if part.is_empty() {
            continue;
        }
        let end = to_usize(part.end())?;
        let sum = bytes.get(..end).and_then(envelope::stored_checksum);
        found.push(sum.ok_or_else(|| Error::corrupt("a part without a checksum"))?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::own_properties::OwnProperties;
    use super::super::stored_buffer::{Body, StoredBuffer, stored_buffer};
    use super::super::test_source::TestSource;
    use super::super::{BlockCache, BlockStreamWriter, ReadContext, Selection, read_numbers};
    use super::*;
    use crate::encoding::number::{Plan, encode};
    use crate::encoding::{Dictionaries, NumberKind, Scratch};
    use crate::format::{BufferKind, EncodedBuffer};
    use crate::limits::Limits;
    use bytes::Bytes;
    use std::sync::Arc;

    /// Writes a stream of blocks of one number each. Returns its description, bytes, and notes.
    fn stream(blocks: u32, first: u32, is_listed: bool) -> (EncodedBuffer, Bytes, OwnProperties) {
        let mut writer = BlockStreamWriter::new(Arc::default());
        for i in 0..blocks {
            let value = [first.wrapping_add(i).wrapping_mul(77_777)];
            let encoded =
                |out: &mut Vec<u8>| encode(&value, NumberKind::Unsigned, &Plan::Plain, out);
            writer.push(1, &[], encoded).unwrap();
        }
        let mut finished = writer.finish(BufferKind::Data).unwrap();
        if is_listed {
            finished.list_checksums();
            finished.list_checksums();
        }
        let (mut bytes, mut notes) = (Vec::new(), OwnProperties::default());
        let append = |some: &[u8]| {
            bytes.extend_from_slice(some);
            Ok(())
        };
        finished.write(append).unwrap();
        let described = finished.describe("", 0, 0, &mut notes).unwrap();
        assert_eq!(
            bytes.len() as u64,
            described.buffer.as_ref().unwrap().range.len()
        );
        let notes = OwnProperties::from_properties(&notes.to_properties()).unwrap();
        (described, bytes.into(), notes)
    }

    /// Reads all numbers of a buffer from these bytes.
    fn read(described: &EncodedBuffer, notes: &OwnProperties, bytes: &Bytes) -> Result<Vec<u8>> {
        let buffer: StoredBuffer = stored_buffer(described, 0, 0, notes, &mut |_| Ok(0))?;
        let Body::Blocks(blocks) = &buffer.body else {
            return Err(Error::corrupt("blocks were expected"));
        };
        let map = bytes.slice(blocks.described_in()?.to_usize()?);
        blocks.load_map(buffer.place.range, &map, true)?;
        let elements = Selection::range(0..blocks.map().unwrap().value_count());
        let limits = Limits::default();
        let mut cx = ReadContext {
            source: &TestSource::fetched(bytes.clone()),
            limits: &limits,
            scratch: &mut Scratch::default(),
            dictionaries: Dictionaries::none(),
            verify: true,
            sequential: false,
        };
        let mut cache = BlockCache::default();
        let kind = NumberKind::Unsigned;
        let numbers = read_numbers::<u32>(&buffer, kind, false, &elements, &mut cx, &mut cache)?;
        Ok(numbers.data.to_vec())
    }

    #[test]
    fn blocks_of_another_stream_are_refused_however_many_there_are() {
        let most = u32::try_from(MAX_REPEATED_CHECKSUMS).unwrap();
        for blocks in [1, 5, most, most + 1, 3 * most + 1, 20 * most] {
            let (described, bytes, notes) = stream(blocks, 0, true);
            let (same, other, _) = stream(blocks, 1, true);
            assert_eq!(described, same);
            let map = described.block_map.as_ref().unwrap().range;
            assert_eq!(map.start() % 16, 0);
            let values = read(&described, &notes, &bytes).unwrap();
            assert_eq!(values.len(), 4 * blocks as usize);
            // First the whole other file, then its blocks with the list and the map of this one.
            let whole = read(&described, &notes, &other).unwrap_err();
            let list = map.start()
                - if blocks > most {
                    u64::from(blocks) * 4
                } else {
                    0
                };
            let cut = usize::try_from(list).unwrap();
            let mixed = [&other[..cut], &bytes[cut..]].concat();
            let error = read(&described, &notes, &mixed.into()).unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::WrongFile,
                "{blocks} blocks: {error}"
            );
            assert!(
                error.to_string().contains("block 0, file `s.stripe`: "),
                "{error}"
            );
            let expected = if blocks > most {
                ErrorKind::Checksum
            } else {
                ErrorKind::WrongFile
            };
            assert_eq!(whole.kind(), expected, "{blocks} blocks: {whole}");
        }
    }

    #[test]
    fn a_stream_without_a_list_is_read_and_a_list_needs_room() {
        let (described, bytes, notes) = stream(5000, 0, false);
        assert!(read(&described, &notes, &bytes).is_ok());
        assert_eq!(notes.checksums.carried(0, 0), None);
        let (mut described, bytes, notes) = stream(5000, 0, true);
        let mut damaged = bytes.to_vec();
        let map = described.block_map.as_ref().unwrap().range;
        damaged[usize::try_from(map.start()).unwrap() - 1] ^= 1;
        let error = read(&described, &notes, &damaged.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
        // Another number of blocks needs another number of checksums, or cannot fit the map.
        for blocks in [0, 4999, 5001, 1 << 40, u64::MAX] {
            described.block_count = Some(blocks);
            let error = read(&described, &notes, &bytes).unwrap_err();
            let kinds = [ErrorKind::Corrupt, ErrorKind::Checksum];
            assert!(kinds.contains(&error.kind()), "{blocks}: {error}");
        }
    }

    #[test]
    fn a_difference_names_the_first_part_that_has_it() {
        let expected = CarriedChecksums::new(vec![1, 2, 3]);
        assert!(expected.check_all(&[1, 2, 3]).is_ok());
        for (found, text) in [
            (vec![1, 9, 9], "checksum 00000009, expected 00000002"),
            (vec![1, 2], "checksum none, expected 00000003"),
            (vec![1, 2, 3, 4], "checksum 00000004, expected none"),
        ] {
            let error = expected.check_all(&found).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongFile);
            assert!(error.message().contains(text), "{error}");
        }
    }
}
