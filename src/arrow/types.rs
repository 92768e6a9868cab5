//! The types inside of Arrow types.

use arrow_schema::{DataType, FieldRef};
use std::iter::{empty, once};

/// Returns the fields of a type, one level down: items, entries, members, variants, and the values of runs. The values
/// of dictionaries have no field.
pub(crate) fn type_fields(data_type: &DataType) -> Box<dyn Iterator<Item = &FieldRef> + '_> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => Box::new(once(field)),
        DataType::Struct(members) => Box::new(members.iter()),
        DataType::Union(variants, _) => Box::new(variants.iter().map(|(_, variant)| variant)),
        _ => Box::new(empty()),
    }
}

/// Returns the fields of a nested type, in the order of the children of its node: a map has its keys and values, and
/// dictionaries and runs have the fields of their values.
pub(crate) fn child_fields(data_type: &DataType) -> Box<dyn Iterator<Item = &FieldRef> + '_> {
    match value_type(data_type) {
        DataType::Map(entries, _) => type_fields(entries.data_type()),
        data_type => type_fields(data_type),
    }
}

/// Returns the type of the values: for dictionaries and runs, the type inside of them.
pub(crate) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        data_type => data_type,
    }
}

/// Returns whether a type is a dictionary or run-end encoded.
pub(crate) fn is_wrapped(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Dictionary(..) | DataType::RunEndEncoded(..)
    )
}

/// Returns whether a type or one inside of it passes a test.
pub(crate) fn contains(data_type: &DataType, test: &dyn Fn(&DataType) -> bool) -> bool {
    test(data_type)
        || match data_type {
            DataType::Dictionary(_, values) => contains(values, test),
            _ => type_fields(data_type).any(|field| contains(field.data_type(), test)),
        }
}

/// Returns the largest value of an integer type, such as the type of keys or of run ends.
pub(crate) fn largest_integer(data_type: &DataType) -> u64 {
    match data_type {
        DataType::Int8 => i8::MAX as u64,
        DataType::UInt8 => u8::MAX.into(),
        DataType::Int16 => i16::MAX as u64,
        DataType::UInt16 => u16::MAX.into(),
        DataType::Int32 => i32::MAX as u64,
        DataType::UInt32 => u32::MAX.into(),
        DataType::Int64 => i64::MAX as u64,
        _ => u64::MAX,
    }
}

/// Returns the number of dictionary entries that keys of a type can address.
pub(crate) fn max_entries(key: &DataType) -> usize {
    usize::try_from(largest_integer(key)).map_or(usize::MAX, |key| key.saturating_add(1))
}
