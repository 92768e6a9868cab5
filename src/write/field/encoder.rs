//! One stripe field: from chunks to encoded buffers and a descriptor.

use super::bits::finish_bits;
use super::codes::Used;
use super::dictionary_encoder::{DictionaryEncoder, expand};
use super::finished_values::FinishedValues;
use super::plan::FieldPlan;
use super::values::ValueEncoder;
use crate::buffer::{FinishedBuffer, Physical};
use crate::column::{Chunk, Values};
use crate::error::Result;
use crate::format::{AnyValue, BufferKind, FieldDescriptor};
use crate::write::choose::candidate::Candidate;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use std::sync::Arc;

/// Most bytes that a constant takes if its values are stored. Without compression, they may be as large as the rows.
const MAX_CONSTANT_BYTES: usize = 64 << 10;

/// A finished field: its buffers, and its descriptor without them.
#[derive(Debug)]
pub(in crate::write) struct EncodedField {
    pub(in crate::write) descriptor: FieldDescriptor,
    pub(in crate::write) buffers: Vec<FinishedBuffer>,
    /// The buffers of a constant, which are written only if the stripe would have no bytes otherwise.
    constant_buffers: Vec<FinishedBuffer>,
    /// Schema ids of the members whose blocks move to this struct.
    pub(in crate::write) members: Vec<u32>,
}

impl EncodedField {
    /// Stores the values of a constant as well, which readers need not read. Returns whether it has any bytes.
    pub(in crate::write) fn store_constant(&mut self) -> bool {
        self.buffers = std::mem::take(&mut self.constant_buffers);
        !self.buffers.is_empty()
    }
}

/// Encodes one stripe field.
#[derive(Debug)]
pub(in crate::write) struct FieldEncoder {
    plan: Arc<FieldPlan>,
    positions: u64,
    null_count: u64,
    /// Presence of all positions; `None` before the first null.
    presence: Option<BooleanBufferBuilder>,
    values: ValueEncoder,
}

impl FieldEncoder {
    pub(in crate::write) fn new(plan: Arc<FieldPlan>) -> Self {
        Self {
            plan,
            positions: 0,
            null_count: 0,
            presence: None,
            values: ValueEncoder::Empty,
        }
    }

    /// Returns an encoder for values that are already encoded and have no nulls.
    pub(in crate::write) fn of_encoded(
        plan: Arc<FieldPlan>,
        positions: u64,
        values: FinishedValues,
    ) -> Self {
        Self {
            positions,
            values: ValueEncoder::Encoded(Box::new(values)),
            ..Self::new(plan)
        }
    }

    /// Returns the path of the field.
    pub(in crate::write) fn path(&self) -> Arc<str> {
        self.plan.path.clone()
    }

    /// Returns the current size of the dictionary of the Arrow type.
    pub(in crate::write) fn dictionary(&self) -> Used {
        match &self.values {
            ValueEncoder::Dictionary(dictionary) => dictionary.used(),
            _ => Used::default(),
        }
    }

    /// Returns whether appending the chunk would overflow the keys of the Arrow dictionary type, or make the dictionary
    /// too large for readers.
    pub(in crate::write) fn would_overflow(&self, chunk: &Chunk<Values>) -> bool {
        let Values::Dictionary { codes, entries } = &chunk.values else {
            return false;
        };
        let (nulls, most) = (chunk.nulls.as_ref(), self.plan.max_entries);
        match &self.values {
            ValueEncoder::Dictionary(dictionary) => {
                dictionary.would_overflow(codes, nulls, entries, most)
            }
            ValueEncoder::Empty if self.plan.keeps_dictionary => {
                DictionaryEncoder::new(self.plan.entry_type(), self.plan.settings)
                    .would_overflow(codes, nulls, entries, most)
            }
            _ => false,
        }
    }

    /// Appends a chunk.
    pub(in crate::write) fn push(&mut self, chunk: &Chunk<Values>) -> Result<()> {
        let nulls = chunk.nulls.as_ref().filter(|n| n.null_count() > 0);
        if let Values::Dictionary { codes, entries } = &chunk.values
            && !self.plan.keeps_dictionary
        {
            return self.push(&Chunk {
                len: chunk.len,
                nulls: chunk.nulls.clone(),
                values: expand(codes, nulls, &entries.values)?,
            });
        }
        self.push_presence(chunk.len, nulls);
        if let ValueEncoder::Empty = self.values {
            self.values = ValueEncoder::for_chunk(&self.plan, &chunk.values)?;
        }
        self.values.push(&chunk.values, chunk.len, nulls)
    }

    fn push_presence(&mut self, len: usize, nulls: Option<&NullBuffer>) {
        let positions = self.positions;
        self.positions += len as u64;
        if let Some(nulls) = nulls {
            self.null_count += nulls.null_count() as u64;
            let presence = self.presence.get_or_insert_with(|| {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the positions of a stripe are in memory"
                )]
                let earlier = positions as usize;
                let mut bits = BooleanBufferBuilder::new(earlier + len);
                bits.append_n(earlier, true);
                bits
            });
            presence.append_buffer(nulls.inner());
        } else if let Some(presence) = &mut self.presence {
            presence.append_n(len, true);
        }
    }

    /// Returns the candidate encodings of the staged values; empty if there is no choice.
    pub(in crate::write) fn into_candidates(self) -> Result<Vec<Candidate>> {
        self.values.into_candidates()
    }

    /// Returns the memory size in bytes.
    pub(in crate::write) fn memory_size(&self) -> usize {
        let bits = |b: &BooleanBufferBuilder| b.len() / 8;
        self.values.memory_size() + self.presence.as_ref().map_or(0, bits)
    }

    /// Returns the buffers and the descriptor of the field.
    pub(in crate::write) fn finish(mut self) -> Result<EncodedField> {
        if self.positions == 0 && matches!(self.values, ValueEncoder::Dictionary(_)) {
            self.values = ValueEncoder::of_plain(&self.plan, false)?;
        }
        let capabilities = self.plan.settings.capabilities;
        let mut descriptor = FieldDescriptor {
            position_count: self.positions,
            null_count: Some(self.null_count),
            ..FieldDescriptor::default()
        };
        let may_be_null = match self.plan.physical {
            Physical::Union => false,
            Physical::Presence | Physical::Lists => capabilities.nested_constants,
            _ => true,
        };
        let all_null = self.positions > 0 && self.null_count == self.positions && may_be_null;
        let present = self.positions - self.null_count;
        let keeps_entries = self.plan.ordered && matches!(self.values, ValueEncoder::Dictionary(_));
        let mut finished = self.values.finish(&self.plan, present)?;
        let nulls_embedded = match finished.dictionary_size {
            Some(_) => !capabilities.presence_beside_dictionary,
            None => self.plan.settings.embedded_presence,
        };
        descriptor.raw_data_size = if capabilities.spec_raw_data_size {
            finished.raw_data_size
        } else {
            Some(raw_size_with_bitmaps(
                self.plan.physical,
                self.positions,
                self.null_count,
                finished.raw_data_size,
            ))
        };
        descriptor.constant_value = match &finished.constant {
            // A constant cannot keep unused entries or ids.
            _ if keeps_entries => None,
            _ if all_null => Some(AnyValue::null()),
            Some(constant) if self.null_count == 0 && self.positions > 0 => Some(constant.clone()),
            _ => None,
        };
        finished.describe(&self.plan, &mut descriptor);
        let mut buffers = std::mem::take(&mut finished.buffers);
        let mut constant_buffers = Vec::new();
        if descriptor.constant_value.is_none() {
            descriptor.dictionary_size = finished.dictionary_size;
            if let Some(mut presence) = self.presence.filter(|_| !nulls_embedded) {
                let bits = presence.finish();
                let settings = self.plan.settings;
                buffers.extend(finish_bits(&bits, settings, BufferKind::Presence)?);
            }
            if let Some(index) = finished.index(&self.plan)? {
                buffers.push(index);
            }
        } else if capabilities.stored_constants
            && finished.dictionary_size.is_none()
            && self.null_count == 0
        {
            constant_buffers = std::mem::take(&mut buffers);
            let bytes: usize = constant_buffers.iter().map(FinishedBuffer::size).sum();
            if bytes > MAX_CONSTANT_BYTES {
                constant_buffers.clear();
            }
        } else {
            buffers.clear();
        }
        descriptor.bloom_filter = finished.filter(&self.plan, &descriptor, &buffers);
        Ok(EncodedField {
            descriptor,
            buffers,
            constant_buffers,
            members: self.plan.members.clone(),
        })
    }
}

/// Returns `raw_data_size` as the reference counts it; `values` is the size of the values alone.
fn raw_size_with_bitmaps(
    physical: Physical,
    positions: u64,
    null_count: u64,
    values: Option<u64>,
) -> u64 {
    if null_count == positions {
        return 0;
    }
    let bitmap = match null_count {
        0 => 0,
        _ => positions.div_ceil(8),
    };
    bitmap
        + match physical {
            Physical::Bits => positions.div_ceil(8),
            Physical::Lists => 8 * positions,
            _ => values.unwrap_or(0),
        }
}
