//! Spec: Chapter 6, "Data Encoding" and "Encoded Buffers": from descriptors to checked places.

use super::checksums::{Chunks, CoveredPart, VerifiedSet};
use super::own_properties::OwnProperties;
use super::physical::Physical;
use super::{BlockMap, RANGE_INDEX_HEADER, Selection};
use crate::error::{Error, Result};
use crate::format::{
    AnyValue, BufferKind, DataEncoding, DataRef, DataType, EncodedBuffer, NativeDataEncoding,
    StripeFieldDescriptor,
};
use crate::io::ByteRange;
use bytes::Bytes;
use std::sync::OnceLock;

/// Where the values of a stripe field are.
#[derive(Debug)]
pub struct FieldLayout {
    /// Logical positions of the field.
    pub positions: u64,
    /// How the values are stored.
    pub physical: Physical,
    /// Where they are.
    pub storage: Storage,
}

/// The storage of a stripe field.
#[derive(Debug)]
pub enum Storage {
    /// Every position is null.
    Null,
    /// Every position holds this value.
    Constant(AnyValue),
    /// Encoded buffers.
    Buffers(Box<FieldBuffers>),
}

/// The encoded buffers of a stripe field.
#[derive(Debug, Default)]
pub struct FieldBuffers {
    /// Values, codes, bits or union ordinals.
    pub data: Option<StoredBuffer>,
    /// Presence, apart from the values.
    pub presence: Option<StoredBuffer>,
    /// Offsets, apart from the values.
    pub offsets: Option<StoredBuffer>,
    /// The value dictionary that the codes of `data` stand for.
    pub dictionary: Option<Place>,
    /// The range index over the values.
    pub range_index: Option<StoredIndex>,
    /// Whether the blocks of `data` hold the presence of their values.
    pub embedded_presence: bool,
    /// Whether the blocks of `data` hold the offsets of their values.
    pub embedded_offsets: bool,
}

impl FieldBuffers {
    /// The block-based and raw buffers.
    pub fn streams(&self) -> impl Iterator<Item = &StoredBuffer> {
        [&self.data, &self.presence, &self.offsets]
            .into_iter()
            .flatten()
    }
}

/// Where a range index is.
#[derive(Debug)]
pub struct StoredIndex {
    /// The bytes.
    pub place: Place,
    /// Checksums of its header, if there are any.
    pub header_checksums: Option<Chunks>,
}

/// A range of bytes of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Number of the artifact in the table of the open shard.
    pub artifact: u32,
    /// The bytes.
    pub range: ByteRange,
}

/// A buffer of values, raw or made of blocks.
#[derive(Debug)]
pub struct StoredBuffer {
    /// Its role.
    pub kind: BufferKind,
    /// All of its bytes, the block map included.
    pub place: Place,
    /// How the bytes are organised.
    pub body: Body,
}

/// How the bytes of a buffer are organised.
#[derive(Debug)]
pub enum Body {
    /// Plain little-endian values, with the checksums of their bytes if they have any.
    Raw(Option<Chunks>),
    /// Encoded blocks and their map.
    Blocks(Blocks),
}

/// The block-based body of a buffer.
#[derive(Debug)]
pub struct Blocks {
    /// The block map, as a range of the artifact.
    pub map_range: ByteRange,
    /// What the descriptor says that these bytes are.
    pub map_copy: Option<Bytes>,
    /// Whether every block ends with a checksum.
    pub checksums: bool,
    /// Checksums of the block map.
    pub map_checksums: Option<Chunks>,
    map: OnceLock<BlockMap>,
    verified: OnceLock<VerifiedSet>,
}

impl Blocks {
    /// The block map, once [`load_map`](Self::load_map) has seen its bytes.
    pub fn map(&self) -> Option<&BlockMap> {
        self.map.get()
    }

    /// The block map, which must have been loaded.
    pub(super) fn loaded_map(&self) -> Result<&BlockMap> {
        self.map()
            .ok_or_else(|| Error::corrupt("block map not loaded"))
    }

    /// Parses the bytes of the block map. `buffer` is the whole buffer's range.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) or [`Checksum`](crate::ErrorKind::Checksum).
    pub fn load_map(&self, buffer: ByteRange, bytes: &[u8], verify: bool) -> Result<()> {
        if let (true, Some(chunks)) = (verify, &self.map_checksums) {
            chunks
                .verify(&(0..bytes.len() as u64), bytes)
                .map_err(|e| e.within("block map"))?;
        }
        let map = BlockMap::parse(bytes, self.map_range.start() - buffer.start())?;
        self.verified.get_or_init(|| VerifiedSet::new(map.len()));
        self.map.get_or_init(|| map);
        Ok(())
    }

    /// Whether the checksum of a block has matched before.
    pub fn is_verified(&self, ordinal: usize) -> bool {
        self.verified
            .get()
            .is_some_and(|v| v.contains(ordinal as u64))
    }

    /// Notes that the checksum of a block matched.
    pub fn set_verified(&self, ordinal: usize) {
        if let Some(verified) = self.verified.get() {
            verified.insert(ordinal as u64);
        }
    }
}

impl StoredBuffer {
    /// The error for a buffer that ends too early.
    pub(super) fn too_few(&self, wanted: u64, found: u64) -> Error {
        Error::corrupt(format!(
            "{:?} buffer holds {found} elements, expected at least {wanted}",
            self.kind
        ))
    }
}

/// Stands for the number of positions of a field without a descriptor: it has as many as its place
/// in the schema asks for. No other field has so many, so that each of them has one after it.
const ABSENT: u64 = u64::MAX;

impl FieldLayout {
    /// Whether the field has no descriptor.
    pub fn is_absent(&self) -> bool {
        self.positions == ABSENT
    }

    /// Refuses rows that the field has not.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt), because what led to the rows says there are more.
    pub fn check_rows(&self, rows: &Selection) -> Result<()> {
        if rows.end() > self.positions {
            return Err(Error::corrupt(format!(
                "the field has {} positions, position {} was expected",
                self.positions,
                rows.end() - 1
            )));
        }
        Ok(())
    }

    /// A field without a descriptor: every position is null.
    pub fn absent(node: &DataType) -> Result<Self> {
        Ok(Self {
            positions: ABSENT,
            physical: Physical::of(node)?,
            storage: Storage::Null,
        })
    }

    /// Checks a descriptor and finds its buffers. Of several encodings, the first that this
    /// reader supports is used. `artifact` gives the number of an artifact for its URL.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the descriptor contradicts itself,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if no encoding can be read.
    pub fn try_new(
        node: &DataType,
        descriptor: &StripeFieldDescriptor,
        artifact: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Self> {
        let field = &descriptor.field;
        let physical = Physical::of(node)?;
        let positions = field.position_count;
        let nulls = field.null_count;
        if positions == ABSENT {
            return Err(Error::corrupt(format!(
                "{positions} positions are more than a field can have"
            )));
        }
        if nulls.is_some_and(|n| n > positions) {
            return Err(Error::corrupt(format!(
                "{} nulls in {positions} positions",
                nulls.unwrap_or(0)
            )));
        }
        let all_null = nulls == Some(positions);
        // An ordered dictionary keeps its entries, though no position has one.
        let mut encodings = descriptor.encodings.iter();
        let keeps_entries = positions > 0
            && field.constant_value.is_none()
            && encodings.any(DataEncoding::has_dictionary);
        let storage = match &field.constant_value {
            _ if all_null && !keeps_entries => Storage::Null,
            Some(value) if value.is_null() => Storage::Null,
            Some(value) if is_leaf(physical) => {
                if nulls.is_some_and(|n| n > 0) {
                    return Err(Error::corrupt("a constant value beside nulls"));
                }
                Storage::Constant(value.clone())
            }
            _ => match first_supported(descriptor, physical, positions, artifact) {
                Err(e) if all_null && e.kind() == crate::ErrorKind::Unsupported => Storage::Null,
                buffers => Storage::Buffers(Box::new(buffers?)),
            },
        };
        Ok(Self {
            positions,
            physical,
            storage,
        })
    }
}

fn is_leaf(physical: Physical) -> bool {
    !matches!(
        physical,
        Physical::Presence | Physical::Lists | Physical::Union
    )
}

fn first_supported(
    descriptor: &StripeFieldDescriptor,
    physical: Physical,
    positions: u64,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<FieldBuffers> {
    let notes = OwnProperties::from_properties(&descriptor.field.custom_properties)?;
    let mut lacking = Vec::new();
    for (ordinal, encoding) in descriptor.encodings.iter().enumerate() {
        let parsed = match encoding {
            DataEncoding::Native(native) => {
                native_buffers(native, ordinal, &notes, physical, positions, artifact)
            }
            DataEncoding::Parquet(_) => Err(Error::unsupported("external Parquet column chunks")),
            DataEncoding::Unknown => Err(Error::unsupported("an encoding of an unknown kind")),
        };
        match parsed {
            Err(e) if e.kind() == crate::ErrorKind::Unsupported => {
                lacking.push(format!("encoding {ordinal}: {}", e.message()));
            }
            other => return other.map_err(|e| e.within(format!("encoding {ordinal}"))),
        }
    }
    if lacking.is_empty() {
        return Err(Error::corrupt(
            "the field has neither an encoding nor a constant value",
        ));
    }
    Err(Error::unsupported(format!(
        "no encoding of the field can be read ({}); a newer reader may support it",
        lacking.join("; ")
    )))
}

fn native_buffers(
    native: &NativeDataEncoding,
    encoding: usize,
    notes: &OwnProperties,
    physical: Physical,
    positions: u64,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<FieldBuffers> {
    if native.packed_group || native.buffers.iter().any(is_packed_member) {
        return Err(Error::unsupported("packed groups"));
    }
    let mut buffers = FieldBuffers::default();
    let has_dictionary = native.has_dictionary();
    for (ordinal, buffer) in native.buffers.iter().enumerate() {
        let kind = buffer.kind;
        let slot = match kind {
            BufferKind::Data => &mut buffers.data,
            BufferKind::Presence => &mut buffers.presence,
            BufferKind::Offsets => &mut buffers.offsets,
            BufferKind::ValueDictionary => {
                if buffers.dictionary.is_some() {
                    return Err(twice(kind));
                }
                buffers.dictionary = Some(place(buffer.buffer.as_ref(), artifact)?);
                continue;
            }
            BufferKind::RangeIndex => {
                // One more has nothing to add.
                if buffers.range_index.is_some() {
                    continue;
                }
                let header = RANGE_INDEX_HEADER as u64;
                buffers.range_index = Some(StoredIndex {
                    place: place(buffer.buffer.as_ref(), artifact)?,
                    header_checksums: notes.checksums.find(
                        encoding,
                        ordinal,
                        CoveredPart::RangeIndexHeader,
                        header,
                    )?,
                });
                continue;
            }
            BufferKind::OpaqueDictionary => {
                return Err(Error::unsupported("compressor dictionaries"));
            }
            BufferKind::Other(number) => {
                return Err(Error::unsupported(format!("buffer kind {number}")));
            }
        };
        if slot.is_some() {
            return Err(twice(kind));
        }
        let stored = stored_buffer(buffer, encoding, ordinal, notes, artifact)
            .map_err(|e| e.within(format!("{kind:?} buffer")))?;
        if let Body::Raw(_) = stored.body {
            check_raw_size(&stored, physical, has_dictionary, positions)?;
        }
        *slot = Some(stored);
        if kind == BufferKind::Data {
            buffers.embedded_presence = buffer.embedded_presence && buffer.block_map.is_some();
            buffers.embedded_offsets = buffer.embedded_offsets && buffer.block_map.is_some();
        }
    }
    check_complete(&buffers, physical, positions)?;
    Ok(buffers)
}

fn twice(kind: BufferKind) -> Error {
    Error::corrupt(format!("two {kind:?} buffers"))
}

/// Members of a packed group reference no bytes of their own.
fn is_packed_member(buffer: &EncodedBuffer) -> bool {
    buffer.buffer.is_none() && buffer.packed_group_index.is_some()
}

fn place(
    reference: Option<&DataRef>,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<Place> {
    let reference =
        reference.ok_or_else(|| Error::corrupt("the buffer has no reference to its bytes"))?;
    Ok(Place {
        artifact: artifact(&reference.url)?,
        range: reference.range,
    })
}

fn stored_buffer(
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
            Body::Blocks(Blocks {
                map_range: map.range,
                map_copy: copy,
                checksums: buffer.block_checksums,
                map_checksums: checksums(CoveredPart::BlockMap, map.range.len())?,
                map: OnceLock::new(),
                verified: OnceLock::new(),
            })
        }
    };
    Ok(StoredBuffer {
        kind: buffer.kind,
        place,
        body,
    })
}

/// Spec: docs/format.md, "Raw buffers": the length of a raw buffer follows from its kind.
fn check_raw_size(
    buffer: &StoredBuffer,
    physical: Physical,
    has_dictionary: bool,
    positions: u64,
) -> Result<()> {
    let len = buffer.place.range.len();
    let times = |width: usize| positions.checked_mul(width as u64);
    let expected = match (buffer.kind, physical) {
        (BufferKind::Presence, _) | (BufferKind::Data, Physical::Bits) => {
            Some(positions.div_ceil(8))
        }
        (BufferKind::Offsets, Physical::Union) => times(8),
        (BufferKind::Offsets, _) => {
            let count = positions.checked_add(1);
            let wide = count.and_then(|n| n.checked_mul(8));
            let narrow = count.and_then(|n| n.checked_mul(4));
            if Some(len) == narrow { narrow } else { wide }
        }
        (BufferKind::Data, _) if has_dictionary => times(4),
        (BufferKind::Data, Physical::Union) => Some(positions),
        (BufferKind::Data, Physical::Number(width) | Physical::Fixed(width)) => times(width),
        _ => return Ok(()),
    };
    if expected != Some(len) {
        return Err(Error::corrupt(format!(
            "a raw {:?} buffer of {len} bytes for {positions} positions",
            buffer.kind
        )));
    }
    Ok(())
}

fn check_complete(buffers: &FieldBuffers, physical: Physical, positions: u64) -> Result<()> {
    let needs = |present: bool, what: &str| {
        if present || positions == 0 {
            Ok(())
        } else {
            Err(Error::corrupt(format!("the field has no {what} buffer")))
        }
    };
    match physical {
        Physical::Presence => Ok(()),
        Physical::Lists => needs(buffers.offsets.is_some(), "OFFSETS"),
        Physical::Bytes if buffers.dictionary.is_none() && !buffers.embedded_offsets => {
            needs(buffers.data.is_some(), "DATA")?;
            if buffers.offsets.is_none() && positions > 0 {
                return Err(Error::unsupported("delimited strings"));
            }
            Ok(())
        }
        _ => needs(buffers.data.is_some(), "DATA"),
    }
}

#[cfg(test)]
mod tests;
