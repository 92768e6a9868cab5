//! Spec: Chapter 6, "Stripe Field Descriptor": the finished buffers of a stripe field, and the statistics of its
//! values.

use super::codes::FinishedEntries;
use super::dictionary_encoder::DictionaryEncoder;
use super::finished_leaf::{FinishedBytes, FinishedLeaf};
use super::plan::FieldPlan;
use crate::buffer::{FinishedBuffer, Physical, RangeIndexInput};
use crate::encoding::Word;
use crate::error::Result;
use crate::format::decimal128::{self, Sign};
use crate::format::{
    AnyValue, BasicType, CardinalityInfo, FieldDescriptor, RangeStats, SplitBlockBloomFilter,
    TypeStats, ValueKind,
};
use crate::stats::{
    ByteStats, DecimalForm, DecimalStats, DistinctStats, IndexedRanges, NumberDomain, NumberStats,
    byte_value,
};
use crate::write::choose::profile::Profile;
use crate::write::choose::settings::BloomFilterChoice;

/// Fewest distinct values for an automatic Bloom filter: with fewer, the dictionary answers.
const MIN_BLOOM_VALUES: u64 = 256;
/// An automatic Bloom filter takes at most `1 / FILTER_SHARE` of the bytes of its field.
const FILTER_SHARE: u64 = 8;
/// Most bytes of a Bloom filter, because its descriptor contains it.
const MAX_BLOOM_BYTES: u64 = 256 << 20;

/// The encoded values of a field, and their statistics.
#[derive(Debug, Default)]
pub(in crate::write) struct FinishedValues {
    pub(super) buffers: Vec<FinishedBuffer>,
    pub(super) constant: Option<AnyValue>,
    pub(super) dictionary_size: Option<u64>,
    pub(super) raw_data_size: Option<u64>,
    pub(super) range: Option<RangeStats>,
    pub(super) type_stats: Option<TypeStats>,
    /// Number of distinct values, if known.
    pub(super) distinct_count: Option<u64>,
    pub(super) distinct: Option<DistinctStats>,
    pub(super) index: Option<IndexedRanges>,
}

impl FinishedValues {
    fn of_leaf(leaf: FinishedLeaf) -> Self {
        Self {
            buffers: leaf.buffers,
            dictionary_size: leaf.entries.as_ref().map(|entries| entries.size),
            distinct_count: leaf.distinct_count,
            distinct: leaf.distinct,
            ..Self::default()
        }
    }

    /// Adds the statistics to a descriptor that already has its counts and its constant.
    pub(super) fn describe(&mut self, plan: &FieldPlan, descriptor: &mut FieldDescriptor) {
        if !plan.settings.statistics {
            return;
        }
        let spec = plan.settings.capabilities.spec_statistics;
        let has_range = matches!(plan.physical, Physical::Number(_)) || plan.decimals.is_some();
        descriptor.range_stats = self.range.take();
        if descriptor.range_stats.is_none() && has_range && !spec {
            // The reference writes ranges without bounds.
            descriptor.range_stats = Some(RangeStats {
                min_inclusive: true,
                max_inclusive: true,
                ..RangeStats::default()
            });
        }
        descriptor.type_specific = self.type_stats.take();
        descriptor.cardinality = self.cardinality(plan, descriptor);
    }

    fn cardinality(
        &self,
        plan: &FieldPlan,
        descriptor: &FieldDescriptor,
    ) -> Option<CardinalityInfo> {
        if !plan.has_cardinality() || descriptor.position_count == 0 {
            return None;
        }
        let spec = plan.settings.capabilities.spec_statistics;
        let nulls = descriptor.null_count.unwrap_or(0);
        let present = descriptor.position_count - nulls;
        // Chapter 6 counts null as a value; the reference does not.
        let null_value = u64::from(spec && nulls > 0);
        let exact = match present {
            0 if spec => Some(0),
            0 => return None,
            _ => self.distinct_count.filter(|_| spec),
        };
        match (&self.distinct, exact) {
            (Some(distinct), _) if present > 0 => {
                let estimate = if spec {
                    distinct.estimate().clamp(1, present)
                } else {
                    distinct.estimate()
                };
                let count = exact.unwrap_or(estimate);
                Some(distinct.cardinality(count + null_value, exact.is_none()))
            }
            (_, Some(count)) => Some(CardinalityInfo {
                count: Some(count + null_value),
                is_estimate: false,
                sketch: None,
            }),
            (_, None) => None,
        }
    }

    /// Returns the Bloom filter of a field with these buffers, if it gets one.
    pub(super) fn filter(
        &mut self,
        plan: &FieldPlan,
        descriptor: &FieldDescriptor,
        buffers: &[FinishedBuffer],
    ) -> Option<SplitBlockBloomFilter> {
        let stored: u64 = buffers.iter().map(|b| b.size() as u64).sum();
        let spec = plan.settings.capabilities.spec_statistics;
        // A constant needs no filter, although the reference writes filters of constants too.
        if spec && descriptor.constant_value.is_some() {
            return None;
        }
        let asked = plan.settings.bloom_filter == BloomFilterChoice::Always || !spec;
        self.distinct.take()?.filter(|values, bytes| {
            let pays = values >= MIN_BLOOM_VALUES && bytes.saturating_mul(FILTER_SHARE) <= stored;
            bytes <= MAX_BLOOM_BYTES && (asked || pays)
        })
    }

    /// Returns the range index, if there is one and the column has statistics and blocks.
    pub(super) fn index(&mut self, plan: &FieldPlan) -> Result<Option<FinishedBuffer>> {
        let settings = &plan.settings;
        let wanted = plan.indexed && settings.statistics && settings.profile != Profile::Plain;
        let Some(index) = self.index.take().filter(|_| wanted) else {
            return Ok(None);
        };
        let input = RangeIndexInput {
            basic_type: plan.basic_type,
            signed: matches!(plan.domain, NumberDomain::Signed),
            as_numbers: settings.capabilities.every_nesting,
            positions: index.positions,
            minimums: &index.minimums,
            maximums: &index.maximums,
            invalid: &index.invalid,
        };
        let bytes = input.encode(settings)?;
        Ok(Some(FinishedBuffer::range_index(bytes)))
    }
}

pub(super) fn of_numbers<W: Word>(
    stats: &NumberStats<W>,
    plan: &FieldPlan,
    leaf: FinishedLeaf,
) -> FinishedValues {
    FinishedValues {
        constant: stats.constant(),
        range: stats.range(),
        type_stats: stats.floating(plan.settings.capabilities.spec_statistics),
        ..FinishedValues::of_leaf(leaf)
    }
}

pub(super) fn finish_bytes(field: FinishedBytes, plan: &FieldPlan) -> FinishedValues {
    let values = of_bytes(&field.stats, field.decimals.as_ref(), plan, field.leaf);
    FinishedValues {
        index: field.decimals.and_then(DecimalStats::into_index),
        ..values
    }
}

fn of_bytes(
    stats: &ByteStats,
    decimals: Option<&DecimalStats>,
    plan: &FieldPlan,
    leaf: FinishedLeaf,
) -> FinishedValues {
    let is_text = plan.basic_type == BasicType::String;
    let type_stats = match decimals {
        Some(decimals) => decimals.signs().map(TypeStats::Decimal),
        None if is_text => Some(TypeStats::String {
            lengths: stats.lengths(),
            ascii_count: Some(stats.ascii_count()),
        }),
        None => Some(TypeStats::Binary(stats.lengths())),
    };
    let range = match decimals {
        Some(decimals) => decimals.range(),
        None if plan.byte_order => stats.range(is_text),
        None => None,
    };
    FinishedValues {
        constant: stats.constant().and_then(|c| byte_constant(c, plan)),
        range,
        type_stats,
        ..FinishedValues::of_leaf(leaf)
    }
}

/// Returns the constant of byte values, or `None` for a decimal that is not a number, because readers would take such a
/// constant for damage.
fn byte_constant(value: &[u8], plan: &FieldPlan) -> Option<AnyValue> {
    if plan.decimals == Some(DecimalForm::Decimal128)
        && let Ok(decimal) = value.try_into()
    {
        let is_number = decimal128::sign(decimal) != Some(Sign::Nan);
        return is_number.then(|| ValueKind::Decimal(decimal).into());
    }
    Some(byte_value(value, plan.basic_type == BasicType::String))
}

pub(super) fn finish_dictionary(
    field: DictionaryEncoder,
    plan: &FieldPlan,
) -> Result<FinishedValues> {
    let raw_bytes = field.raw_bytes();
    let (buffers, entries) = field.finish()?;
    let leaf = FinishedLeaf::with_entries(buffers, entries).with_distinct(plan.distinct());
    let finished = match plan.physical {
        Physical::Number(1) => of_entries::<u8>(leaf, plan),
        Physical::Number(2) => of_entries::<u16>(leaf, plan),
        Physical::Number(4) => of_entries::<u32>(leaf, plan),
        Physical::Number(_) => of_entries::<u64>(leaf, plan),
        _ => {
            let mut stats = plan.byte_stats();
            let mut decimals = plan.decimal_stats();
            for (entry, times) in leaf.entries.iter().flat_map(FinishedEntries::used) {
                stats.update_repeated(entry, times);
                if let Some(decimals) = &mut decimals {
                    decimals.update_repeated(entry, times);
                }
            }
            of_bytes(&stats, decimals.as_ref(), plan, leaf)
        }
    };
    Ok(FinishedValues {
        raw_data_size: Some(raw_bytes),
        ..finished
    })
}

fn of_entries<W: Word>(leaf: FinishedLeaf, plan: &FieldPlan) -> FinishedValues {
    let mut stats = NumberStats::<W>::new(plan.domain, plan.settings.statistics);
    for (entry, times) in leaf.entries.iter().flat_map(FinishedEntries::used) {
        if let Some(&bytes) = W::chunks(entry).first() {
            stats.update_repeated(W::from_le(bytes), times);
        }
    }
    of_numbers(&stats, plan, leaf)
}
