//! Arrow types for the values of several shards.

use super::unify::Compared;
use crate::error::{Error, Result};
use crate::format::{BasicType, DataType};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, TimeUnit, UnionFields};
use std::fmt;
use std::sync::Arc;

/// Whether the nodes differ only in width: one holds 64-bit integers, and the other 32-bit ones.
pub(super) fn is_wider(wide: &DataType, narrow: &DataType) -> bool {
    (wide.basic_type, narrow.basic_type) == (BasicType::Int64, BasicType::Int32)
        && wide.signed == narrow.signed
        && wide.extended_type.is_none()
        && narrow.extended_type.is_none()
}

/// Returns the field that holds the values of both fields, for fitting stored types.
///
/// # Errors
/// Returns [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if neither type holds the values of the other: dates
/// and times of different units can have the same stored type.
pub(super) fn unite(a: &Field, b: &Field, at: Compared<'_>) -> Result<Field> {
    let data_type = unite_types(a.data_type(), b.data_type(), at)?;
    let nullable = a.is_nullable() || b.is_nullable();
    Ok(a.clone().with_data_type(data_type).with_nullable(nullable))
}

fn unite_types(a: &ArrowType, b: &ArrowType, at: Compared<'_>) -> Result<ArrowType> {
    use ArrowType as T;
    let item = |a: &FieldRef, b: &FieldRef| Ok::<_, Error>(Arc::new(unite(a, b, at)?));
    Ok(match (a, b) {
        _ if a == b => a.clone(),
        // The united type is never a dictionary, because its keys might not suffice for the values of both shards.
        (T::Dictionary(_, a), T::Dictionary(_, b)) => unite_types(a, b, at)?,
        (T::Dictionary(_, values), _) => unite_types(values, b, at)?,
        (_, T::Dictionary(_, values)) => unite_types(a, values, at)?,
        (T::RunEndEncoded(_, a), T::RunEndEncoded(_, b)) => {
            unite_types(a.data_type(), b.data_type(), at)?
        }
        (T::RunEndEncoded(_, values), _) => unite_types(values.data_type(), b, at)?,
        (_, T::RunEndEncoded(_, values)) => unite_types(a, values.data_type(), at)?,
        (T::Int32, T::Int64) | (T::UInt32, T::UInt64) => b.clone(),
        (T::Int64, T::Int32) | (T::UInt64, T::UInt32) => a.clone(),
        (T::Timestamp(own, a), T::Timestamp(other, b)) if a == b => {
            let unit = finer(*own, *other).ok_or_else(|| mismatch(at, own, other))?;
            T::Timestamp(unit, a.clone())
        }
        (T::Duration(own), T::Duration(other)) => {
            T::Duration(finer(*own, *other).ok_or_else(|| mismatch(at, own, other))?)
        }
        (T::Struct(a), T::Struct(b)) => T::Struct(unite_members(a, b, at)?),
        (T::FixedSizeList(a, n), T::FixedSizeList(b, m)) if n == m => {
            T::FixedSizeList(item(a, b)?, *n)
        }
        (T::Map(a, sorted), T::Map(b, also)) => T::Map(unite_entries(a, b, at)?, *sorted && *also),
        (T::Union(a, mode), T::Union(b, _)) => T::Union(unite_variants(a, b, at)?, *mode),
        _ if is_text(a) && is_text(b) || is_binary(a) && is_binary(b) => a.clone(),
        _ => match (item_of(a), item_of(b)) {
            (Some(own), Some(other)) => with_item(a, item(own, other)?),
            _ => return Err(mismatch(at, a, b)),
        },
    })
}

/// Returns the unit that holds all values of both, if there is one. Nanoseconds cover fewer years than the others.
fn finer(a: TimeUnit, b: TimeUnit) -> Option<TimeUnit> {
    let order = [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
    ];
    if order.contains(&a) && order.contains(&b) {
        Some(a.max(b))
    } else {
        (a == b).then_some(a)
    }
}

fn is_text(data_type: &ArrowType) -> bool {
    use ArrowType as T;
    matches!(data_type, T::Utf8 | T::LargeUtf8 | T::Utf8View)
}

fn is_binary(data_type: &ArrowType) -> bool {
    use ArrowType as T;
    matches!(data_type, T::Binary | T::LargeBinary | T::BinaryView)
}

fn mismatch(at: Compared<'_>, own: &dyn fmt::Debug, other: &dyn fmt::Debug) -> Error {
    at.mismatch(&format_args!("{own:?}"), &format_args!("{other:?}"), None)
}

/// Returns the entries of maps. The names of keys and values may differ.
fn unite_entries(a: &FieldRef, b: &FieldRef, at: Compared<'_>) -> Result<FieldRef> {
    let (ArrowType::Struct(own), ArrowType::Struct(others)) = (a.data_type(), b.data_type()) else {
        return Ok(a.clone());
    };
    let fields = own.iter().zip(others).map(|(a, b)| unite(a, b, at));
    let fields: Fields = fields.collect::<Result<_>>()?;
    Ok(Arc::new(
        a.as_ref().clone().with_data_type(ArrowType::Struct(fields)),
    ))
}

/// Returns the variants of unions with the same variants in the same order.
fn unite_variants(a: &UnionFields, b: &UnionFields, at: Compared<'_>) -> Result<UnionFields> {
    if !a.iter().map(|(id, _)| id).eq(b.iter().map(|(id, _)| id)) {
        return Err(mismatch(at, a, b));
    }
    let fields = a.iter().zip(b.iter());
    let fields = fields.map(|((id, a), (_, b))| Ok((id, Arc::new(unite(a, b, at)?))));
    fields.collect()
}

/// Returns the members of both structs, by name. A member that one of them lacks is nullable.
fn unite_members(a: &Fields, b: &Fields, at: Compared<'_>) -> Result<Fields> {
    let unite = |a: &Field, b: &Field| unite(a, b, at.at(&format!("{}.{}", at.path, a.name())));
    let same_names = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name() == b.name());
    if same_names {
        return a.iter().zip(b).map(|(a, b)| unite(a, b)).collect();
    }
    let nullable = |field: &FieldRef| field.as_ref().clone().with_nullable(true);
    let find = |fields: &Fields, name: &str| fields.find(name).map(|(_, field)| field.clone());
    let own = a.iter().map(|field| match find(b, field.name()) {
        Some(other) => unite(field, &other),
        None => Ok(nullable(field)),
    });
    let new = b.iter().filter(|field| find(a, field.name()).is_none());
    own.chain(new.map(|field| Ok(nullable(field)))).collect()
}

pub(super) fn item_of(list: &ArrowType) -> Option<&FieldRef> {
    match list {
        ArrowType::List(item)
        | ArrowType::LargeList(item)
        | ArrowType::ListView(item)
        | ArrowType::LargeListView(item) => Some(item),
        _ => None,
    }
}

/// Returns a list type of the same kind with other items.
pub(super) fn with_item(list: &ArrowType, item: FieldRef) -> ArrowType {
    match list {
        ArrowType::LargeList(_) => ArrowType::LargeList(item),
        ArrowType::ListView(_) => ArrowType::ListView(item),
        ArrowType::LargeListView(_) => ArrowType::LargeListView(item),
        _ => ArrowType::List(item),
    }
}
