//! One stripe field: from chunks to encoded buffers and a descriptor.

use super::bits::finish_bits;
use super::candidate::Candidate;
use super::codes::Used;
use super::dictionary_encoder::{DictionaryEncoder, expand};
use super::number::NumberEncoder;
use super::plan::FieldPlan;
use super::raw::RawOffsets;
use super::strings::{BytesEncoder, offsets_encoder};
use crate::buffer::{FinishedBuffer, Physical, words};
use crate::column::{Chunk, Values};
use crate::encoding::{NumberKind, Word};
use crate::error::{Error, Result};
use crate::format::{AnyValue, BufferKind, FieldDescriptor};
use crate::stats::{Lengths, NumberStats};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer};
use std::sync::Arc;

/// A finished field: its buffers, and its descriptor without them.
#[derive(Debug)]
pub(super) struct EncodedField {
    pub(super) descriptor: FieldDescriptor,
    pub(super) buffers: Vec<FinishedBuffer>,
}

/// Encodes one stripe field.
#[derive(Debug)]
pub(super) struct FieldEncoder {
    plan: FieldPlan,
    positions: u64,
    null_count: u64,
    /// Presence of all positions, from the first null on.
    presence: Option<BooleanBufferBuilder>,
    values: ValueEncoder,
}

#[derive(Debug)]
pub(super) enum ValueEncoder {
    /// No chunk has come yet.
    Empty,
    Presence,
    Bits(BooleanBufferBuilder, BitCounts),
    Number1(NumberField<u8>),
    Number2(NumberField<u16>),
    Number4(NumberField<u32>),
    Number8(NumberField<u64>),
    Bytes(BytesEncoder),
    Dictionary(DictionaryEncoder),
    Lists(ListEncoder, Lengths),
    Union(NumberEncoder<u8>, Option<NumberEncoder<u64>>, Vec<u64>),
}

#[derive(Debug, Default)]
pub(super) struct BitCounts {
    pub(super) trues: u64,
    pub(super) falses: u64,
}

#[derive(Debug)]
pub(super) struct NumberField<W> {
    pub(super) encoder: NumberEncoder<W>,
    pub(super) stats: NumberStats<W>,
}

#[derive(Debug)]
pub(super) enum ListEncoder {
    Raw(RawOffsets),
    Blocks(Box<NumberEncoder<u64>>, u64),
}

impl<W: Word> NumberField<W> {
    fn new(plan: &FieldPlan) -> Self {
        let encoder = NumberEncoder::new(plan.domain.kind(), plan.settings, &plan.pool);
        Self {
            encoder: encoder
                .with_trial(plan.tried_entry())
                .with_distinct(plan.distinct()),
            stats: NumberStats::new(plan.domain, plan.settings.statistics),
        }
    }

    fn push(&mut self, data: &Buffer, len: usize, nulls: Option<&NullBuffer>) -> Result<()> {
        let words = words::<W>(data).slice(0, len);
        self.stats.update(&words, nulls);
        self.encoder.push(&words, nulls)
    }
}

impl FieldEncoder {
    pub(super) fn new(plan: FieldPlan) -> Self {
        Self {
            plan,
            positions: 0,
            null_count: 0,
            presence: None,
            values: ValueEncoder::Empty,
        }
    }

    /// The path of the field.
    pub(super) fn path(&self) -> Arc<str> {
        self.plan.path.clone()
    }

    /// What the dictionary of the Arrow type has so far.
    pub(super) fn dictionary(&self) -> Used {
        match &self.values {
            ValueEncoder::Dictionary(dictionary) => dictionary.used(),
            _ => Used::default(),
        }
    }

    /// Whether appending the chunk would overflow the keys of the Arrow dictionary type, or make a
    /// dictionary that is too large for readers.
    pub(super) fn would_overflow(&self, chunk: &Chunk<Values>) -> bool {
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
    pub(super) fn push(&mut self, chunk: &Chunk<Values>) -> Result<()> {
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
        let (values, len) = (&chunk.values, chunk.len);
        match (&mut self.values, values) {
            (ValueEncoder::Presence, Values::None) => Ok(()),
            (ValueEncoder::Bits(bits, counts), Values::Bits(chunk)) => {
                push_bits(bits, counts, chunk, nulls);
                Ok(())
            }
            (ValueEncoder::Number1(f), Values::Fixed { data, .. }) => f.push(data, len, nulls),
            (ValueEncoder::Number2(f), Values::Fixed { data, .. }) => f.push(data, len, nulls),
            (ValueEncoder::Number4(f), Values::Fixed { data, .. }) => f.push(data, len, nulls),
            (ValueEncoder::Number8(f), Values::Fixed { data, .. }) => f.push(data, len, nulls),
            (ValueEncoder::Bytes(f), Values::Fixed { data, .. }) => f.push_fixed(data, len, nulls),
            (ValueEncoder::Bytes(f), Values::Bytes(bytes)) => f.push(bytes, len, nulls),
            (ValueEncoder::Dictionary(f), Values::Dictionary { codes, entries }) => {
                f.push(codes, nulls, entries)
            }
            (ValueEncoder::Lists(f, lengths), Values::Offsets(offsets)) => {
                note_lengths(lengths, offsets, nulls);
                f.push(offsets)
            }
            (ValueEncoder::Union(kinds, slots, next), Values::Union { ordinals, offsets }) => {
                push_union(kinds, slots, next, ordinals, offsets.as_deref())
            }
            _ => Err(Error::invalid("a chunk does not fit the field")),
        }
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

    /// How the staged values might be encoded; empty if there is nothing to choose.
    pub(super) fn into_candidates(self) -> Result<Vec<Candidate>> {
        match self.values {
            ValueEncoder::Number1(f) => f.encoder.into_candidates(),
            ValueEncoder::Number2(f) => f.encoder.into_candidates(),
            ValueEncoder::Number4(f) => f.encoder.into_candidates(),
            ValueEncoder::Number8(f) => f.encoder.into_candidates(),
            ValueEncoder::Bytes(f) => f.into_candidates(),
            ValueEncoder::Lists(ListEncoder::Blocks(f, _), _) => f.into_candidates(),
            _ => Ok(Vec::new()),
        }
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        let bits = |b: &BooleanBufferBuilder| b.len() / 8;
        let values = match &self.values {
            ValueEncoder::Empty | ValueEncoder::Presence => 0,
            ValueEncoder::Bits(b, _) => bits(b),
            ValueEncoder::Number1(f) => f.encoder.memory_size(),
            ValueEncoder::Number2(f) => f.encoder.memory_size(),
            ValueEncoder::Number4(f) => f.encoder.memory_size(),
            ValueEncoder::Number8(f) => f.encoder.memory_size(),
            ValueEncoder::Bytes(f) => f.memory_size(),
            ValueEncoder::Dictionary(f) => f.memory_size(),
            ValueEncoder::Lists(ListEncoder::Raw(offsets), _) => offsets.memory_size(),
            ValueEncoder::Lists(ListEncoder::Blocks(f, _), _) => f.memory_size(),
            ValueEncoder::Union(kinds, slots, _) => {
                kinds.memory_size() + slots.as_ref().map_or(0, NumberEncoder::memory_size)
            }
        };
        values + self.presence.as_ref().map_or(0, bits)
    }

    /// The buffers and the descriptor of the field.
    pub(super) fn finish(mut self) -> Result<EncodedField> {
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
        descriptor.raw_data_size = match capabilities.spec_raw_data_size {
            true => finished.raw_data_size,
            false => Some(raw_size_with_bitmaps(
                self.plan.physical,
                self.positions,
                self.null_count,
                finished.raw_data_size,
            )),
        };
        descriptor.constant_value = match &finished.constant {
            // A constant has no place for the entries that are not used, nor for ids.
            _ if keeps_entries => None,
            _ if all_null => Some(AnyValue::null()),
            Some(constant) if self.null_count == 0 && self.positions > 0 => Some(constant.clone()),
            _ => None,
        };
        finished.describe(&self.plan, &mut descriptor);
        let mut buffers = Vec::new();
        if descriptor.constant_value.is_none() {
            descriptor.dictionary_size = finished.dictionary_size;
            buffers = std::mem::take(&mut finished.buffers);
            if let Some(mut presence) = self.presence.filter(|_| !nulls_embedded) {
                let bits = presence.finish();
                buffers.push(finish_bits(
                    &bits,
                    self.plan.settings,
                    BufferKind::Presence,
                )?);
            }
            if let Some(index) = finished.index(&self.plan)? {
                buffers.push(index);
            }
        }
        descriptor.membership_filter = finished.filter(&self.plan, &descriptor, &buffers);
        Ok(EncodedField {
            descriptor,
            buffers,
        })
    }
}

/// `raw_data_size` as the reference has it; `values` is that of the values alone.
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

/// Takes note of the lengths of lists that are not null.
fn note_lengths(lengths: &mut Lengths, offsets: &[u64], nulls: Option<&NullBuffer>) {
    for (i, ends) in offsets.windows(2).enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(i)) {
            lengths.add(ends[1] - ends[0]);
        }
    }
}

fn push_bits(
    bits: &mut BooleanBufferBuilder,
    counts: &mut BitCounts,
    values: &BooleanBuffer,
    nulls: Option<&NullBuffer>,
) {
    let (values, present) = match nulls {
        // What stands under a null is written as false.
        Some(nulls) => (values & nulls.inner(), values.len() - nulls.null_count()),
        None => (values.clone(), values.len()),
    };
    let trues = values.count_set_bits();
    counts.trues += trues as u64;
    counts.falses += (present - trues) as u64;
    bits.append_buffer(&values);
}

fn push_union(
    kinds: &mut NumberEncoder<u8>,
    slots: &mut Option<NumberEncoder<u64>>,
    next: &mut Vec<u64>,
    ordinals: &[u8],
    offsets: Option<&[u64]>,
) -> Result<()> {
    kinds.push(ordinals, None)?;
    let (Some(slots), Some(offsets)) = (slots, offsets) else {
        return Ok(());
    };
    let mut counts: Vec<u64> = Vec::new();
    let shifted: Vec<u64> = ordinals
        .iter()
        .zip(offsets)
        .map(|(&ordinal, &offset)| {
            let child = usize::from(ordinal);
            let most = next.len().max(child + 1);
            next.resize(most, 0);
            counts.resize(most.max(counts.len()), 0);
            counts[child] += 1;
            next[child] + offset
        })
        .collect();
    for (next, count) in next.iter_mut().zip(counts) {
        *next += count;
    }
    slots.push(&shifted, None)
}

impl ListEncoder {
    fn push(&mut self, offsets: &[u64]) -> Result<()> {
        let ends = offsets.get(1..).unwrap_or_default();
        match self {
            Self::Raw(all) => {
                all.extend(ends.len(), |i| ends[i]);
                Ok(())
            }
            Self::Blocks(encoder, base) => {
                let shifted: Vec<u64> = ends.iter().map(|end| *base + end).collect();
                *base = shifted.last().copied().unwrap_or(*base);
                encoder.push(&shifted, None)
            }
        }
    }
}

impl ValueEncoder {
    fn for_chunk(plan: &FieldPlan, values: &Values) -> Result<Self> {
        if let Values::Dictionary { .. } = values {
            return Ok(Self::Dictionary(DictionaryEncoder::new(
                plan.entry_type(),
                plan.settings,
            )));
        }
        let is_dense = matches!(
            values,
            Values::Union {
                offsets: Some(_),
                ..
            }
        );
        Self::of_plain(plan, is_dense)
    }

    /// An encoder of values that have no dictionary; `is_dense` matters to unions alone.
    fn of_plain(plan: &FieldPlan, is_dense: bool) -> Result<Self> {
        Ok(match plan.physical {
            Physical::Presence => Self::Presence,
            Physical::Bits => Self::Bits(BooleanBufferBuilder::new(0), BitCounts::default()),
            Physical::Number(1) => Self::Number1(NumberField::new(plan)),
            Physical::Number(2) => Self::Number2(NumberField::new(plan)),
            Physical::Number(4) => Self::Number4(NumberField::new(plan)),
            Physical::Number(_) => Self::Number8(NumberField::new(plan)),
            Physical::Fixed(_) | Physical::Bytes => Self::Bytes(BytesEncoder::new(plan)),
            Physical::Lists if plan.settings.is_raw() => {
                let offsets = RawOffsets::new(plan.wide_offsets, plan.pool.clone());
                Self::Lists(ListEncoder::Raw(offsets), Lengths::default())
            }
            Physical::Lists => {
                let mut encoder = offsets_encoder(plan);
                encoder.push(&[0], None)?;
                let encoder = ListEncoder::Blocks(Box::new(encoder), 0);
                Self::Lists(encoder, Lengths::default())
            }
            Physical::Union => Self::Union(
                NumberEncoder::new(NumberKind::Unsigned, plan.settings, &plan.pool),
                is_dense.then(|| offsets_encoder(plan)),
                Vec::new(),
            ),
        })
    }
}
