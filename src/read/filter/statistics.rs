//! Spec: Chapter 6, "(Shard) Field Descriptor": what descriptors say about the values of a column.

use super::super::constant::constant_array;
use super::super::predicate::{Comparison, FilterColumn, Test};
use super::super::prune::{Bound, Facts, is_nan};
use crate::column::{Chunk, Values, may_exceed_arrow, shred};
use crate::format::{AnyValue, FieldDescriptor, RangeStats, TypeStats};
use crate::stats::{BloomFilter, is_hashed};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, Field};
use half::f16;
use std::sync::Arc;

/// What the descriptors of the nodes around a member and of its own, in this order, say about its
/// values over `rows` rows. A node without a descriptor is null everywhere.
///
/// Descriptors of a shard leave out stripes that do not have the field, and merge what is equal,
/// so that a constant of theirs is not used.
pub(super) fn facts(
    column: &FilterColumn,
    descriptors: &[Option<FieldDescriptor>],
    rows: u64,
    is_shard: bool,
) -> Facts {
    let mut facts = Facts::NONE;
    // A union has no nulls of its own: its variants have.
    if matches!(column.value_type, DataType::Union(..)) {
        return facts;
    }
    let is_known = |d: &FieldDescriptor| d.null_count == Some(0) && d.position_count == rows;
    let is_null = |d: &FieldDescriptor| d.null_count == Some(d.position_count);
    facts.may_be_null = !descriptors.iter().all(|d| d.as_ref().is_some_and(is_known));
    facts.may_be_present = descriptors
        .iter()
        .all(|d| d.as_ref().is_some_and(|d| !is_null(d)));
    let Some(Some(leaf)) = descriptors.last() else {
        return facts;
    };
    let value = |value: &AnyValue| {
        // What is no value of the type, or none that Arrow can hold, says nothing.
        constant_array(value, column.leaf(), &column.value_type).ok()
    };
    match &leaf.constant_value {
        Some(constant) if constant.is_null() => facts.may_be_present &= is_shard,
        Some(constant) if !is_shard && column.is_tested => facts.constant = value(constant),
        _ => {}
    }
    if column.value_type.is_floating() {
        facts.may_be_nan = !matches!(
            &leaf.type_specific,
            Some(TypeStats::Floating { signs, .. }) if signs.nan_count == 0
        );
    } else {
        facts.may_be_nan = false;
    }
    if let (Some(range), true) = (&leaf.range_stats, column.is_tested) {
        let RangeStats {
            min_value,
            min_inclusive,
            max_value,
            max_inclusive,
        } = range;
        let bound = |stored: &Option<AnyValue>, inclusive: bool, zero: f64| {
            let value = value(stored.as_ref()?).filter(|value| !is_nan(value))?;
            // Where a bound is rounded to the type, values may be equal to what it becomes.
            let exact = column.value_type.is_string() || column.value_type.is_binary();
            Some(Bound {
                value: with_zero(value, zero),
                inclusive: inclusive || !exact,
            })
        };
        facts.low = bound(min_value, *min_inclusive, -0.0);
        facts.high = bound(max_value, *max_inclusive, 0.0);
    }
    facts
}

/// Those of the values that tests of a column ask for that no row of a stripe holds, by its
/// membership filter.
pub(super) fn absent(
    column: &FilterColumn,
    descriptor: &FieldDescriptor,
    tests: &mut dyn Iterator<Item = &Test>,
) -> Vec<ArrayRef> {
    let filter = descriptor.membership_filter.as_ref();
    // Native values of Amudai may be finer than what Arrow makes of them.
    let is_exact = !may_exceed_arrow(column.leaf()) && is_hashed(column.leaf());
    let Some(filter) = filter.and_then(BloomFilter::new).filter(|_| is_exact) else {
        return Vec::new();
    };
    let is_absent = |value: &ArrayRef| {
        let stored = stored_bytes(value, column);
        stored.is_some_and(|stored| !filter.contains_value(&stored))
    };
    let mut absent = Vec::new();
    for test in tests {
        match test {
            Test::Compare(Comparison::Eq | Comparison::NotEq, value) => absent.push(value.clone()),
            Test::In { values, .. } => {
                absent.extend((0..values.len()).map(|i| values.slice(i, 1)));
            }
            _ => {}
        }
    }
    absent.retain(is_absent);
    absent
}

/// The bytes that a leaf stores for an array of one value.
fn stored_bytes(value: &ArrayRef, column: &FilterColumn) -> Option<Vec<u8>> {
    let field = Field::new("", column.value_type.clone(), true);
    let mut bytes = None;
    let mut emit = |_: u32, chunk: Chunk<Values>| {
        bytes = match chunk.values {
            Values::Fixed { data, .. } => Some(data.to_vec()),
            Values::Bytes(values) => Some(values.value(0).to_vec()),
            _ => None,
        };
        Ok(())
    };
    // A value that the leaf cannot store is left to the tests of rows.
    shred(&field, value, column.leaf(), &mut emit).ok()?;
    bytes
}

/// Statistics do not tell the zeros apart: a bound that is one becomes the outer one.
fn with_zero(value: ArrayRef, zero: f64) -> ArrayRef {
    macro_rules! zero {
        ($ty:ty, $native:expr) => {
            if value.as_primitive::<$ty>().value(0) == <$ty as Primitive>::Native::default() {
                return Arc::new(PrimitiveArray::<$ty>::from_value($native, 1));
            }
        };
    }
    use arrow_array::ArrowPrimitiveType as Primitive;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "zero is zero in every type"
    )]
    match value.data_type() {
        DataType::Float16 => zero!(Float16Type, f16::from_f64(zero)),
        DataType::Float32 => zero!(Float32Type, zero as f32),
        DataType::Float64 => zero!(Float64Type, zero),
        _ => {}
    }
    value
}
