//! Spec: Chapter 6, "(Shard) Field Descriptor": what descriptors say about the values of a column.

use super::predicate::{Comparison, FilterColumn, Test};
use super::prune::{Facts, ValueBound, is_nan};
use crate::column::{Chunk, Values, may_exceed_arrow, shred};
use crate::format::{AnyValue, FieldDescriptor};
use crate::read::scan::constant::{bound_value, constant_array};
use crate::read::shard::descriptor_stats;
use crate::read::shard::stored_types::StoredTypes;
use crate::stats::{BloomFilter, is_hashed};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field};
use half::f16;
use std::sync::Arc;

/// The rows that descriptors describe.
#[derive(Debug, Clone, Copy)]
pub(in crate::read) enum FactsScope<'a> {
    /// All rows of a stripe.
    Stripe {
        ordinal: u64,
        rows: u64,
        stored_types: &'a StoredTypes,
    },
    /// All rows of the shard. Its descriptors ignore stripes without the field and merge equal values, so their
    /// constants are not used.
    Shard { rows: u64 },
}

/// Returns the facts about the values of a member. `descriptors` describe the nodes around the member, outermost
/// first, and then the member itself. A node without a descriptor is null everywhere.
pub(in crate::read) fn facts(
    column: &FilterColumn,
    descriptors: &[Option<&FieldDescriptor>],
    scope: FactsScope<'_>,
) -> Facts {
    let mut facts = Facts::NONE;
    let (rows, is_shard, stored) = match scope {
        FactsScope::Shard { rows } => (rows, true, None),
        FactsScope::Stripe {
            ordinal,
            rows,
            stored_types,
        } => {
            let stored = stored_types.get((ordinal, column.leaf().schema_id));
            (rows, false, stored.map(Arc::as_ref))
        }
    };
    // A union has no nulls of its own; its variants have nulls.
    if matches!(column.value_type, DataType::Union(..)) {
        return facts;
    }
    let is_present = |d: &FieldDescriptor| descriptor_stats::has_no_nulls(d, rows);
    let is_null = descriptor_stats::is_null;
    facts.may_be_null = !descriptors.iter().all(|d| d.is_some_and(is_present));
    facts.may_be_present = descriptors.iter().all(|d| d.is_some_and(|d| !is_null(d)));
    let Some(Some(leaf)) = descriptors.last() else {
        return facts;
    };
    let value = |value: &AnyValue| {
        // A stored value that is not of the type, or that Arrow cannot represent, is ignored.
        constant_array(value, column.leaf(), &column.value_type).ok()
    };
    match &leaf.constant_value {
        Some(constant) if constant.is_null() => facts.may_be_present &= is_shard,
        Some(constant) if !is_shard && column.is_tested => facts.constant = value(constant),
        _ => {}
    }
    facts.may_be_nan = descriptor_stats::may_be_nan(leaf, column.leaf(), stored);
    if column.is_tested {
        let bound = |stored: descriptor_stats::DescriptorBound| {
            let (stored, inclusive) = stored?;
            let stored = bound_value(&stored, inclusive, column.leaf())?;
            let value = value(&stored).filter(|value| !is_nan(value, 0))?;
            // If converting the bound to the type rounds or pads it, values may be equal to the result.
            let exact = matches!(
                column.value_type,
                DataType::Boolean
                    | DataType::Utf8
                    | DataType::LargeUtf8
                    | DataType::Utf8View
                    | DataType::Binary
                    | DataType::LargeBinary
                    | DataType::BinaryView
            );
            let inclusive = inclusive || !exact;
            Some(ValueBound { value, inclusive })
        };
        let (low, high) = descriptor_stats::bounds(leaf);
        (facts.low, facts.high) = (bound(low), bound(high));
    }
    facts
}

/// Returns a bit for each value of a test, set if no row of a stripe has the value according to the Bloom filter.
/// `None` if no value is known to be absent.
pub(in crate::read) fn absent(
    column: &FilterColumn,
    descriptor: &FieldDescriptor,
    test: &Test,
) -> Option<BooleanBuffer> {
    let values = match test {
        Test::Compare(Comparison::Eq | Comparison::NotEq, value) => value,
        Test::In { values, .. } => values,
        _ => return None,
    };
    // Native values of Amudai may be more precise than Arrow values.
    if may_exceed_arrow(column.leaf()) || !is_hashed(column.leaf()) {
        return None;
    }
    let filter = BloomFilter::new(descriptor.bloom_filter.as_ref()?)?;
    let field = Field::new("", column.value_type.clone(), true);
    let mut absent = None;
    let mut emit = |_: u32, chunk: Chunk<Values>| {
        absent = match &chunk.values {
            Values::Fixed { width, data } if *width > 0 => {
                let values = data.chunks_exact(*width);
                Some(values.map(|v| !filter.contains_value(v)).collect())
            }
            Values::Bytes(values) => Some(BooleanBuffer::collect_bool(chunk.len, |i| {
                !filter.contains_value(values.value(i))
            })),
            _ => None,
        };
        Ok(())
    };
    // If the field cannot store a value, the tests of rows decide.
    shred(&field, values, column.leaf(), &mut emit).ok()?;
    absent.filter(|absent: &BooleanBuffer| absent.len() == values.len() && absent.has_true())
}

/// Replaces zeros among bounds by the outer zero, because statistics and indexes do not distinguish -0.0 and 0.0.
pub(super) fn outer_zeros(bounds: ArrayRef, zero: f32) -> ArrayRef {
    macro_rules! outer {
        ($ty:ty, $zero:expr, $outer:expr) => {{
            let outer = |v| if v == $zero { $outer } else { v };
            Arc::new(bounds.as_primitive::<$ty>().unary::<_, $ty>(outer))
        }};
    }
    match bounds.data_type() {
        DataType::Float16 => outer!(Float16Type, f16::ZERO, f16::from_f32(zero)),
        DataType::Float32 => outer!(Float32Type, 0.0, zero),
        DataType::Float64 => outer!(Float64Type, 0.0, f64::from(zero)),
        _ => bounds,
    }
}
