//! The decoded values of one stripe, as [`NodeSource`] requests them.

mod kept_bytes;
mod leaf;
mod nested;
#[cfg(test)]
mod tests;

use super::constant::constant_len;
use crate::buffer::{
    BlockCache, Body, ExternalDecoder, FieldBuffers, FieldLayout, Numbers, OffsetsCache, Physical,
    ReadContext, Runs, Selection, Spans, Storage, StoredBuffer, StoredRange, StringCache,
    read_bits, read_numbers,
};
use crate::column::{
    ByteLayout, ByteValues, Chunk, DecodedDictionary, DecodedLists, DecodedUnions,
    DictionaryEntries, NodeSource, OffsetWidth, StoredAs,
};
use crate::encoding::{Dictionaries, NumberKind, Scratch};
use crate::error::{Error, Result, Within, to_usize};
use crate::format::{BasicType, DataType, Wire};
use crate::read::shard::fetch::StepBytes;
use crate::read::shard::metadata::{Metadata, OpenField};
use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer};
use arrow_schema::DataType as ArrowType;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The opened fields of a stripe that a scan reads: all that is needed to read them except for their bytes.
#[derive(Debug)]
pub(in crate::read) struct StripeFields {
    pub(in crate::read) stripe: u64,
    /// The schema ids of `fields`, ascending.
    ids: Vec<u32>,
    fields: Vec<OpenField>,
    /// Whether all bytes of the fields are in memory, so that nothing has to be fetched.
    resident: bool,
    /// Whether the values of a field have another type than its node.
    are_cast: bool,
}

impl StripeFields {
    /// Creates the fields from pairs of schema id and opened field.
    pub(in crate::read) fn new(
        stripe: u64,
        mut fields: Vec<(u32, OpenField)>,
        step: &StepBytes<'_>,
    ) -> Self {
        fields.sort_unstable_by_key(|(id, _)| *id);
        fields.dedup_by_key(|(id, _)| *id);
        let (ids, fields): (Vec<u32>, Vec<OpenField>) = fields.into_iter().unzip();
        let resident = fields.iter().all(|field| match &field.layout.storage {
            Storage::Buffers(buffers) => buffers
                .streams()
                .all(|buffer| step.is_resident(buffer.place.artifact)),
            Storage::External(values) => {
                let mut places = values.places().into_iter();
                places.all(|place| step.is_resident(place.artifact))
            }
            Storage::Null | Storage::Constant(_) => true,
        });
        let are_cast = fields.iter().any(|field| field.stored_as.is_some());
        Self {
            stripe,
            ids,
            fields,
            resident,
            are_cast,
        }
    }

    /// Returns the layout of the field with a schema id.
    pub(in crate::read) fn layout(&self, id: u32) -> Option<&Arc<FieldLayout>> {
        Some(&self.fields.get(self.index(id)?)?.layout)
    }

    /// Returns the dictionary entries of the field with a schema id, if it has a dictionary.
    pub(in crate::read) fn dictionary(&self, id: u32) -> Option<&Arc<DictionaryEntries>> {
        self.fields.get(self.index(id)?)?.dictionary.as_ref()
    }

    /// Returns how the field with a schema id is stored, if its values have another type than its node.
    pub(in crate::read) fn stored_as(&self, id: u32) -> Option<&Arc<StoredAs>> {
        if !self.are_cast {
            return None;
        }
        self.fields.get(self.index(id)?)?.stored_as.as_ref()
    }

    /// Returns the layouts of all fields.
    pub(in crate::read) fn layouts(&self) -> impl Iterator<Item = &FieldLayout> {
        self.fields.iter().map(|field| field.layout.as_ref())
    }

    /// Returns the places of the streams of all fields, each once: the members of a packed group share one.
    pub(in crate::read) fn places(&self) -> impl Iterator<Item = StoredRange> {
        let mut last_group = None;
        let streams = self.layouts().flat_map(|layout| match &layout.storage {
            Storage::Buffers(buffers) => {
                let streams = buffers.streams();
                let places = streams.map(|buffer| (buffer.place, buffer.is_member()));
                places.collect::<SmallVec<[_; 3]>>()
            }
            Storage::External(values) => {
                let places = values.places().into_iter();
                places.map(|place| (place, false)).collect()
            }
            Storage::Null | Storage::Constant(_) => SmallVec::new(),
        });
        streams
            .filter(move |(place, is_member)| {
                !is_member || last_group.replace(*place) != Some(*place)
            })
            .map(|(place, _)| place)
    }

    /// Returns the average number of rows per block, in the buffer with the longest blocks; the stripe has `rows` rows.
    pub(in crate::read) fn block_rows(&self, rows: u64) -> u64 {
        let per_block = |buffer: &StoredBuffer| match &buffer.body {
            Body::Raw(_) => 1,
            Body::Blocks(blocks) => {
                let count = blocks.map().map_or(1, |map| map.len().max(1));
                rows.div_ceil(count as u64)
            }
        };
        let blocks = self.layouts().filter_map(|layout| match &layout.storage {
            Storage::Buffers(buffers) => buffers.streams().map(per_block).max(),
            Storage::External(values) => Some(values.page_rows()),
            Storage::Null | Storage::Constant(_) => None,
        });
        blocks.max().unwrap_or(1)
    }

    /// Whether the columns have no fields in this stripe.
    pub(in crate::read) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether all bytes of the fields are in memory.
    pub(in crate::read) fn are_resident(&self) -> bool {
        self.resident
    }

    fn index(&self, id: u32) -> Option<usize> {
        // The ids of adjacent columns are usually consecutive.
        let guess = id.wrapping_sub(*self.ids.first()?) as usize;
        if self.ids.get(guess) == Some(&id) {
            return Some(guess);
        }
        self.ids.binary_search(&id).ok()
    }
}

/// The most recently decoded blocks of a field.
#[derive(Debug, Default)]
pub(in crate::read) struct FieldState {
    data: BlockCache<Numbers>,
    strings: StringCache,
    runs: BlockCache<Runs>,
    presence: BlockCache<Numbers>,
    offsets: OffsetsCache,
    slots: BlockCache<Numbers>,
    /// Behind a lock that is never taken, because decoders need not be shared between threads.
    external: Mutex<Option<Box<dyn ExternalDecoder>>>,
}

/// State that decoding keeps from batch to batch.
#[derive(Debug, Default)]
pub(in crate::read) struct ReadState {
    /// In the order of the fields of the open stripe.
    fields: Vec<FieldState>,
    scratch: Scratch,
}

impl ReadState {
    /// Drops the blocks of a stripe.
    pub(in crate::read) fn clear(&mut self) {
        self.fields.clear();
    }
}

/// The decoded values of one stripe.
pub(in crate::read) struct StripeSource<'a> {
    pub(in crate::read) metadata: &'a Metadata,
    pub(in crate::read) step: &'a StepBytes<'a>,
    pub(in crate::read) fields: &'a StripeFields,
    pub(in crate::read) state: &'a mut ReadState,
    /// Whether rows are read in order, batch after batch.
    pub(in crate::read) sequential: bool,
    /// If set, values in another format are the entries of the dictionary that the value of this row refers to.
    pub(in crate::read) entries_of: Option<u64>,
}

/// A field, its state, and the context for decoding.
struct OpenedField<'a> {
    layout: &'a FieldLayout,
    state: &'a mut FieldState,
    cx: ReadContext<'a>,
}

impl StripeSource<'_> {
    /// Returns the field of a node, if it has the rows.
    fn open(&mut self, node: &DataType, rows: &Selection) -> Result<OpenedField<'_>> {
        let index = self
            .fields
            .index(node.schema_id)
            .ok_or_else(|| Error::corrupt(format!("schema node {} is not open", node.schema_id)))?;
        let layout = &self.fields.fields[index].layout;
        layout.check_rows(rows)?;
        if self.state.fields.is_empty() {
            let states = self.fields.fields.iter().map(|_| FieldState::default());
            self.state.fields = states.collect();
        }
        let dictionaries = match &layout.storage {
            Storage::Buffers(buffers) => buffers.dictionaries(),
            Storage::External(_) | Storage::Null | Storage::Constant(_) => None,
        };
        Ok(OpenedField {
            layout,
            state: &mut self.state.fields[index],
            cx: ReadContext {
                source: self.step,
                limits: self.metadata.artifacts.limits(),
                scratch: &mut self.state.scratch,
                dictionaries: dictionaries.unwrap_or(Dictionaries::none()),
                verify: self.metadata.artifacts.options().verify_checksums(),
                sequential: self.sequential,
            },
        })
    }

    /// Returns the part of `rows` that is stored, and the number of the other rows, which follow.
    fn stored<'r>(&self, node: &DataType, rows: &'r Selection) -> (Cow<'r, Selection>, u64) {
        let Some(layout) = self.fields.layout(node.schema_id) else {
            return (Cow::Borrowed(rows), 0);
        };
        let stored = stored_rows(rows, layout, self.metadata.wire);
        let missing = rows.len() - stored.len();
        (stored, missing)
    }

    /// Adds the file that the field is stored in to an error, unless it is the directory file.
    fn placed(&self, error: Error, node: &DataType) -> Error {
        let layout = self.fields.layout(node.schema_id);
        let artifact = layout.and_then(|layout| Some(layout.streams().first()?.artifact));
        match artifact {
            Some(artifact) if artifact > 0 => {
                error.within(self.metadata.artifacts.place_of(artifact))
            }
            _ => error,
        }
    }
}

impl<'a> OpenedField<'a> {
    /// Returns the decoder of values in another format.
    fn external(&mut self) -> Result<(&mut dyn ExternalDecoder, &ReadContext<'a>)> {
        let Storage::External(values) = &self.layout.storage else {
            return Err(Error::corrupt("the values of the field are in buffers"));
        };
        let decoder = self.state.external.get_mut();
        let decoder = decoder.unwrap_or_else(PoisonError::into_inner);
        let decoder = decoder.get_or_insert_with(|| values.clone().decoder());
        Ok((&mut **decoder, &self.cx))
    }

    fn all_null(&self, rows: &Selection) -> Result<NullBuffer> {
        self.cx.check_batch_bytes(rows.len().div_ceil(8), 1)?;
        Ok(NullBuffer::new_null(to_usize(rows.len())?))
    }

    /// Returns the presence in a separate buffer, if there is one.
    fn presence(&mut self, buffers: &FieldBuffers, rows: &Selection) -> Result<Option<NullBuffer>> {
        let Some(presence) = &buffers.presence else {
            return Ok(None);
        };
        let bits = read_bits(presence, rows, &mut self.cx, &mut self.state.presence)
            .within(|| "PRESENCE buffer".to_owned())?;
        Ok(nulls(Some(bits)))
    }

    /// Returns the presence of leaf values, from their blocks or from a separate buffer.
    fn leaf_nulls(
        &mut self,
        buffers: &FieldBuffers,
        embedded: Option<BooleanBuffer>,
        rows: &Selection,
    ) -> Result<Option<NullBuffer>> {
        let embedded = nulls(embedded);
        if buffers.embedded_presence {
            return Ok(embedded);
        }
        // In a dictionary, codes in blocks may denote nulls as well.
        let apart = self.presence(buffers, rows)?;
        Ok(NullBuffer::union(embedded.as_ref(), apart.as_ref()))
    }

    fn number(
        &mut self,
        buffer: &StoredBuffer,
        width: usize,
        kind: NumberKind,
        embedded: bool,
        rows: &Selection,
    ) -> Result<Numbers> {
        let (cx, cache) = (&mut self.cx, &mut self.state.data);
        match width {
            1 => read_numbers::<u8>(buffer, kind, embedded, rows, cx, cache),
            2 => read_numbers::<u16>(buffer, kind, embedded, rows, cx, cache),
            4 => read_numbers::<u32>(buffer, kind, embedded, rows, cx, cache),
            _ => read_numbers::<u64>(buffer, kind, embedded, rows, cx, cache),
        }
    }
}

/// Returns a null buffer of the bits, unless all of them are set.
fn nulls(bits: Option<BooleanBuffer>) -> Option<NullBuffer> {
    bits.map(NullBuffer::new)
        .filter(|nulls| nulls.null_count() > 0)
}

fn required<'a>(buffer: Option<&'a StoredBuffer>, name: &str) -> Result<&'a StoredBuffer> {
    buffer.ok_or_else(|| Error::corrupt(format!("the field has no {name} buffer")))
}

impl StripeSource<'_> {
    /// Returns the items of the rows' lists. For values with a separate OFFSETS buffer, returns their bytes in DATA.
    pub(in crate::read) fn items_ahead(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Selection> {
        let field = self.open(node, rows)?;
        let Storage::Buffers(buffers) = &field.layout.storage else {
            return Ok(Selection::default());
        };
        let Some(offsets) = &buffers.offsets else {
            return Ok(Selection::default());
        };
        let mut cx = field.cx;
        let cache = match field.layout.physical {
            Physical::Bytes => &mut field.state.strings.offsets,
            _ => &mut field.state.offsets,
        };
        let items = Spans::items_ahead(offsets, field.layout.positions, rows, &mut cx, cache);
        items.map_err(|e| self.placed(e, node))
    }
}

/// Returns the interpretation of the bits of a node's numbers.
pub(in crate::read) fn number_kind(node: &DataType) -> NumberKind {
    use crate::format::BasicType::{Float32, Float64};
    match node.basic_type {
        Float32 | Float64 => NumberKind::Float,
        _ if node.signed => NumberKind::Signed,
        _ => NumberKind::Unsigned,
    }
}

impl NodeSource for StripeSource<'_> {
    fn check_bytes(&self, bytes: u64) -> Result<()> {
        let limits = self.metadata.artifacts.limits();
        limits.check_batch_bytes(bytes, 1)
    }

    fn check_items(&self, item: &DataType, items: u64) -> Result<()> {
        let mut bytes = 0u64;
        let mut open = vec![item];
        while let Some(node) = open.pop() {
            let Some(layout) = self.fields.layout(node.schema_id) else {
                continue;
            };
            let width = match &layout.storage {
                Storage::Constant(value) => absent_bytes(layout.physical, constant_len(value)),
                Storage::Null => absent_bytes(layout.physical, 0),
                Storage::Buffers(_) | Storage::External(_) => 0,
            };
            bytes = bytes.saturating_add(items.saturating_mul(width));
            // Other nodes have no items of their own, or check them on their own.
            if node.basic_type == BasicType::Struct {
                open.extend(&node.children);
            }
        }
        self.metadata.artifacts.limits().check_absent_bytes(bytes)
    }

    fn bits(&mut self, node: &DataType, rows: &Selection) -> Result<Chunk<BooleanBuffer>> {
        let read = self.read_padded_bits(node, rows);
        read.map_err(|e| self.placed(e, node))
    }

    fn fixed(&mut self, node: &DataType, width: usize, rows: &Selection) -> Result<Chunk<Buffer>> {
        let read = self.read_padded_fixed(node, width, rows);
        read.map_err(|e| self.placed(e, node))
    }

    fn stored_as(&self, node: &DataType) -> Option<Arc<StoredAs>> {
        self.fields.stored_as(node.schema_id).cloned()
    }

    fn is_external(&self, node: &DataType) -> bool {
        let layout = self.fields.layout(node.schema_id);
        layout.is_some_and(|layout| matches!(layout.storage, Storage::External(_)))
    }

    fn external(
        &mut self,
        node: &DataType,
        wanted: &ArrowType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let read = self.read_external(node, wanted, rows);
        read.map_err(|e| self.placed(e, node))
    }

    fn kept_bytes(
        &mut self,
        node: &DataType,
        wanted: &ArrowType,
        rows: &Selection,
    ) -> Result<Option<ArrayRef>> {
        self.read_kept_bytes(node, wanted, rows)
    }

    fn bytes(
        &mut self,
        node: &DataType,
        layout: ByteLayout,
        rows: &Selection,
    ) -> Result<Chunk<ByteValues>> {
        let read = self.read_bytes(node, layout, rows);
        read.map_err(|e| self.placed(e, node))
    }

    fn dictionary(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Option<DecodedDictionary>> {
        let read = self.read_dictionary(node, rows);
        read.map_err(|e| self.placed(e, node))
    }

    fn presence(&mut self, node: &DataType, rows: &Selection) -> Result<Option<NullBuffer>> {
        let read = self.read_presence(node, rows);
        read.map_err(|e| self.placed(e, node))
    }

    fn lists(
        &mut self,
        node: &DataType,
        width: OffsetWidth,
        rows: &Selection,
    ) -> Result<DecodedLists> {
        let read = self.read_lists(node, width, rows);
        read.map_err(|e| self.placed(e, node))
    }

    fn unions(&mut self, node: &DataType, rows: &Selection) -> Result<DecodedUnions> {
        let read = self.read_unions(node, rows);
        read.map_err(|e| self.placed(e, node))
    }
}

/// Estimates the size of an item that is not stored in bytes; `constant` is the length of a value of variable size.
fn absent_bytes(physical: Physical, constant: u64) -> u64 {
    match physical {
        Physical::Number(width) | Physical::Fixed(width) => width as u64,
        Physical::Bytes => constant.saturating_add(size_of::<u64>() as u64),
        Physical::Lists => size_of::<u64>() as u64,
        Physical::Bits | Physical::Presence | Physical::Union => 1,
    }
}

/// Returns the presence of `len` values, followed by `missing` nulls.
fn pad_nulls(nulls: Option<&NullBuffer>, len: usize, missing: usize) -> NullBuffer {
    let mut bits = BooleanBufferBuilder::new(len + missing);
    match nulls {
        Some(nulls) => bits.append_buffer(nulls.inner()),
        None => bits.append_n(len, true),
    }
    bits.append_n(missing, false);
    NullBuffer::new(bits.finish())
}

/// Whether a field may have fewer positions than its parent requires: the reference implementation omits trailing null
/// items of fixed-size lists.
pub(in crate::read) fn may_end_early(wire: Wire) -> bool {
    wire == Wire::Reference
}

/// Returns the part of some rows that a field has stored.
pub(in crate::read) fn stored_rows<'r>(
    rows: &'r Selection,
    layout: &FieldLayout,
    wire: Wire,
) -> Cow<'r, Selection> {
    let positions = layout.positions;
    if !may_end_early(wire) || rows.end() <= positions {
        return Cow::Borrowed(rows);
    }
    let inside = rows
        .ranges()
        .iter()
        .map(|r| r.start.min(positions)..r.end.min(positions));
    Cow::Owned(inside.collect())
}
