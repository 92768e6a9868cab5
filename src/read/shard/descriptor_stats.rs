//! Spec: Chapter 6, "(Shard) Field Descriptor": what a descriptor says of nulls, bounds and NaN. What it
//! says is the same for scans that skip rows by it and for statistics that planners read.

use crate::column::StoredAs;
use crate::format::{AnyValue, BasicType, DataType, FieldDescriptor, TypeStats, ValueKind};

/// A bound of the values that are neither null nor NaN, and whether it is itself one of the values.
pub(in crate::read) type DescriptorBound = Option<(AnyValue, bool)>;

/// Whether the field has `rows` positions, none of them null.
pub(in crate::read) fn has_no_nulls(field: &FieldDescriptor, rows: u64) -> bool {
    field.null_count == Some(0) && field.position_count == rows
}

/// Whether every position of the field is null.
pub(in crate::read) fn is_null(field: &FieldDescriptor) -> bool {
    field.null_count == Some(field.position_count)
}

/// Whether a value may be NaN. A NaN among decimals has no value in Arrow either. `stored` is how the values are stored
/// if they are widened: integers are never NaN, and have no statistics of it.
pub(in crate::read) fn may_be_nan(
    field: &FieldDescriptor,
    node: &DataType,
    stored: Option<&StoredAs>,
) -> bool {
    match (&field.type_specific, stored) {
        (Some(TypeStats::Floating { signs, .. }), _) => signs.nan_count > 0,
        (_, Some(stored)) => is_float(&stored.node),
        (_, None) => is_float(node),
    }
}

/// Whether the values are floats, of any width.
pub(in crate::read) fn is_float(node: &DataType) -> bool {
    matches!(node.basic_type, BasicType::Float32 | BasicType::Float64)
        || node.label() == "arrow.float16"
}

/// Returns the least and the greatest value. Statistics treat both zeros as equal, but the order of Arrow does not: a
/// zero becomes the outer one (-0.0 as least, 0.0 as greatest).
pub(in crate::read) fn bounds(field: &FieldDescriptor) -> (DescriptorBound, DescriptorBound) {
    if let Some((low, high)) = truth_bounds(field) {
        return (Some((low.into(), true)), Some((high.into(), true)));
    }
    let Some(range) = &field.range_stats else {
        return (None, None);
    };
    let bound = |value: &Option<AnyValue>, is_value, zero: f64| match value.clone()? {
        value if matches!(value.kind, Some(ValueKind::Double(v)) if v == 0.0) => {
            Some((zero.into(), false))
        }
        value => Some((value, is_value)),
    };
    (
        bound(&range.min_value, range.min_inclusive, -0.0),
        bound(&range.max_value, range.max_inclusive, 0.0),
    )
}

/// Returns the least and the greatest truth value of a field with complete counts of them.
fn truth_bounds(field: &FieldDescriptor) -> Option<(bool, bool)> {
    let Some(TypeStats::Boolean {
        true_count,
        false_count,
    }) = field.type_specific
    else {
        return None;
    };
    let values = true_count.checked_add(false_count).filter(|&n| n > 0)?;
    let all = values.checked_add(field.null_count?)? == field.position_count;
    all.then_some((false_count == 0, true_count > 0))
}
