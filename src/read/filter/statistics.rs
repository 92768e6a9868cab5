//! Spec: Chapter 6, "(Shard) Field Descriptor": what descriptors say about the values of a column.

use super::predicate::{Comparison, FilterColumn, Test};
use super::prune::{Bound, Facts, is_nan};
use crate::column::{Chunk, Values, may_exceed_arrow, shred};
use crate::format::{AnyValue, FieldDescriptor};
use crate::read::scan::constant::{bound_value, constant_array};
use crate::read::shard::described;
use crate::stats::{BloomFilter, is_hashed};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field};
use half::f16;
use std::sync::Arc;

/// What the descriptors of the nodes around a member and of its own, in this order, say about its
/// values over `rows` rows. A node without a descriptor is null everywhere.
///
/// Descriptors of a shard leave out stripes that do not have the field, and merge what is equal,
/// so that a constant of theirs is not used.
pub(in crate::read) fn facts(
    column: &FilterColumn,
    descriptors: &[Option<&FieldDescriptor>],
    rows: u64,
    is_shard: bool,
) -> Facts {
    let mut facts = Facts::NONE;
    // A union has no nulls of its own: its variants have.
    if matches!(column.value_type, DataType::Union(..)) {
        return facts;
    }
    let is_present = |d: &FieldDescriptor| described::has_no_nulls(d, rows);
    let is_null = described::is_null;
    facts.may_be_null = !descriptors.iter().all(|d| d.is_some_and(is_present));
    facts.may_be_present = descriptors.iter().all(|d| d.is_some_and(|d| !is_null(d)));
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
    facts.may_be_nan = described::may_be_nan(leaf, column.leaf());
    if column.is_tested {
        let bound = |stored: described::Bound| {
            let (stored, inclusive) = stored?;
            let stored = bound_value(&stored, inclusive, column.leaf())?;
            let value = value(&stored).filter(|value| !is_nan(value, 0))?;
            // Where a bound is rounded or filled up to the type, values may be equal to what it
            // becomes.
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
            Some(Bound { value, inclusive })
        };
        let (low, high) = described::bounds(leaf);
        (facts.low, facts.high) = (bound(low), bound(high));
    }
    facts
}

/// Which of the values that a test of a column asks for no row of a stripe holds, by its
/// membership filter: a bit for each of them. `None` if that is not known of any.
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
    // Native values of Amudai may be finer than the values that Arrow holds.
    if may_exceed_arrow(column.leaf()) || !is_hashed(column.leaf()) {
        return None;
    }
    let filter = BloomFilter::new(descriptor.membership_filter.as_ref()?)?;
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
    // Values that the leaf cannot store are left to the tests of rows.
    shred(&field, values, column.leaf(), &mut emit).ok()?;
    absent.filter(|absent: &BooleanBuffer| absent.len() == values.len() && absent.has_true())
}

/// Statistics and indexes do not tell the zeros apart: bounds that are one become the outer one.
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
