//! Spec: Chapter 6, "Encoded Buffers": block streams and raw buffers on their way into a stripe.

use super::BlockMap;
use super::blobs::BlobTable;
use super::carried_checksums::{MAX_REPEATED_CHECKSUMS, encode_list};
use super::checksums::CoveredPart;
use super::own_properties::OwnProperties;
use super::packed_group::write_super_block;
use super::pieces::{PiecePool, Pieces};
use super::range_index::{RANGE_INDEX_HEADER, RangeIndex};
use super::value_dictionary::ValueDictionary;
use crate::encoding::envelope;
use crate::error::{Error, Result, to_usize};
use crate::format::{BufferKind, DataRef, EncodedBuffer};
use crate::io::ByteRange;
use std::sync::Arc;

/// Alignment of the block map after the blocks of a stream.
const DATA_ALIGNMENT: usize = 16;

/// A writer of the blocks of one stream.
#[derive(Debug)]
pub struct BlockStreamWriter {
    pool: Arc<PiecePool>,
    blocks: Pieces,
    map: BlockMap,
    checksums: bool,
    /// The checksum of each block, if blocks have checksums.
    carried: Vec<u32>,
    /// Which blocks are blobs, if there may be any.
    blobs: Option<BlobTable>,
}

impl BlockStreamWriter {
    /// Creates a stream without blocks. Memory comes from the pool and returns to it.
    pub fn new(pool: Arc<PiecePool>) -> Self {
        Self {
            blocks: Pieces::new(pool.clone()),
            map: BlockMap::default(),
            pool,
            checksums: true,
            carried: Vec::new(),
            blobs: None,
        }
    }

    /// Sets whether to record which blocks are blobs.
    #[must_use]
    pub fn with_blobs(mut self, blobs: bool) -> Self {
        self.blobs = blobs.then(BlobTable::default);
        self
    }

    /// Sets whether blocks end with checksums. They may be left out if something else covers the blocks.
    #[must_use]
    pub fn with_checksums(mut self, checksums: bool) -> Self {
        self.checksums = checksums;
        self
    }

    /// Appends a block of `values` values. `encode` writes them without the envelope.
    ///
    /// # Errors
    /// Returns the errors of `encode`, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the block
    /// exceeds 4 GiB or 2^32 values.
    pub fn push(
        &mut self,
        values: usize,
        presence: &[u8],
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.push_block(values, presence, encode)?;
        if let Some(blobs) = &mut self.blobs {
            blobs.push_other();
        }
        Ok(())
    }

    /// Appends a block of one value of `len` bytes. `encode` writes it as a plain region.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push).
    pub fn push_blob(
        &mut self,
        len: usize,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let size = self.push_block(1, &[], encode)?;
        if let Some(blobs) = &mut self.blobs {
            blobs.push_blob(size, len, self.checksums);
        }
        Ok(())
    }

    /// Appends a block, and returns its size in bytes.
    fn push_block(
        &mut self,
        values: usize,
        presence: &[u8],
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<usize> {
        let (blocks, checksums) = (&mut self.blocks, self.checksums);
        let (size, carried) = self.pool.with_scratch(|block| {
            envelope::write(presence, checksums, block, encode)?;
            blocks.extend(block);
            let carried = envelope::stored_checksum(block).filter(|_| checksums);
            Ok::<_, Error>((block.len(), carried))
        })?;
        self.carried.extend(carried);
        let too_big = |_| Error::invalid("a block exceeds 4 GiB; write smaller values or blocks");
        let values = u32::try_from(values).map_err(too_big)?;
        self.map.push(values, u32::try_from(size).map_err(too_big)?);
        Ok(size)
    }

    /// Returns the size of the blocks so far, in bytes.
    pub fn size(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the buffer: blocks, padding, block map.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if a block exceeds 4 GiB.
    pub fn finish(self, kind: BufferKind) -> Result<FinishedBuffer> {
        let mut blocks = self.blocks;
        let size = blocks.len();
        blocks.extend_zeros(size.next_multiple_of(DATA_ALIGNMENT) - size);
        let mut map = Vec::new();
        self.map.encode(&mut map)?;
        Ok(FinishedBuffer::new(
            kind,
            FinishedBody::Blocks(FinishedBlocks {
                blocks,
                map,
                count: self.map.len() as u64,
                carried: self.carried,
                is_listed: false,
                blobs: self.blobs.filter(BlobTable::has_blobs),
            }),
        ))
    }
}

/// A buffer that can be placed in a file.
#[derive(Debug)]
pub struct FinishedBuffer {
    kind: BufferKind,
    body: FinishedBody,
    embedded_presence: bool,
    embedded_offsets: bool,
    /// The id by which blocks refer to it.
    id: Option<u32>,
}

#[derive(Debug)]
enum FinishedBody {
    Blocks(FinishedBlocks),
    /// Super-blocks.
    PackedGroup(FinishedBlocks),
    /// The member with this index of a packed group, which holds its blocks.
    Member(u32),
    Raw(Pieces),
    Dictionary(Vec<u8>),
    RangeIndex(Vec<u8>),
}

/// The blocks of a stream.
#[derive(Debug)]
struct FinishedBlocks {
    /// The blocks, and all other bytes up to the block map.
    blocks: Pieces,
    map: Vec<u8>,
    count: u64,
    /// The checksum of each block, if blocks have checksums.
    carried: Vec<u32>,
    /// Whether these checksums are listed before the block map.
    is_listed: bool,
    /// Which blocks are blobs, if any are.
    blobs: Option<BlobTable>,
}

impl FinishedBuffer {
    fn new(kind: BufferKind, body: FinishedBody) -> Self {
        Self {
            kind,
            body,
            embedded_presence: false,
            embedded_offsets: false,
            id: None,
        }
    }

    /// Creates a raw buffer of plain little-endian values.
    pub fn raw(kind: BufferKind, values: Pieces) -> Self {
        Self::new(kind, FinishedBody::Raw(values))
    }

    /// Creates a value dictionary.
    pub fn dictionary(bytes: Vec<u8>) -> Self {
        Self::new(BufferKind::ValueDictionary, FinishedBody::Dictionary(bytes))
    }

    /// Creates a compressor dictionary that blocks refer to by `id`.
    pub fn opaque_dictionary(id: u32, bytes: Vec<u8>) -> Self {
        let body = FinishedBody::Dictionary(bytes);
        Self {
            id: Some(id),
            ..Self::new(BufferKind::OpaqueDictionary, body)
        }
    }

    /// Creates a range index.
    pub fn range_index(bytes: Vec<u8>) -> Self {
        Self::new(BufferKind::RangeIndex, FinishedBody::RangeIndex(bytes))
    }

    /// Returns the role of the buffer.
    pub fn kind(&self) -> BufferKind {
        self.kind
    }

    /// Returns whether the buffer holds the blocks of other fields.
    pub fn is_packed_group(&self) -> bool {
        matches!(self.body, FinishedBody::PackedGroup { .. })
    }

    /// Moves the blocks of these streams to super-blocks of a new buffer. The streams become its members.
    /// Their blocks must have no checksums, and corresponding blocks the same number of values.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a super-block exceeds 4 GiB, or for other
    /// streams.
    pub fn packed_group(members: &mut [&mut Self]) -> Result<Self> {
        let differ = || Error::invalid("members of a packed group have blocks of other values");
        let mut streams = Vec::with_capacity(members.len());
        for (index, member) in (0u32..).zip(members) {
            match std::mem::replace(&mut member.body, FinishedBody::Member(index)) {
                FinishedBody::Blocks(FinishedBlocks { blocks, map, .. }) => {
                    streams.push((BlockMap::parse(&map, blocks.len() as u64)?, blocks));
                }
                _ => return Err(differ()),
            }
        }
        let (first, pieces) = streams.first().ok_or_else(differ)?;
        let (mut map, mut blocks) = (BlockMap::default(), pieces.sibling());
        let (mut super_block, mut carried) = (Vec::new(), Vec::new());
        for ordinal in 0..first.len() {
            let values = first.block(ordinal).map(|block| block.values);
            write_super_block(streams.len(), &mut super_block, |member, out| {
                let (map, pieces) = &streams[member];
                let block = map
                    .block(ordinal)
                    .filter(|b| Some(&b.values) == values.as_ref());
                let bytes = block.ok_or_else(differ)?.bytes;
                pieces.copy(to_usize(bytes.start)?..to_usize(bytes.end)?, out);
                Ok(())
            })?;
            let count = values.map_or(0, |values| values.end - values.start);
            let (Ok(count), Ok(size)) = (u32::try_from(count), u32::try_from(super_block.len()))
            else {
                return Err(Error::invalid(
                    "a super-block exceeds 4 GiB; write smaller values or blocks",
                ));
            };
            map.push(count, size);
            blocks.extend(&super_block);
            carried.extend(envelope::stored_checksum(&super_block));
        }
        if streams.iter().any(|(map, _)| map.len() != first.len()) {
            return Err(differ());
        }
        let size = blocks.len();
        blocks.extend_zeros(size.next_multiple_of(DATA_ALIGNMENT) - size);
        let mut encoded = Vec::new();
        map.encode(&mut encoded)?;
        Ok(Self::new(
            BufferKind::Data,
            FinishedBody::PackedGroup(FinishedBlocks {
                blocks,
                map: encoded,
                count: first.len() as u64,
                carried,
                is_listed: false,
                blobs: None,
            }),
        ))
    }

    /// Lists the checksums of the blocks before the block map, if they are too many for the descriptor.
    pub fn list_checksums(&mut self) {
        let (FinishedBody::Blocks(stream) | FinishedBody::PackedGroup(stream)) = &mut self.body
        else {
            return;
        };
        if stream.carried.len() > MAX_REPEATED_CHECKSUMS && !stream.is_listed {
            let list = encode_list(&stream.carried);
            // The block map after the list stays aligned.
            let end = stream.blocks.len() + list.len();
            (stream.blocks).extend_zeros(end.next_multiple_of(DATA_ALIGNMENT) - end);
            stream.blocks.extend(&list);
            stream.is_listed = true;
        }
    }

    /// Sets which properties of values the blocks hold: presence, offsets.
    #[must_use]
    pub fn with_embedded(mut self, presence: bool, offsets: bool) -> Self {
        self.embedded_presence = presence;
        self.embedded_offsets = offsets;
        self
    }

    /// Returns the number of bytes, without the padding to the next multiple of 64.
    pub fn size(&self) -> usize {
        match &self.body {
            FinishedBody::Raw(pieces) => pieces.len(),
            FinishedBody::Blocks(stream) | FinishedBody::PackedGroup(stream) => {
                stream.blocks.len() + stream.map.len()
            }
            FinishedBody::Member(_) => 0,
            FinishedBody::Dictionary(bytes) | FinishedBody::RangeIndex(bytes) => bytes.len(),
        }
    }

    /// Passes all bytes to `write`, in order.
    ///
    /// # Errors
    /// Returns the errors of `write`.
    pub fn write(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match &self.body {
            FinishedBody::Raw(pieces) => pieces.iter().try_for_each(write),
            FinishedBody::Member(_) => Ok(()),
            FinishedBody::Blocks(stream) | FinishedBody::PackedGroup(stream) => {
                stream.blocks.iter().try_for_each(&mut write)?;
                write(&stream.map)
            }
            FinishedBody::Dictionary(bytes) | FinishedBody::RangeIndex(bytes) => write(bytes),
        }
    }

    /// Describes the buffer as placed at byte `start` of the file `url`. Adds to `notes` the checksums of its
    /// parts, copies of the checksums that it carries, and a copy of its block map.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if an offset in the file exceeds 64 bits.
    pub fn describe(
        &self,
        url: &str,
        start: u64,
        ordinal: u16,
        notes: &mut OwnProperties,
    ) -> Result<EncodedBuffer> {
        let range = ByteRange::with_len(start, self.size() as u64)?;
        let reference = |range| DataRef {
            url: url.to_owned(),
            range,
        };
        let mut buffer = EncodedBuffer::new(self.kind, reference(range));
        match &self.body {
            FinishedBody::Blocks(stream) | FinishedBody::PackedGroup(stream) => {
                let place = range.slice(stream.blocks.len() as u64, range.len())?;
                buffer.block_map = Some(reference(place));
                buffer.block_count = Some(stream.count);
                buffer.block_checksums = true;
                stream.note(ordinal, range.len(), notes);
            }
            FinishedBody::Raw(pieces) => {
                let chunks = pieces.iter();
                notes
                    .checksums
                    .add_chunks(0, ordinal, CoveredPart::Raw, chunks);
            }
            FinishedBody::Member(index) => {
                buffer.buffer = None;
                buffer.packed_group_index = Some(*index);
            }
            FinishedBody::Dictionary(bytes) => {
                let carried = match self.kind {
                    BufferKind::ValueDictionary => ValueDictionary::carried_checksums(bytes)?,
                    _ => envelope::stored_checksum(bytes).into_iter().collect(),
                };
                notes.checksums.add_carried(0, ordinal, carried);
            }
            FinishedBody::RangeIndex(bytes) => {
                let header = &bytes[..RANGE_INDEX_HEADER.min(bytes.len())];
                let part = CoveredPart::RangeIndexHeader;
                notes.checksums.add(0, ordinal, part, header);
                let carried = RangeIndex::carried_checksums(bytes)?;
                notes.checksums.add_carried(0, ordinal, carried);
            }
        }
        buffer.embedded_presence = self.embedded_presence;
        buffer.embedded_offsets = self.embedded_offsets;
        buffer.buffer_id = self.id;
        Ok(buffer)
    }
}

impl FinishedBlocks {
    /// Records the checksums of a buffer of `buffer_len` bytes, and a copy of its map.
    fn note(&self, ordinal: u16, buffer_len: u64, notes: &mut OwnProperties) {
        let Self { map, carried, .. } = self;
        notes.checksums.add(0, ordinal, CoveredPart::BlockMap, map);
        if self.is_listed {
            let list = encode_list(carried);
            (notes.checksums).add(0, ordinal, CoveredPart::BlockList, &list);
        } else if carried.len() <= MAX_REPEATED_CHECKSUMS {
            notes.checksums.add_carried(0, ordinal, carried.clone());
        }
        notes.maps.add(0, ordinal, map, buffer_len);
        notes.blobs = self.blobs.clone().or(notes.blobs.take());
    }
}
