//! Spec: Chapter 6, "Data Encoding" and "Encoded Buffers": from descriptors to checked places.

use super::blobs::BlobTable;
use super::carried_checksums::CarriedChecksums;
use super::checksums::CoveredPart;
use super::external::ExternalValues;
use super::opaque_dictionary::MAX_OPAQUE_DICTIONARIES;
use super::own_properties::OwnProperties;
use super::packed_group::PackedGroup;
use super::physical::Physical;
use super::stored_buffer::{Body, StoredBuffer, StoredRange, place, stored_buffer};
use super::stored_index::StoredIndex;
use super::{BlockRange, RANGE_INDEX_HEADER, Selection};
use crate::encoding::Dictionaries;
use crate::error::{Error, Result};
use crate::format::{
    AnyValue, BufferKind, DataEncoding, DataType, EncodedBuffer, NativeDataEncoding,
    ParquetFileColumnRef, StripeFieldDescriptor,
};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How and where the values of a stripe field are stored.
#[derive(Debug)]
pub struct FieldLayout {
    /// Number of logical positions of the field.
    pub positions: u64,
    /// How the values are stored.
    pub physical: Physical,
    /// Where the values are.
    pub storage: Storage,
    /// The range index of values that are not in buffers.
    pub index: Option<StoredIndex>,
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
    /// Values in files of another format.
    External(Arc<dyn ExternalValues>),
}

/// Opens the values of a stripe field in Parquet files, given the references to them.
pub(super) type OpenParquet<'a> = &'a mut dyn FnMut(
    &StripeFieldDescriptor,
    &[ParquetFileColumnRef],
    &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<Arc<dyn ExternalValues>>;

/// The encoded buffers of a stripe field.
#[derive(Debug, Default)]
pub struct FieldBuffers {
    /// Values, codes, bits or union ordinals.
    pub data: Option<StoredBuffer>,
    /// Presence, stored separately from the values.
    pub presence: Option<StoredBuffer>,
    /// Offsets, stored separately from the values.
    pub offsets: Option<StoredBuffer>,
    /// The value dictionary for the codes in `data`.
    pub dictionary: Option<StoredRange>,
    /// The checksums that the value dictionary must carry, if they are known.
    pub dictionary_checksums: Option<CarriedChecksums>,
    /// Compressor dictionaries that the blocks share.
    pub compressors: Vec<StoredDictionary>,
    loaded_compressors: OnceLock<Dictionaries>,
    /// The range index over the values.
    pub range_index: Option<StoredIndex>,
    /// The super-blocks of a struct's members.
    pub packed_group: Option<StoredRange>,
    /// Whether the blocks of `data` hold the presence of their values.
    pub embedded_presence: bool,
    /// Whether the blocks of `data` hold the offsets of their values.
    pub embedded_offsets: bool,
    /// Which blocks of `data` are blobs, if any are.
    pub blobs: Option<BlobTable>,
}

impl FieldBuffers {
    /// Returns the block-based and raw buffers.
    pub fn streams(&self) -> impl Iterator<Item = &StoredBuffer> {
        [&self.data, &self.presence, &self.offsets]
            .into_iter()
            .flatten()
    }

    /// Returns the size of the block-based and raw buffers, in bytes. Members of a packed group share their bytes, and
    /// each of them counts all of the bytes, because readers always read whole super-blocks.
    pub fn stream_bytes(&self) -> u64 {
        let bytes = self.streams().map(|buffer| buffer.place.range.len());
        bytes.fold(0, u64::saturating_add)
    }

    /// Returns the compressor dictionaries, unless they still have to be loaded.
    pub fn dictionaries(&self) -> Option<&Dictionaries> {
        if self.compressors.is_empty() {
            Some(Dictionaries::none())
        } else {
            self.loaded_compressors.get()
        }
    }

    /// Keeps the compressor dictionaries. The caller must have loaded all of them.
    pub fn load_dictionaries(&self, dictionaries: Dictionaries) {
        self.loaded_compressors.get_or_init(|| dictionaries);
    }

    /// Returns the range in DATA of the value of a block, if the block is a blob.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the table lists the block as a blob and it cannot be one.
    pub fn blob(&self, block: &BlockRange) -> Result<Option<Range<u64>>> {
        match (&self.blobs, self.data.as_ref().map(|data| &data.body)) {
            (Some(table), Some(Body::Blocks(blocks))) => table.find(block, blocks.checksums),
            _ => Ok(None),
        }
    }

    fn add_compressor(
        &mut self,
        id: Option<u32>,
        place: StoredRange,
        carried: Option<CarriedChecksums>,
    ) -> Result<()> {
        let id = id.filter(|id| *id > 0).ok_or_else(|| {
            Error::corrupt("an OpaqueDictionary buffer without a buffer_id from 1 on")
        })?;
        if self.compressors.iter().any(|other| other.id == id) {
            return Err(Error::corrupt(format!(
                "two OpaqueDictionary buffers with the buffer_id {id}"
            )));
        }
        if self.compressors.len() >= MAX_OPAQUE_DICTIONARIES {
            return Err(Error::corrupt(format!(
                "expected up to {MAX_OPAQUE_DICTIONARIES} OpaqueDictionary buffers, found more"
            )));
        }
        self.compressors
            .push(StoredDictionary { id, place, carried });
        Ok(())
    }
}

/// Place of a compressor dictionary.
#[derive(Debug)]
pub struct StoredDictionary {
    /// The id by which blocks refer to it, from 1 on.
    pub id: u32,
    /// The bytes.
    pub place: StoredRange,
    /// The checksum that it must carry, if it is known.
    pub carried: Option<CarriedChecksums>,
}

/// Position count of a field without a descriptor, which takes any number of rows. Real fields have
/// fewer positions, so each of their positions has a successor.
const ABSENT: u64 = u64::MAX;

impl FieldLayout {
    /// Returns whether the field has no descriptor.
    pub fn is_absent(&self) -> bool {
        self.positions == ABSENT
    }

    /// Returns the place of the range index.
    pub fn range_index(&self) -> Option<&StoredIndex> {
        match &self.storage {
            Storage::Buffers(buffers) => buffers.range_index.as_ref(),
            Storage::External(_) => self.index.as_ref(),
            Storage::Null | Storage::Constant(_) => None,
        }
    }

    /// Returns the bytes of the streams of values, in the shard or in other files.
    pub fn stored_bytes(&self) -> u64 {
        match &self.storage {
            Storage::Buffers(buffers) => buffers.stream_bytes(),
            Storage::External(values) => {
                let bytes = values.places().into_iter().map(|place| place.range.len());
                bytes.fold(0, u64::saturating_add)
            }
            Storage::Null | Storage::Constant(_) => 0,
        }
    }

    /// Returns the places of the streams of values.
    pub fn streams(&self) -> Vec<StoredRange> {
        match &self.storage {
            Storage::Buffers(buffers) => buffers.streams().map(|buffer| buffer.place).collect(),
            Storage::External(values) => values.places(),
            Storage::Null | Storage::Constant(_) => Vec::new(),
        }
    }

    /// Checks that the field has all of these rows.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it has not, because the metadata that led to the rows claim them.
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

    /// Creates the layout of a field without a descriptor: every position is null.
    pub fn absent(node: &DataType) -> Result<Self> {
        Ok(Self {
            positions: ABSENT,
            physical: Physical::of(node)?,
            storage: Storage::Null,
            index: None,
        })
    }

    /// Checks a descriptor and finds its buffers, in the first encoding that this reader supports. The field may
    /// be a member of the packed group `group`. `artifact` returns the number of an artifact for its
    /// URL, and `parquet` opens values in Parquet files.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the descriptor contradicts itself,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if this reader supports none of the encodings.
    pub fn try_new(
        node: &DataType,
        descriptor: &StripeFieldDescriptor,
        group: Option<&PackedGroup>,
        artifact: &mut dyn FnMut(&str) -> Result<u32>,
        parquet: OpenParquet<'_>,
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
        // An ordered dictionary keeps its entries even if no position refers to one.
        let mut encodings = descriptor.encodings.iter();
        let keeps_entries = positions > 0
            && field.constant_value.is_none()
            && encodings.any(DataEncoding::has_dictionary);
        let storage = match &field.constant_value {
            _ if all_null && !keeps_entries => Storage::Null,
            Some(value) if value.is_null() => Storage::Null,
            Some(value) if physical.is_leaf() => {
                if nulls.is_some_and(|n| n > 0) {
                    return Err(Error::corrupt("a constant value beside nulls"));
                }
                Storage::Constant(value.clone())
            }
            _ => match first_supported(descriptor, physical, group, artifact, parquet) {
                Err(e) if all_null && e.kind() == crate::ErrorKind::Unsupported => Storage::Null,
                supported => supported?,
            },
        };
        let index = match storage {
            Storage::External(_) => StoredIndex::find(&field.indexes, artifact)?,
            _ => None,
        };
        Ok(Self {
            positions,
            physical,
            storage,
            index,
        })
    }
}

fn first_supported(
    descriptor: &StripeFieldDescriptor,
    physical: Physical,
    group: Option<&PackedGroup>,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
    parquet: OpenParquet<'_>,
) -> Result<Storage> {
    let positions = descriptor.field.position_count;
    let notes = OwnProperties::from_properties(&descriptor.field.custom_properties)?;
    let mut lacking = Vec::new();
    for (ordinal, encoding) in descriptor.encodings.iter().enumerate() {
        let parsed = match encoding {
            DataEncoding::Native(native) => {
                let context = FieldContext {
                    physical,
                    positions,
                    group,
                };
                // Block codes come first: if they are unsupported, the rest may be of a newer kind, too.
                notes
                    .codes
                    .check(ordinal)
                    .and_then(|()| native_buffers(native, ordinal, &notes, context, artifact))
                    .map(|buffers| Storage::Buffers(Box::new(buffers)))
            }
            DataEncoding::Parquet(files) => {
                parquet(descriptor, files, artifact).map(Storage::External)
            }
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

/// Properties of the field that determine the meaning of its buffers.
#[derive(Clone, Copy)]
struct FieldContext<'a> {
    physical: Physical,
    positions: u64,
    group: Option<&'a PackedGroup>,
}

fn native_buffers(
    native: &NativeDataEncoding,
    encoding: usize,
    notes: &OwnProperties,
    context: FieldContext<'_>,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<FieldBuffers> {
    let FieldContext {
        physical,
        positions,
        group,
    } = context;
    if native.packed_group && physical != Physical::Presence {
        return Err(Error::unsupported(
            "packed groups of other types than structs",
        ));
    }
    let mut buffers = FieldBuffers {
        blobs: notes.blobs.clone().filter(|_| encoding == 0),
        ..FieldBuffers::default()
    };
    let has_dictionary = native.has_dictionary();
    for (ordinal, buffer) in native.buffers.iter().enumerate() {
        let kind = buffer.kind;
        if native.packed_group && kind == BufferKind::Data {
            let place = place(buffer.buffer.as_ref(), artifact)?;
            if buffers.packed_group.replace(place).is_some() {
                return Err(twice(kind));
            }
            continue;
        }
        let slot = match kind {
            BufferKind::Data => &mut buffers.data,
            BufferKind::Presence => &mut buffers.presence,
            BufferKind::Offsets => &mut buffers.offsets,
            BufferKind::ValueDictionary => {
                if buffers.dictionary.is_some() {
                    return Err(twice(kind));
                }
                buffers.dictionary = Some(place(buffer.buffer.as_ref(), artifact)?);
                buffers.dictionary_checksums = notes.checksums.carried(encoding, ordinal);
                continue;
            }
            BufferKind::RangeIndex => {
                // A second index adds nothing.
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
                    carried: notes.checksums.carried(encoding, ordinal),
                });
                continue;
            }
            BufferKind::OpaqueDictionary => {
                let place = place(buffer.buffer.as_ref(), artifact)?;
                let carried = notes.checksums.carried(encoding, ordinal);
                buffers.add_compressor(buffer.buffer_id, place, carried)?;
                continue;
            }
            BufferKind::Other(number) => {
                return Err(Error::unsupported(format!("buffer kind {number}")));
            }
        };
        if slot.is_some() {
            return Err(twice(kind));
        }
        let stored = match packed_member(buffer) {
            Some(index) => packed_values(kind, physical, group, index),
            None => stored_buffer(buffer, encoding, ordinal, notes, artifact),
        };
        let stored = stored.map_err(|e| e.within(format!("{kind:?} buffer")))?;
        if let Body::Raw(_) = stored.body {
            check_raw_size(&stored, physical, has_dictionary, positions)?;
        }
        *slot = Some(stored);
        if kind == BufferKind::Data {
            let in_blocks = slot
                .as_ref()
                .is_some_and(|stored| matches!(stored.body, Body::Blocks(_)));
            buffers.embedded_presence = buffer.embedded_presence && in_blocks;
            buffers.embedded_offsets = buffer.embedded_offsets && in_blocks;
        }
    }
    check_complete(&buffers, physical, positions)?;
    Ok(buffers)
}

fn twice(kind: BufferKind) -> Error {
    Error::corrupt(format!("two {kind:?} buffers"))
}

/// Returns the index of a member in its packed group, if the buffer is one. Members have no bytes of their own.
pub fn packed_member(buffer: &EncodedBuffer) -> Option<u32> {
    buffer
        .packed_group_index
        .filter(|_| buffer.buffer.is_none())
}

/// Returns the values of a member of a packed group.
fn packed_values(
    kind: BufferKind,
    physical: Physical,
    group: Option<&PackedGroup>,
    index: u32,
) -> Result<StoredBuffer> {
    if kind != BufferKind::Data || !physical.is_leaf() {
        return Err(Error::unsupported(
            "members of packed groups that are not the values of a leaf",
        ));
    }
    let group = group.ok_or_else(|| {
        Error::corrupt(format!(
            "member {index} of a packed group, and its struct has none"
        ))
    })?;
    group.member(index)
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
            match &buffers.data {
                Some(data) if buffers.offsets.is_none() => check_delimited(data, buffers),
                _ => Ok(()),
            }
        }
        _ => needs(buffers.data.is_some(), "DATA"),
    }
}

/// Checks values without offsets, which must be delimited, in blocks without presence.
fn check_delimited(data: &StoredBuffer, buffers: &FieldBuffers) -> Result<()> {
    match data.body {
        Body::Raw(_) => Err(Error::corrupt("raw values of any size without OFFSETS")),
        Body::Blocks(_) if buffers.embedded_presence || data.is_member() => Err(
            Error::unsupported("delimited values whose blocks hold their presence"),
        ),
        Body::Blocks(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
