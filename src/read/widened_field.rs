//! Spec: Chapter 6, "(Shard) Field Descriptor": what a descriptor says about values that are read in a wider type.

use super::scan::constant::{bound_value, constant_array};
use super::shard::descriptor_stats::{is_float, is_null};
use crate::column::{Chunk, StoredAs, Values, shred, widen};
use crate::error::{Error, Result, Within};
use crate::format::{
    AnyValue, BasicType, DataType, FieldDescriptor, RangeStats, SignStats, TypeStats, ValueKind,
};
use arrow_array::ArrayRef;
use arrow_schema::Field;
use std::cmp::Ordering;

/// Converts the descriptor of a leaf to the type that the leaf has in a table: its constant and its bounds. Statistics
/// that depend on the stored bytes, such as Bloom filters, become unknown. Returns whether the values have to be cast
/// when they are read: all but a constant, which the descriptor contains.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange) if the type of the table does not hold the constant
/// exactly.
pub(crate) fn widen_field(
    field: &mut FieldDescriptor,
    stored: &StoredAs,
    node: &DataType,
) -> Result<bool> {
    field.bloom_filter = None;
    field.cardinality = None;
    field.indexes.clear();
    // Zeros, infinities and NaN stay what they are.
    if !(is_float(&stored.node) && is_float(node)) {
        field.type_specific = None;
    }
    let range = field.range_stats.take();
    field.range_stats = range.filter(|_| has_plain_bounds(node)).map(|range| {
        let bound = |bound: Option<AnyValue>, inclusive| {
            let bound = bound_value(&bound?, inclusive, &stored.node)?;
            // Without an exact counterpart, the bound is unknown.
            widened_value(&bound, stored, node).ok()
        };
        RangeStats {
            min_value: bound(range.min_value, range.min_inclusive),
            max_value: bound(range.max_value, range.max_inclusive),
            ..range
        }
    });
    let is_constant = field.constant_value.is_some();
    if let Some(constant) = field.constant_value.as_mut().filter(|c| !c.is_null()) {
        *constant = widened_value(constant, stored, node).within(|| stored.place.clone())?;
    }
    if is_float(node) && !is_float(&stored.node) {
        field.type_specific = float_statistics(field);
    }
    Ok(!is_constant)
}

/// Returns the statistics of integers as floats, if all of them are one constant or null. Otherwise, the descriptor
/// does not show their signs.
fn float_statistics(field: &FieldDescriptor) -> Option<TypeStats> {
    let mut signs = SignStats::default();
    if !is_null(field) {
        let Some(ValueKind::Double(value)) = field.constant_value.as_ref()?.kind else {
            return None;
        };
        let count = match value.total_cmp(&0.0) {
            Ordering::Less => &mut signs.negative_count,
            Ordering::Equal => &mut signs.zero_count,
            Ordering::Greater => &mut signs.positive_count,
        };
        *count = field.position_count;
    }
    Some(TypeStats::Floating {
        signs,
        positive_infinity_count: 0,
        negative_infinity_count: 0,
    })
}

/// Whether bounds are numbers of the type that the node has. Others have forms of their own.
fn has_plain_bounds(node: &DataType) -> bool {
    let is_native = node.label().starts_with("Kusto");
    let is_float16 = node.label() == "arrow.float16";
    let is_number = node.basic_type.is_integer()
        || matches!(node.basic_type, BasicType::Float32 | BasicType::Float64);
    is_number && !is_native && !is_float16
}

/// Converts a value of a descriptor to the type of the table.
fn widened_value(value: &AnyValue, stored: &StoredAs, node: &DataType) -> Result<AnyValue> {
    let array = constant_array(value, &stored.node, &stored.own)?;
    let array = widen(array, stored)?;
    let value = value_of(&array, node)?;
    // The form of the value is checked by reading it again.
    if constant_array(&value, node, &stored.wide)? != array {
        return Err(Error::corrupt(format!(
            "a constant of type {} has no form in a descriptor",
            stored.wide
        )));
    }
    Ok(value)
}

/// Returns the only value of an array as a leaf stores it.
fn value_of(array: &ArrayRef, node: &DataType) -> Result<AnyValue> {
    let field = Field::new(&node.name, array.data_type().clone(), true);
    let mut value = None;
    let mut emit = |_: u32, chunk: Chunk<Values>| {
        if let Values::Fixed { data, .. } = &chunk.values {
            value = any_value(data, node);
        }
        Ok(())
    };
    shred(&field, array, node, &mut emit)?;
    value.ok_or_else(|| {
        Error::unsupported(format!(
            "a constant of type {} in a table that widens it",
            array.data_type()
        ))
    })
}

/// Returns stored bytes as a value.
fn any_value(bytes: &[u8], node: &DataType) -> Option<AnyValue> {
    use BasicType as T;
    macro_rules! number {
        ($ty:ty) => {
            <$ty>::from_le_bytes(bytes.try_into().ok()?)
        };
    }
    let kind = match (node.basic_type, node.signed) {
        (T::Int8, true) => ValueKind::I64(number!(i8).into()),
        (T::Int16, true) => ValueKind::I64(number!(i16).into()),
        (T::Int32, true) => ValueKind::I64(number!(i32).into()),
        (T::Int64, true) => ValueKind::I64(number!(i64)),
        (T::Int8, false) => ValueKind::U64(number!(u8).into()),
        (T::Int16, false) => ValueKind::U64(number!(u16).into()),
        (T::Int32, false) => ValueKind::U64(number!(u32).into()),
        (T::Int64 | T::DateTime, false) => ValueKind::U64(number!(u64)),
        (T::Float32, _) => ValueKind::Double(number!(f32).into()),
        (T::Float64, _) => ValueKind::Double(number!(f64)),
        (T::FixedSizeBinary, _) => return Some(bytes.into()),
        _ => return None,
    };
    Some(kind.into())
}
