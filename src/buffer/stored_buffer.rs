//! Spec: Chapter 6, "Encoded Buffers": from the descriptor of a buffer to a checked place.

use super::BlockMap;
use super::carried_checksums::{CarriedChecksums, list_range};
use super::checksums::{Chunks, CoveredPart, VerifiedSet};
use super::own_properties::OwnProperties;
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::format::{BufferKind, DataRef, EncodedBuffer};
use crate::io::ByteRange;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// A range of bytes of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredRange {
    /// Number of the artifact in the table of the open shard.
    pub artifact: u32,
    /// The bytes.
    pub range: ByteRange,
}

/// A buffer of values, raw or block-based.
#[derive(Debug)]
pub struct StoredBuffer {
    /// Its role.
    pub kind: BufferKind,
    /// All of its bytes, including the block map.
    pub place: StoredRange,
    /// How the bytes are organized.
    pub body: Body,
}

/// How the bytes of a buffer are organized.
#[derive(Debug)]
pub enum Body {
    /// Plain little-endian values, and the checksums of their bytes if there are any.
    Raw(Option<Chunks>),
    /// Encoded blocks and their map.
    Blocks(Blocks),
}

/// The block-based body of a buffer.
#[derive(Debug)]
pub struct Blocks {
    /// The range of the block map in the artifact.
    pub map_range: ByteRange,
    /// The copy of the block map in the descriptor, if there is one.
    pub map_copy: Option<Bytes>,
    /// Whether every block ends with a checksum.
    pub checksums: bool,
    /// Checksums of the block map.
    pub map_checksums: Option<Arc<Chunks>>,
    /// Range of the list of the checksums that blocks must carry, and checksums of that list. `None` if the
    /// descriptor repeats the checksums.
    list: Option<(ByteRange, Arc<Chunks>)>,
    known: Arc<KnownBlocks>,
    member: Option<u32>,
}

/// The loaded map and checksums of blocks, and which blocks have been verified.
#[derive(Debug, Default)]
struct KnownBlocks {
    map: OnceLock<BlockMap>,
    verified: OnceLock<VerifiedSet>,
    /// The checksums that the blocks must carry.
    carried: OnceLock<CarriedChecksums>,
}

impl Blocks {
    /// Returns the block map, if [`load_map`](Self::load_map) has parsed it.
    pub fn map(&self) -> Option<&BlockMap> {
        self.known.map.get()
    }

    /// Returns the block map, which must have been loaded.
    pub(super) fn loaded_map(&self) -> Result<&BlockMap> {
        self.map()
            .ok_or_else(|| Error::corrupt("block map not loaded"))
    }

    /// Returns the range of the bytes that [`load_map`](Self::load_map) takes: the block map, and the list of checksums
    /// before it if there is one.
    pub fn described_in(&self) -> Result<ByteRange> {
        match &self.list {
            Some((list, _)) => ByteRange::try_new(list.start(), self.map_range.end()),
            None => Ok(self.map_range),
        }
    }

    /// Parses the bytes of the block map, and of the list before it. `buffer` is the range of the whole buffer.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) or [`Checksum`](crate::ErrorKind::Checksum) if they are damaged.
    pub fn load_map(&self, buffer: ByteRange, bytes: &[u8], verify: bool) -> Result<()> {
        let mut bytes = bytes;
        let mut listed = None;
        if let Some((range, chunks)) = &self.list {
            let (list, map) = to_usize(range.len())
                .ok()
                .and_then(|len| bytes.split_at_checked(len))
                .ok_or_else(|| Error::corrupt("the block map and the list before it are cut"))?;
            if verify {
                chunks
                    .verify(&(0..list.len() as u64), list)
                    .map_err(|e| e.within("list of the blocks' checksums"))?;
                listed = Some(CarriedChecksums::from_list(list));
            }
            bytes = map;
        }
        if let (true, Some(chunks)) = (verify, &self.map_checksums) {
            chunks
                .verify(&(0..bytes.len() as u64), bytes)
                .map_err(|e| e.within("block map"))?;
        }
        let map = BlockMap::parse(bytes, self.map_range.start() - buffer.start())?;
        let carried = listed.as_ref().or(self.known.carried.get());
        if let Some(carried) = carried.filter(|carried| carried.count() != map.len()) {
            return Err(Error::corrupt(format!(
                "the block map lists {} blocks, and {} checksums of blocks are known",
                map.len(),
                carried.count()
            )));
        }
        if let Some(listed) = listed {
            self.known.carried.get_or_init(|| listed);
        }
        self.known
            .verified
            .get_or_init(|| VerifiedSet::new(map.len()));
        self.known.map.get_or_init(|| map);
        Ok(())
    }

    /// Returns the memory that the map and the checksums of blocks take, in bytes.
    pub fn memory_size(&self) -> u64 {
        let carried = self.known.carried.get();
        self.map().map_or(0, BlockMap::memory_size)
            + carried.map_or(0, CarriedChecksums::memory_size)
    }

    /// Explains the error for a block that does not match its own checksum. If the block must carry a different
    /// checksum, it may also belong to another file.
    #[cold]
    pub(super) fn explain(&self, ordinal: usize, block: &[u8], error: Error) -> Error {
        match self.check_carried(ordinal, block) {
            Err(_) if error.kind() == ErrorKind::Checksum => Error::new(
                ErrorKind::Checksum,
                format!(
                    "{}; the block was damaged, or is of another file that has the name",
                    error.message()
                ),
            ),
            _ => error,
        }
    }

    /// Returns the checksum that a block must carry, if it is known.
    pub fn expected_checksum(&self, ordinal: usize) -> Option<u32> {
        self.known.carried.get()?.get(ordinal)
    }

    /// Compares the checksum that a block carries with the one that it must carry, if that is known.
    ///
    /// # Errors
    /// [`WrongFile`](crate::ErrorKind::WrongFile) if they differ.
    pub(super) fn check_carried(&self, ordinal: usize, block: &[u8]) -> Result<()> {
        match self.known.carried.get() {
            Some(carried) => carried.check_block(ordinal, block),
            None => Ok(()),
        }
    }

    /// Returns whether the checksum of a block has been verified.
    pub fn is_verified(&self, ordinal: usize) -> bool {
        self.known
            .verified
            .get()
            .is_some_and(|v| v.contains(ordinal as u64))
    }

    /// Records that the checksum of a block has been verified.
    pub fn set_verified(&self, ordinal: usize) {
        if let Some(verified) = self.known.verified.get() {
            verified.insert(ordinal as u64);
        }
    }

    /// Returns the index of the member whose blocks are read, if these are super-blocks.
    pub fn member(&self) -> Option<u32> {
        self.member
    }

    /// Returns the blocks of a member of these super-blocks.
    pub(super) fn of_member(&self, index: u32) -> Self {
        Self {
            map_range: self.map_range,
            map_copy: self.map_copy.clone(),
            checksums: self.checksums,
            map_checksums: self.map_checksums.clone(),
            list: self.list.clone(),
            known: self.known.clone(),
            member: Some(index),
        }
    }
}

impl StoredBuffer {
    /// Returns whether the buffer is a member of a packed group. The blocks of members hold whole values.
    pub fn is_member(&self) -> bool {
        matches!(&self.body, Body::Blocks(blocks) if blocks.member.is_some())
    }

    /// Returns the error for a buffer that ends too early.
    pub(super) fn too_few(&self, wanted: u64, found: u64) -> Error {
        Error::corrupt(format!(
            "{:?} buffer holds {found} elements, expected at least {wanted}",
            self.kind
        ))
    }
}

pub(super) fn place(
    reference: Option<&DataRef>,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<StoredRange> {
    let reference =
        reference.ok_or_else(|| Error::corrupt("the buffer has no reference to its bytes"))?;
    Ok(StoredRange {
        artifact: artifact(&reference.url)?,
        range: reference.range,
    })
}

pub(super) fn stored_buffer(
    buffer: &EncodedBuffer,
    encoding: usize,
    ordinal: usize,
    notes: &OwnProperties,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<StoredBuffer> {
    let place = place(buffer.buffer.as_ref(), artifact)?;
    let checksums = |part, len| notes.checksums.find(encoding, ordinal, part, len);
    let body = match &buffer.block_map {
        None => Body::Raw(checksums(CoveredPart::Raw, place.range.len())?),
        Some(map) => {
            let same_file = artifact(&map.url)? == place.artifact;
            if !same_file
                || !place.range.contains(map.range)
                || map.range.end() != place.range.end()
            {
                return Err(Error::corrupt(format!(
                    "the block map {} is not the tail of its buffer {}",
                    map.range, place.range
                )));
            }
            let copy = notes.maps.find(encoding, ordinal).cloned();
            if let Some(copy) = copy.as_ref().filter(|c| c.len() as u64 != map.range.len()) {
                let (copied, stored) = (copy.len(), map.range.len());
                return Err(Error::corrupt(format!(
                    "the copy of the block map has {copied} bytes, the block map {stored}"
                )));
            }
            let known = KnownBlocks::default();
            let carried = notes.checksums.carried(encoding, ordinal);
            let mut list = None;
            if let Some(carried) = carried.filter(|_| buffer.block_checksums) {
                known.carried.get_or_init(|| carried);
            } else if let Some(blocks) = buffer.block_count
                && buffer.block_checksums
                // A reader with a copy of the map does not fetch the list, which is next to the map.
                && copy.is_none()
                && let Some(chunks) =
                    checksums(CoveredPart::BlockList, blocks.saturating_mul(4))?
            {
                let range = list_range(place.range, map.range, blocks)?;
                list = Some((range, Arc::new(chunks)));
            }
            Body::Blocks(Blocks {
                map_range: map.range,
                map_copy: copy,
                checksums: buffer.block_checksums,
                map_checksums: checksums(CoveredPart::BlockMap, map.range.len())?.map(Arc::new),
                list,
                known: Arc::new(known),
                member: None,
            })
        }
    };
    Ok(StoredBuffer {
        kind: buffer.kind,
        place,
        body,
    })
}
