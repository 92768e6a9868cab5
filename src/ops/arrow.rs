//! Arrow types that fit the values of several shards.

use crate::format::{BasicType, DataType as Stored};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use std::sync::Arc;

/// Whether integers of one node have twice the bytes of those of another, and mean nothing else.
pub(super) fn is_wider(wide: &Stored, narrow: &Stored) -> bool {
    (wide.basic_type, narrow.basic_type) == (BasicType::Int64, BasicType::Int32)
        && wide.signed == narrow.signed
        && wide.extended_type.is_none()
        && narrow.extended_type.is_none()
}

/// The field that holds the values of both, whose stored types fit each other.
pub(super) fn unite(a: &Field, b: &Field) -> Field {
    let data_type = unite_types(a.data_type(), b.data_type());
    let nullable = a.is_nullable() || b.is_nullable();
    a.clone().with_data_type(data_type).with_nullable(nullable)
}

fn unite_types(a: &DataType, b: &DataType) -> DataType {
    use DataType as T;
    if a == b {
        return a.clone();
    }
    let item = |a: &FieldRef, b: &FieldRef| Arc::new(unite(a, b));
    match (a, b) {
        // What is no dictionary in one of them need not fit the keys of the other.
        (T::Dictionary(_, a), T::Dictionary(_, b)) => unite_types(a, b),
        (T::Dictionary(_, values), _) => unite_types(values, b),
        (_, T::Dictionary(_, values)) => unite_types(a, values),
        (T::RunEndEncoded(_, a), T::RunEndEncoded(_, b)) => {
            unite_types(a.data_type(), b.data_type())
        }
        (T::RunEndEncoded(_, values), _) => unite_types(values.data_type(), b),
        (_, T::RunEndEncoded(_, values)) => unite_types(a, values.data_type()),
        (T::Int32, T::Int64) | (T::UInt32, T::UInt64) => b.clone(),
        (T::Struct(a), T::Struct(b)) => T::Struct(unite_members(a, b)),
        (T::FixedSizeList(a, n), T::FixedSizeList(b, _)) => T::FixedSizeList(item(a, b), *n),
        (T::Map(a, sorted), T::Map(b, _)) => T::Map(unite_entries(a, b), *sorted),
        _ => match (item_of(a), item_of(b)) {
            (Some(own), Some(other)) => with_item(a, item(own, other)),
            _ => a.clone(),
        },
    }
}

/// The entries of maps, whose keys and values have any names.
fn unite_entries(a: &FieldRef, b: &FieldRef) -> FieldRef {
    let (DataType::Struct(own), DataType::Struct(others)) = (a.data_type(), b.data_type()) else {
        return a.clone();
    };
    let fields: Fields = own.iter().zip(others).map(|(a, b)| unite(a, b)).collect();
    Arc::new(a.as_ref().clone().with_data_type(DataType::Struct(fields)))
}

/// The members of both, by name; those that one of them lacks may be null.
fn unite_members(a: &Fields, b: &Fields) -> Fields {
    let same_names = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name() == b.name());
    if same_names {
        return a.iter().zip(b).map(|(a, b)| unite(a, b)).collect();
    }
    let nullable = |field: &FieldRef| field.as_ref().clone().with_nullable(true);
    let find = |fields: &Fields, name: &str| fields.find(name).map(|(_, field)| field.clone());
    let own = a.iter().map(|field| match find(b, field.name()) {
        Some(other) => unite(field, &other),
        None => nullable(field),
    });
    let new = b.iter().filter(|field| find(a, field.name()).is_none());
    own.chain(new.map(nullable)).collect()
}

fn item_of(list: &DataType) -> Option<&FieldRef> {
    match list {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item),
        _ => None,
    }
}

/// A list of the same kind, of other items.
fn with_item(list: &DataType, item: FieldRef) -> DataType {
    match list {
        DataType::LargeList(_) => DataType::LargeList(item),
        DataType::ListView(_) => DataType::ListView(item),
        DataType::LargeListView(_) => DataType::LargeListView(item),
        _ => DataType::List(item),
    }
}
