//! Unites columns that have different types in the files of a table.

use arrow::datatypes::{DataType, FieldRef, Fields};
use arrow_shard::ops::widened_type;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the fields of a file with the types of the table, where its values can be cast to them.
pub(crate) fn widened(fields: &Fields, table: &[Wide]) -> Fields {
    let names = table.iter().map(|wide| wide.field.name().as_str());
    let table: HashMap<&str, &Wide> = names.zip(table).collect();
    let fields = fields.iter().map(|field| {
        let wide = table.get(field.name().as_str()).copied();
        let found = wide.and_then(|wide| Some((wide, wide.data_type.clone()?)));
        let fits = |data_type: &DataType| union_type(vec![field.data_type(), data_type]).is_some();
        let Some((wide, data_type)) = found.filter(|(_, data_type)| fits(data_type)) else {
            return field.clone();
        };
        let is_nullable = field.is_nullable() || wide.is_nullable;
        let field = field.as_ref().clone().with_data_type(data_type);
        Arc::new(field.with_nullable(is_nullable))
    });
    fields.collect()
}

/// A column of a table of several files, or a member of a struct.
pub(crate) struct Wide {
    /// The first field of the name.
    field: FieldRef,
    /// The type that all files can be cast to, or else the first files, up to one that does not fit. Merging the
    /// schemas then fails with the name of that file.
    data_type: Option<DataType>,
    /// Whether a value may be null, because a file lacks the column, says so, or has nulls alone.
    is_nullable: bool,
}

/// Unites the fields of several files by name, in the order in which they first appear.
pub(crate) fn union_of(files: &[&Fields]) -> Vec<Wide> {
    let mut names: Vec<&String> = Vec::new();
    let mut found: HashMap<&String, Vec<&FieldRef>> = HashMap::new();
    for field in files.iter().flat_map(|fields| fields.iter()) {
        let known = found.entry(field.name()).or_insert_with(|| {
            names.push(field.name());
            Vec::new()
        });
        known.push(field);
    }
    let wide = |name: &String| {
        let fields = found.get(name).map(Vec::as_slice).unwrap_or_default();
        let first = *fields.first()?;
        let may_be_null =
            |field: &&FieldRef| field.is_nullable() || *field.data_type() == DataType::Null;
        Some(Wide {
            field: first.clone(),
            data_type: of_most(fields.iter().map(|field| field.data_type())),
            is_nullable: fields.len() < files.len() || fields.iter().any(may_be_null),
        })
    };
    names.into_iter().filter_map(wide).collect()
}

/// Returns the type that all types can be cast to, or else the first types, up to one that does not fit.
fn of_most<'a>(types: impl Iterator<Item = &'a DataType>) -> Option<DataType> {
    let mut distinct: Vec<&DataType> = Vec::new();
    for ty in types {
        if !distinct.contains(&ty) {
            distinct.push(ty);
        }
    }
    let mut counts = (1..=distinct.len()).rev();
    counts.find_map(|count| union_type(distinct.get(..count)?.to_vec()))
}

/// Returns the type that the values of all these types can be cast to, if there is one. As in a
/// [`ShardSet`](arrow_shard::ops::ShardSet), structs may have different members, and lists of them, too.
pub(crate) fn union_type(mut types: Vec<&DataType>) -> Option<DataType> {
    let first = *types.first()?;
    if types.iter().all(|ty| *ty == first) {
        return Some(first.clone());
    }
    types.retain(|ty| **ty != DataType::Null);
    // The keys of one dictionary might not suffice for the values of all.
    let values = types.iter().map(|ty| match ty {
        DataType::Dictionary(_, value) => value.as_ref(),
        plain => plain,
    });
    let types: Vec<&DataType> = values.collect();
    let members = types.iter().map(|ty| match ty {
        DataType::Struct(members) => Some(members),
        _ => None,
    });
    if let Some(members) = members.collect::<Option<Vec<_>>>() {
        let members = union_of(&members).into_iter().map(|wide| {
            let field = wide.field.as_ref().clone();
            let field = field.with_data_type(wide.data_type?);
            Some(field.with_nullable(wide.is_nullable))
        });
        return members.collect::<Option<Fields>>().map(DataType::Struct);
    }
    let items = types.iter().map(|ty| match ty {
        DataType::List(item) | DataType::LargeList(item) => Some(item),
        _ => None,
    });
    if let Some(items) = items.collect::<Option<Vec<_>>>() {
        let item = union_type(items.iter().map(|item| item.data_type()).collect())?;
        let is_nullable = items.iter().any(|item| item.is_nullable());
        let first = items.first()?.as_ref().clone();
        let item = Arc::new(first.with_data_type(item).with_nullable(is_nullable));
        let is_large = |ty: &&DataType| matches!(ty, DataType::LargeList(_));
        return Some(if types.iter().any(is_large) {
            DataType::LargeList(item)
        } else {
            DataType::List(item)
        });
    }
    widened_type(types)
}
