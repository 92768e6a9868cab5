//! Encoding of the values of one stripe field, of any type.

use super::bits::finish_bits;
use super::byte_strings::BlockBytes;
use super::dictionary_encoder::DictionaryEncoder;
use super::finished_values::{FinishedValues, finish_bytes, finish_dictionary, of_numbers};
use super::leaf_encoder::{BytesEncoder, NumberEncoder};
use super::numbers::{field_numbers, plain_numbers};
use super::plan::FieldPlan;
use super::raw::{RawBytes, RawOffsets};
use crate::buffer::{FinishedBuffer, Physical, words};
use crate::column::Values;
use crate::encoding::{NumberKind, Word};
use crate::error::{Error, Result};
use crate::format::{AnyValue, BufferKind, TypeStats};
use crate::stats::{Lengths, NumberStats};
use crate::write::choose::candidate::Candidate;
use crate::write::choose::settings::Settings;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer};
use std::fmt::Debug;

/// Encodes the values of one stripe field.
#[derive(Debug)]
pub(super) enum ValueEncoder {
    /// No chunk has been appended yet.
    Empty,
    Presence,
    Bits(BooleanBufferBuilder, BitCounts),
    /// Bits of a packed group's member, one byte each.
    PackedBits(Box<dyn NumberEncoder<u8>>, BitCounts),
    Numbers(Box<dyn NumberEncoding>),
    Bytes(Box<dyn BytesEncoder>),
    Dictionary(DictionaryEncoder),
    Lists(ListEncoder, Lengths),
    /// The ordinals of the children, the offsets of a dense union, and the number of values of each child so far.
    Union(
        Box<dyn NumberEncoder<u8>>,
        Option<Box<dyn NumberEncoder<u64>>>,
        Vec<u64>,
    ),
    /// Values that are already encoded.
    Encoded(Box<FinishedValues>),
}

#[derive(Debug, Default)]
pub(in crate::write) struct BitCounts {
    pub(in crate::write) trues: u64,
    pub(in crate::write) falses: u64,
}

/// Encodes numbers of any width.
pub(super) trait NumberEncoding: Debug + Send {
    /// Appends `len` values from their little-endian bytes.
    fn push(&mut self, data: &Buffer, len: usize, nulls: Option<&NullBuffer>) -> Result<()>;

    /// Returns the candidate encodings of the staged values.
    fn into_candidates(self: Box<Self>) -> Result<Vec<Candidate>>;

    /// Returns the memory size in bytes.
    fn memory_size(&self) -> usize;

    /// Returns the finished values; `present` of them are not null.
    fn finish(self: Box<Self>, plan: &FieldPlan, present: u64) -> Result<FinishedValues>;
}

#[derive(Debug)]
struct NumberField<W> {
    encoder: Box<dyn NumberEncoder<W>>,
    stats: NumberStats<W>,
}

#[derive(Debug)]
pub(super) enum ListEncoder {
    Raw(RawOffsets),
    Blocks(Box<dyn NumberEncoder<u64>>, u64),
}

impl<W: Word> NumberField<W> {
    fn new(plan: &FieldPlan) -> Self {
        Self {
            encoder: field_numbers(plan),
            stats: NumberStats::new(plan.domain, plan.settings.statistics),
        }
    }
}

impl<W: Word> NumberEncoding for NumberField<W> {
    fn push(&mut self, data: &Buffer, len: usize, nulls: Option<&NullBuffer>) -> Result<()> {
        let words = words::<W>(data).slice(0, len);
        self.stats.update(&words, nulls);
        self.encoder.push(&words, nulls)
    }

    fn into_candidates(self: Box<Self>) -> Result<Vec<Candidate>> {
        self.encoder.into_candidates()
    }

    fn memory_size(&self) -> usize {
        self.encoder.memory_size()
    }

    fn finish(self: Box<Self>, plan: &FieldPlan, present: u64) -> Result<FinishedValues> {
        let values = of_numbers(&self.stats, plan, self.encoder.finish(BufferKind::Data)?);
        Ok(FinishedValues {
            raw_data_size: Some(present * W::BYTES as u64),
            index: self.stats.into_index(),
            ..values
        })
    }
}

/// Adds the lengths of lists that are not null.
fn note_lengths(lengths: &mut Lengths, offsets: &[u64], nulls: Option<&NullBuffer>) {
    for (i, ends) in offsets.windows(2).enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(i)) {
            lengths.add(ends[1] - ends[0]);
        }
    }
}

impl BitCounts {
    /// Counts values, and returns the bits to store.
    fn add(&mut self, values: &BooleanBuffer, nulls: Option<&NullBuffer>) -> BooleanBuffer {
        let (values, present) = match nulls {
            // Null positions are stored as false.
            Some(nulls) => (values & nulls.inner(), values.len() - nulls.null_count()),
            None => (values.clone(), values.len()),
        };
        let trues = values.count_set_bits();
        self.trues += trues as u64;
        self.falses += (present - trues) as u64;
        values
    }

    /// Returns the finished values of the buffers of bits; `present` of them are not null.
    pub(in crate::write) fn finish(
        self,
        present: u64,
        buffers: Vec<FinishedBuffer>,
    ) -> FinishedValues {
        let constant = match (self.trues, self.falses) {
            (_, 0) => Some(AnyValue::from(true)),
            (0, _) => Some(AnyValue::from(false)),
            _ => None,
        };
        FinishedValues {
            buffers,
            constant,
            type_stats: Some(TypeStats::Boolean {
                true_count: self.trues,
                false_count: self.falses,
            }),
            raw_data_size: Some(present),
            distinct_count: Some(u64::from(self.trues > 0) + u64::from(self.falses > 0)),
            ..FinishedValues::default()
        }
    }
}

fn push_union(
    kinds: &mut dyn NumberEncoder<u8>,
    slots: &mut Option<Box<dyn NumberEncoder<u64>>>,
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
    /// Returns an encoder that suits the chunk's values.
    pub(super) fn for_chunk(plan: &FieldPlan, values: &Values) -> Result<Self> {
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

    /// Returns an encoder for values without a dictionary. `is_dense` matters only for unions.
    pub(super) fn of_plain(plan: &FieldPlan, is_dense: bool) -> Result<Self> {
        Ok(match plan.physical {
            Physical::Presence => Self::Presence,
            Physical::Bits if plan.settings.is_member => Self::PackedBits(
                plain_numbers(NumberKind::Unsigned, plan.settings, &plan.pool),
                BitCounts::default(),
            ),
            Physical::Bits => Self::Bits(BooleanBufferBuilder::new(0), BitCounts::default()),
            Physical::Number(1) => Self::Numbers(Box::new(NumberField::<u8>::new(plan))),
            Physical::Number(2) => Self::Numbers(Box::new(NumberField::<u16>::new(plan))),
            Physical::Number(4) => Self::Numbers(Box::new(NumberField::<u32>::new(plan))),
            Physical::Number(_) => Self::Numbers(Box::new(NumberField::<u64>::new(plan))),
            Physical::Fixed(_) | Physical::Bytes
                if plan.settings.is_raw() && !plan.settings.delimited =>
            {
                Self::Bytes(Box::new(RawBytes::new(plan)))
            }
            Physical::Fixed(_) | Physical::Bytes => Self::Bytes(Box::new(BlockBytes::new(plan))),
            Physical::Lists if plan.settings.is_raw() => {
                let offsets = RawOffsets::new(plan.wide_offsets, plan.pool.clone());
                Self::Lists(ListEncoder::Raw(offsets), Lengths::default())
            }
            Physical::Lists => {
                let mut encoder = offsets_encoder(plan);
                encoder.push(&[0], None)?;
                Self::Lists(ListEncoder::Blocks(encoder, 0), Lengths::default())
            }
            Physical::Union => Self::Union(
                plain_numbers(NumberKind::Unsigned, plan.settings, &plan.pool),
                is_dense.then(|| offsets_encoder(plan)),
                Vec::new(),
            ),
        })
    }

    /// Appends the values of a chunk.
    pub(super) fn push(
        &mut self,
        values: &Values,
        len: usize,
        nulls: Option<&NullBuffer>,
    ) -> Result<()> {
        match (self, values) {
            (Self::Presence, Values::None) => Ok(()),
            (Self::Bits(bits, counts), Values::Bits(chunk)) => {
                bits.append_buffer(&counts.add(chunk, nulls));
                Ok(())
            }
            (Self::PackedBits(bytes, counts), Values::Bits(chunk)) => {
                let values: Vec<u8> = counts.add(chunk, nulls).iter().map(u8::from).collect();
                bytes.push(&values, nulls)
            }
            (Self::Numbers(f), Values::Fixed { data, .. }) => f.push(data, len, nulls),
            (Self::Bytes(f), Values::Fixed { data, .. }) => f.push_fixed(data, len, nulls),
            (Self::Bytes(f), Values::Bytes(bytes)) => f.push(bytes, len, nulls),
            (Self::Dictionary(f), Values::Dictionary { codes, entries }) => {
                f.push(codes, nulls, entries)
            }
            (Self::Lists(f, lengths), Values::Offsets(offsets)) => {
                note_lengths(lengths, offsets, nulls);
                f.push(offsets)
            }
            (Self::Union(kinds, slots, next), Values::Union { ordinals, offsets }) => {
                push_union(kinds.as_mut(), slots, next, ordinals, offsets.as_deref())
            }
            _ => Err(Error::invalid("a chunk does not fit the field")),
        }
    }

    /// Returns the candidate encodings of the staged values; empty if there is no choice.
    pub(super) fn into_candidates(self) -> Result<Vec<Candidate>> {
        match self {
            Self::Numbers(f) => f.into_candidates(),
            Self::Bytes(f) => f.into_candidates(),
            Self::Lists(ListEncoder::Blocks(f, _), _) => f.into_candidates(),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        let bits = |b: &BooleanBufferBuilder| b.len() / 8;
        match self {
            Self::Empty | Self::Presence | Self::Encoded(_) => 0,
            Self::Bits(b, _) => bits(b),
            Self::PackedBits(f, _) => f.memory_size(),
            Self::Numbers(f) => f.memory_size(),
            Self::Bytes(f) => f.memory_size(),
            Self::Dictionary(f) => f.memory_size(),
            Self::Lists(ListEncoder::Raw(offsets), _) => offsets.memory_size(),
            Self::Lists(ListEncoder::Blocks(f, _), _) => f.memory_size(),
            Self::Union(kinds, slots, _) => {
                kinds.memory_size() + slots.as_ref().map_or(0, |slots| slots.memory_size())
            }
        }
    }

    /// Encodes the remaining staged values; `present` values are not null.
    pub(super) fn finish(self, plan: &FieldPlan, present: u64) -> Result<FinishedValues> {
        let width = plan.physical.width().unwrap_or(0) as u64;
        Ok(match self {
            Self::Empty | Self::Presence => FinishedValues::default(),
            Self::Encoded(values) => *values,
            Self::Bits(mut bits, counts) => {
                let buffers = finish_bits(&bits.finish(), plan.settings, BufferKind::Data)?;
                counts.finish(present, buffers)
            }
            Self::PackedBits(bytes, counts) => {
                counts.finish(present, bytes.finish(BufferKind::Data)?.buffers)
            }
            Self::Numbers(field) => field.finish(plan, present)?,
            Self::Bytes(field) => {
                let raw = match plan.physical {
                    Physical::Fixed(_) => present * width,
                    _ => field.total_bytes(),
                };
                FinishedValues {
                    raw_data_size: Some(raw),
                    ..finish_bytes(field.finish()?, plan)
                }
            }
            Self::Dictionary(field) => finish_dictionary(field, plan)?,
            Self::Lists(offsets, lengths) => FinishedValues {
                buffers: match offsets {
                    ListEncoder::Raw(offsets) => vec![offsets.finish()],
                    ListEncoder::Blocks(encoder, _) => encoder.finish(BufferKind::Offsets)?.buffers,
                },
                type_stats: Some(TypeStats::List(lengths.finish())),
                ..FinishedValues::default()
            },
            Self::Union(kinds, slots, _) => {
                let mut buffers = kinds.finish(BufferKind::Data)?.buffers;
                if let Some(slots) = slots {
                    buffers.extend(slots.finish(BufferKind::Offsets)?.buffers);
                }
                FinishedValues {
                    buffers,
                    ..FinishedValues::default()
                }
            }
        })
    }
}

/// Returns an encoder for the offsets of lists or of a dense union, which are never null.
fn offsets_encoder(plan: &FieldPlan) -> Box<dyn NumberEncoder<u64>> {
    let settings = Settings {
        embedded_presence: false,
        ..plan.settings
    };
    plain_numbers(NumberKind::Unsigned, settings, &plan.pool)
}
