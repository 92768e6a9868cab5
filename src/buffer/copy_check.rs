//! Spec: docs/format.md, "Checksums of raw buffers and block maps": the checksums of a buffer that is copied, which are
//! compared without decoding anything.

use super::carried_checksums::CarriedChecksums;
use super::checksums::{Chunks, CoveredPart};
use super::opaque_dictionary::OpaqueDictionary;
use super::own_properties::OwnProperties;
use super::stored_buffer::{Body, StoredRange, place, stored_buffer};
use super::{RANGE_INDEX_HEADER, ValueDictionary};
use crate::encoding::envelope;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BufferKind, EncodedBuffer, RunningChecksum};
use bytes::Bytes;

/// Bytes of the checksum at the end of a block.
const CHECKSUM: u64 = 4;

/// Compares the checksums of a buffer with its bytes, which arrive in order, in pieces of any size.
#[derive(Debug)]
pub struct CopyCheck {
    kind: BufferKind,
    place: StoredRange,
    subject: Subject,
    /// Ordinal of the part of the next byte.
    next: usize,
    /// Number of bytes that have arrived.
    position: u64,
    /// Checksum of the bytes of the part so far.
    running: RunningChecksum,
    /// The bytes of the part so far, if they are needed.
    held: Vec<u8>,
}

#[derive(Debug)]
enum Subject {
    Stream(Body),
    /// A range index, with the checksums of its header.
    Index(Chunks),
    ValueDictionary(Option<CarriedChecksums>),
    Compressor(Option<CarriedChecksums>),
}

/// Consecutive bytes of a buffer.
#[derive(Debug, Clone, Copy)]
enum CopiedPart {
    Unchecked,
    /// Bytes with this checksum.
    Chunk(u32),
    /// A block without its checksum.
    Block,
    /// The checksum of the block with this ordinal.
    Stored(usize),
    /// A whole dictionary.
    Dictionary,
}

impl CopyCheck {
    /// Returns the check of a buffer, given its ordinal and that of its encoding; `None` if no checksums are known. A
    /// dictionary of more than `most` bytes, which would be held in memory, is not checked. `artifact` returns the
    /// number of an artifact for its URL.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the description contradicts itself.
    pub fn try_new(
        buffer: &EncodedBuffer,
        (encoding, ordinal): (usize, usize),
        notes: &OwnProperties,
        most: u64,
        artifact: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Option<Self>> {
        if buffer.buffer.is_none() {
            return Ok(None);
        }
        let place = place(buffer.buffer.as_ref(), artifact)?;
        let carried = notes.checksums.carried(encoding, ordinal);
        let fits = place.range.len() <= most;
        let subject = match buffer.kind {
            BufferKind::Data | BufferKind::Presence | BufferKind::Offsets => {
                let stored = stored_buffer(buffer, encoding, ordinal, notes, artifact)?;
                if let Body::Blocks(blocks) = &stored.body
                    && let Some(copy) = &blocks.map_copy
                {
                    blocks.load_map(place.range, copy, true)?;
                }
                Subject::Stream(stored.body)
            }
            BufferKind::ValueDictionary if fits => Subject::ValueDictionary(carried),
            BufferKind::OpaqueDictionary if fits => Subject::Compressor(carried),
            BufferKind::RangeIndex => {
                let (part, len) = (CoveredPart::RangeIndexHeader, RANGE_INDEX_HEADER as u64);
                match notes.checksums.find(encoding, ordinal, part, len)? {
                    Some(chunks) => Subject::Index(chunks),
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Self {
            kind: buffer.kind,
            place,
            subject,
            next: 0,
            position: 0,
            running: RunningChecksum::default(),
            held: Vec::new(),
        }))
    }

    /// Returns the role of the buffer.
    pub fn kind(&self) -> BufferKind {
        self.kind
    }

    /// Returns the place of the buffer.
    pub fn place(&self) -> StoredRange {
        self.place
    }

    /// Returns the place of the bytes that [`load_map`](Self::load_map) takes, if it must be called.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the block map is not in the buffer.
    pub fn map_place(&self) -> Result<Option<StoredRange>> {
        match &self.subject {
            Subject::Stream(Body::Blocks(blocks)) if blocks.map().is_none() => {
                Ok(Some(StoredRange {
                    artifact: self.place.artifact,
                    range: blocks.described_in()?,
                }))
            }
            _ => Ok(None),
        }
    }

    /// Parses the block map, which locates the blocks, and verifies its checksums.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) or [`Checksum`](ErrorKind::Checksum) if the block map is damaged.
    pub fn load_map(&self, bytes: &[u8]) -> Result<()> {
        match &self.subject {
            Subject::Stream(Body::Blocks(blocks)) => blocks.load_map(self.place.range, bytes, true),
            _ => Ok(()),
        }
    }

    /// Takes the next bytes of the buffer, and compares the checksums of the parts that end in them.
    ///
    /// # Errors
    /// [`Checksum`](ErrorKind::Checksum) or [`Corrupt`](ErrorKind::Corrupt) if a part is damaged,
    /// [`WrongFile`](ErrorKind::WrongFile) if it is of another file.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<()> {
        while let Some((end, part)) = self.part(self.next) {
            let left = usize::try_from(end.saturating_sub(self.position)).unwrap_or(usize::MAX);
            let (own, rest) = bytes.split_at(left.min(bytes.len()));
            match part {
                CopiedPart::Unchecked => {}
                CopiedPart::Chunk(_) | CopiedPart::Block => self.running.update(own),
                CopiedPart::Stored(_) | CopiedPart::Dictionary => self.held.extend_from_slice(own),
            }
            self.position += own.len() as u64;
            bytes = rest;
            if self.position < end {
                break;
            }
            self.finish(part)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Returns the end of a part in the buffer, and what it is; `None` after the last part with a checksum.
    fn part(&self, i: usize) -> Option<(u64, CopiedPart)> {
        let chunk = |chunks: &Chunks, i: usize, start: u64| {
            let (end, checksum) = chunks.chunk(i)?;
            Some((start.saturating_add(end), CopiedPart::Chunk(checksum)))
        };
        match &self.subject {
            Subject::Index(chunks) | Subject::Stream(Body::Raw(Some(chunks))) => {
                chunk(chunks, i, 0)
            }
            Subject::Stream(Body::Raw(None)) => None,
            Subject::Stream(Body::Blocks(blocks)) => {
                let map = blocks.map()?;
                // Each block is two parts. Then follow the bytes before the block map, and its chunks.
                let parts = if blocks.checksums { 2 * map.len() } else { 0 };
                let Some(after) = i.checked_sub(parts) else {
                    let bytes = map.block(i / 2)?.bytes;
                    return Some(if i.is_multiple_of(2) {
                        let end = bytes.end.saturating_sub(CHECKSUM).max(bytes.start);
                        (end, CopiedPart::Block)
                    } else {
                        (bytes.end, CopiedPart::Stored(i / 2))
                    });
                };
                let start = blocks.map_range.start() - self.place.range.start();
                match after.checked_sub(1) {
                    None => Some((start, CopiedPart::Unchecked)),
                    Some(i) => chunk(blocks.map_checksums.as_ref()?, i, start),
                }
            }
            Subject::ValueDictionary(_) | Subject::Compressor(_) => {
                (i == 0).then_some((self.place.range.len(), CopiedPart::Dictionary))
            }
        }
    }

    /// Compares the checksum of a part whose bytes have all arrived.
    fn finish(&mut self, part: CopiedPart) -> Result<()> {
        match part {
            CopiedPart::Unchecked | CopiedPart::Block => Ok(()),
            CopiedPart::Chunk(expected) => {
                let computed = std::mem::take(&mut self.running).value();
                if computed == expected {
                    return Ok(());
                }
                Err(Error::new(
                    ErrorKind::Checksum,
                    format!(
                        "expected {expected:08x}, computed {computed:08x} for the bytes before byte {} of the buffer; \
                         they were damaged, or are those of another file that has the name",
                        self.position
                    ),
                ))
            }
            CopiedPart::Stored(ordinal) => {
                let computed = std::mem::take(&mut self.running).value();
                let stored = std::mem::take(&mut self.held);
                let compared = self.compare_block(ordinal, computed, &stored);
                compared.map_err(|e| e.within(format!("block {ordinal}")))
            }
            CopiedPart::Dictionary => {
                let bytes = Bytes::from(std::mem::take(&mut self.held));
                self.check_dictionary(&bytes)
            }
        }
    }

    /// Compares the stored checksum of a block with its bytes, and with the checksum in the descriptor.
    fn compare_block(&self, ordinal: usize, computed: u32, stored: &[u8]) -> Result<()> {
        let Subject::Stream(Body::Blocks(blocks)) = &self.subject else {
            return Ok(());
        };
        match envelope::stored_checksum(stored) {
            Some(found) if found == computed => blocks.check_carried(ordinal, stored),
            Some(found) => {
                let message = format!("expected {found:08x}, computed {computed:08x}");
                let error = Error::new(ErrorKind::Checksum, message);
                Err(blocks.explain(ordinal, stored, error))
            }
            None => Err(Error::corrupt("the block is too short for a checksum")),
        }
    }

    fn check_dictionary(&self, bytes: &Bytes) -> Result<()> {
        match &self.subject {
            Subject::ValueDictionary(carried) => {
                ValueDictionary::check(bytes)?;
                match carried {
                    Some(carried) => carried.check_all(&ValueDictionary::carried_checksums(bytes)?),
                    None => Ok(()),
                }
            }
            Subject::Compressor(carried) => match (OpaqueDictionary::parse(bytes, true), carried) {
                // A newer reader may know the kind.
                (Err(e), _) if e.kind() == ErrorKind::Unsupported => Ok(()),
                (Err(e), _) => Err(e),
                (Ok(_), Some(carried)) => carried.check_block(0, bytes),
                (Ok(_), None) => Ok(()),
            },
            Subject::Stream(_) | Subject::Index(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlockStreamWriter, DictionaryInput};
    use super::*;
    use crate::encoding::NumberKind;
    use crate::encoding::number::{Plan, encode};
    use crate::format::{BasicType, DataRef};
    use crate::io::ByteRange;
    use std::sync::Arc;

    /// Writes five blocks, the first with this number, and returns the end of the blocks.
    fn stream(first: u32) -> (EncodedBuffer, Vec<u8>, OwnProperties, usize) {
        let mut writer = BlockStreamWriter::new(Arc::default());
        for i in 0..5 {
            let value = [first + i * 77_777];
            let encoded =
                |out: &mut Vec<u8>| encode(&value, NumberKind::Unsigned, &Plan::Plain, out);
            writer.push(1, &[], encoded).unwrap();
        }
        let finished = writer.finish(BufferKind::Data).unwrap();
        let (mut bytes, mut notes) = (Vec::new(), OwnProperties::default());
        let append = |some: &[u8]| {
            bytes.extend_from_slice(some);
            Ok(())
        };
        finished.write(append).unwrap();
        let described = finished.describe("", 0, 0, &mut notes).unwrap();
        let notes = OwnProperties::from_properties(&notes.to_properties()).unwrap();
        let check = copy_check(&described, &notes, &bytes).unwrap();
        let Subject::Stream(Body::Blocks(blocks)) = &check.subject else {
            panic!("{check:?}")
        };
        let end = usize::try_from(blocks.map().unwrap().data_size()).unwrap();
        (described, bytes, notes, end)
    }

    fn copy_check(
        described: &EncodedBuffer,
        notes: &OwnProperties,
        bytes: &[u8],
    ) -> Result<CopyCheck> {
        let check = CopyCheck::try_new(described, (0, 0), notes, 1 << 20, &mut |_| Ok(0))?;
        let check = check.ok_or_else(|| Error::corrupt("no check"))?;
        if let Some(place) = check.map_place()? {
            check.load_map(&bytes[place.range.to_usize()?])?;
        }
        Ok(check)
    }

    /// Copies a buffer in pieces.
    fn copy(
        described: &EncodedBuffer,
        notes: &OwnProperties,
        bytes: &[u8],
        piece: usize,
    ) -> Result<()> {
        let mut check = copy_check(described, notes, bytes)?;
        bytes.chunks(piece).try_for_each(|piece| check.take(piece))
    }

    #[test]
    fn a_flipped_bit_in_any_block_is_found_in_pieces_of_any_size() {
        let (described, bytes, notes, end) = stream(3);
        for piece in [1, 7, 1000] {
            copy(&described, &notes, &bytes, piece).unwrap();
            for at in 0..end {
                let mut damaged = bytes.clone();
                damaged[at] ^= 4;
                let error = copy(&described, &notes, &damaged, piece).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Checksum, "byte {at}: {error}");
                let block = format!("block {}", at / (end / 5));
                assert_eq!(error.element(), block, "byte {at}: {error}");
            }
            let zeros = vec![0; bytes.len()];
            assert!(copy(&described, &notes, &zeros, piece).is_err());
            let (same, other, ..) = stream(4);
            assert_eq!(described, same);
            let error = copy(&described, &notes, &other, piece).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongFile, "{error}");
        }
    }

    #[test]
    fn a_dictionary_is_checked_when_its_last_byte_has_arrived() {
        let input = DictionaryInput {
            value_type: BasicType::Int32,
            count: 2,
            null_id: None,
            fixed_value_size: 4,
            values: b"abcdefgh",
            offsets: None,
            sorted_ids: &[0, 1],
            is_encoded: false,
        };
        let bytes = input.encode(true);
        let range = ByteRange::with_len(0, bytes.len() as u64).unwrap();
        let described = EncodedBuffer::new(BufferKind::ValueDictionary, DataRef::this(range));
        let notes = OwnProperties::default();
        copy(&described, &notes, &bytes, 5).unwrap();
        let mut damaged = bytes.clone();
        damaged[60] ^= 1;
        let error = copy(&described, &notes, &damaged, 5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
        // Dictionaries that are too large are copied unchecked.
        let most = bytes.len() as u64 - 1;
        let check = CopyCheck::try_new(&described, (0, 0), &notes, most, &mut |_| Ok(0));
        assert!(check.unwrap().is_none());
    }
}
