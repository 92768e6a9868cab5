//! Projections: the columns, and the parts of nested columns, that are read.

use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::DataType;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields};
use std::sync::Arc;

/// Columns to read: all, some by path, or some by index.
///
/// A path is a column name, or a column name followed by the names of nested fields, joined by `.`: `"a"`, `"b.c"`. If
/// a column name contains dots, the whole name takes precedence over such a path. List items are named by their Arrow
/// field (`"tags.item"`); a map is always read whole. Names are case-sensitive. Columns come once, in the order in
/// which they are first named; members of a struct keep their order. A scan with a path or an index that does not exist
/// fails with [`UnknownColumn`](ErrorKind::UnknownColumn), and with [`AmbiguousColumn`](ErrorKind::AmbiguousColumn) for
/// a name of several columns: read these by index. Without any column, batches have row counts only.
///
/// ```
/// use arrow_shard::read::Projection;
/// assert_eq!(Projection::from(["a", "b.c"]), Projection::Paths(vec!["a".into(), "b.c".into()]));
/// assert_eq!(Projection::from("a"), Projection::from(&["a".to_owned()]));
/// assert_eq!(Projection::from([0usize, 2]), Projection::Indices(vec![0, 2]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Projection {
    /// Every column.
    #[default]
    All,
    /// Columns and parts of columns, by path.
    Paths(Vec<String>),
    /// Whole columns, by index.
    Indices(Vec<usize>),
}

macro_rules! from_paths {
    ($($ty:ty),*) => {
        $(impl From<$ty> for Projection {
            fn from(path: $ty) -> Self {
                Self::Paths(vec![path.into()])
            }
        }

        impl From<&[$ty]> for Projection {
            fn from(paths: &[$ty]) -> Self {
                Self::Paths(paths.iter().cloned().map(Into::into).collect())
            }
        })*
        from_lists!($($ty),*);
    };
}

/// Implements conversions from containers of elements, by way of slices.
macro_rules! from_lists {
    ($($ty:ty),*) => {
        $(impl<const N: usize> From<[$ty; N]> for Projection {
            fn from(list: [$ty; N]) -> Self {
                list.as_slice().into()
            }
        }

        impl<const N: usize> From<&[$ty; N]> for Projection {
            fn from(list: &[$ty; N]) -> Self {
                list.as_slice().into()
            }
        }

        impl From<Vec<$ty>> for Projection {
            fn from(list: Vec<$ty>) -> Self {
                list.as_slice().into()
            }
        }

        impl From<&Vec<$ty>> for Projection {
            fn from(list: &Vec<$ty>) -> Self {
                list.as_slice().into()
            }
        })*
    };
}

from_paths!(&str, String, &String);
from_lists!(usize);

impl From<&[usize]> for Projection {
    fn from(indices: &[usize]) -> Self {
        Self::Indices(indices.to_vec())
    }
}

/// The parts of a column to read; without parts, the whole column is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::read) struct ColumnParts(Vec<Vec<String>>);

impl ColumnParts {
    /// Adds the part below the path.
    pub(in crate::read) fn add(&mut self, path: &[&str]) {
        self.0
            .push(path.iter().map(|&part| part.to_owned()).collect());
    }

    fn is_all(&self) -> bool {
        self.0.iter().any(Vec::is_empty)
    }

    /// Returns the wanted parts of the child with this name, if there are any.
    fn child(&self, name: &str) -> Option<Self> {
        let below: Vec<Vec<String>> = self
            .0
            .iter()
            .filter(|path| path.first().is_some_and(|first| first == name))
            .map(|path| path[1..].to_vec())
            .collect();
        (!below.is_empty()).then_some(Self(below))
    }

    /// Returns the first names of all paths, for errors.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter_map(|path| path.first().map(String::as_str))
    }
}

/// Reduces an Arrow field and its schema node to the wanted parts.
///
/// # Errors
/// [`UnknownColumn`](ErrorKind::UnknownColumn) if a path leads to no field; the error lists the nearest names.
pub(in crate::read) fn prune(
    field: &Field,
    node: &DataType,
    parts: &ColumnParts,
) -> Result<(Field, DataType)> {
    if parts.is_all() {
        return Ok((field.clone(), node.clone()));
    }
    let pruned = match field.data_type() {
        ArrowType::Struct(members) => {
            let (members, node) = prune_members(field.name(), members, node, parts)?;
            Ok((ArrowType::Struct(members), node))
        }
        ArrowType::List(item) => prune_item(item, node, parts, ArrowType::List),
        ArrowType::LargeList(item) => prune_item(item, node, parts, ArrowType::LargeList),
        ArrowType::ListView(item) => prune_item(item, node, parts, ArrowType::ListView),
        ArrowType::LargeListView(item) => prune_item(item, node, parts, ArrowType::LargeListView),
        ArrowType::FixedSizeList(item, size) => prune_item(item, node, parts, |item| {
            ArrowType::FixedSizeList(item, *size)
        }),
        other => {
            let place = format!("a column of type {other}");
            Err(unknown(parts, &place, std::iter::empty()))
        }
    };
    let (data_type, node) = pruned.within(|| format!("field `{}`", field.name()))?;
    Ok((field.clone().with_data_type(data_type), node))
}

fn prune_members(
    name: &str,
    members: &Fields,
    node: &DataType,
    parts: &ColumnParts,
) -> Result<(Fields, DataType)> {
    if let Some(missing) = parts
        .names()
        .find(|name| members.iter().all(|m| m.name() != name))
    {
        let mut only = ColumnParts::default();
        only.add(&[missing]);
        let place = format!("the struct `{name}`");
        let names = members.iter().map(|m| m.name().as_str());
        return Err(unknown(&only, &place, names));
    }
    let mut fields = Vec::new();
    let mut pruned = node.clone();
    pruned.children.clear();
    for (member, child) in members.iter().zip(&node.children) {
        if let Some(below) = parts.child(member.name()) {
            let (member, child) = prune(member, child, &below)?;
            fields.push(Arc::new(member));
            pruned.children.push(child);
        }
    }
    Ok((fields.into(), pruned))
}

fn prune_item(
    item: &FieldRef,
    node: &DataType,
    parts: &ColumnParts,
    list: impl Fn(FieldRef) -> ArrowType,
) -> Result<(ArrowType, DataType)> {
    let (Some(below), [child]) = (parts.child(item.name()), node.children.as_slice()) else {
        let items = std::iter::once(item.name().as_str());
        return Err(unknown(parts, "a list", items));
    };
    let (item, child) = prune(item, child, &below)?;
    let mut pruned = node.clone();
    pruned.children = vec![child];
    Ok((list(Arc::new(item)), pruned))
}

fn unknown<'a>(parts: &ColumnParts, place: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let name = parts.names().next().unwrap_or_default();
    unknown_column(name, place, known)
}

/// Most names that an error lists.
const LISTED: usize = 5;

/// Returns the error for a name that `place` does not have, with the nearest known names. `place` is "the shard", for
/// example.
pub(crate) fn unknown_column<'a>(
    name: &str,
    place: &str,
    known: impl Iterator<Item = &'a str>,
) -> Error {
    let mut known: Vec<(usize, &str)> = known
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .collect();
    known.sort_by_key(|(distance, _)| *distance);
    let listed = known
        .iter()
        .take(LISTED)
        .map(|(_, name)| format!("`{name}`"));
    let listed = listed.collect::<Vec<_>>().join(", ");
    let there_is = match known.len() {
        0 => "there are no fields here".to_owned(),
        count if count <= LISTED => format!("it has {listed}"),
        count => format!("it has {listed} and {} more", count - LISTED),
    };
    let advice = match known.first() {
        Some((distance, nearest)) if is_near(name, *distance) => {
            format!("did you mean `{nearest}`? {there_is}")
        }
        _ => there_is,
    };
    Error::new(
        ErrorKind::UnknownColumn,
        format!("there is no field `{name}` in {place}; {advice}"),
    )
}

/// Whether this number of edits is likely a typing error: at most one in three characters, but not all of them.
fn is_near(name: &str, edits: usize) -> bool {
    let len = name.chars().count();
    edits <= len.div_ceil(3) && edits < len
}

/// Returns the number of edits that turn one name into the other; names longer than 64 characters are cut.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::BasicType;

    fn node(name: &str, basic: BasicType, children: Vec<DataType>) -> DataType {
        DataType {
            children,
            ..DataType::new(basic, name)
        }
    }

    fn column() -> (Field, DataType) {
        let inner = Field::new_struct(
            "item",
            vec![
                Field::new("x", ArrowType::Int32, true),
                Field::new("y", ArrowType::Utf8, true),
            ],
            true,
        );
        let members = vec![
            Field::new_list("l", inner, true),
            Field::new("b", ArrowType::Int8, true),
        ];
        let item = node(
            "",
            BasicType::Struct,
            vec![
                node("x", BasicType::Int32, vec![]),
                node("y", BasicType::String, vec![]),
            ],
        );
        let children = vec![
            node("l", BasicType::List, vec![item]),
            node("b", BasicType::Int8, vec![]),
        ];
        (
            Field::new_struct("a", members, true),
            node("a", BasicType::Struct, children),
        )
    }

    #[test]
    fn a_path_keeps_what_it_leads_to_and_nothing_else() {
        let (field, node) = column();
        let mut parts = ColumnParts::default();
        parts.add(&["l", "item", "y"]);
        let (field, node) = prune(&field, &node, &parts).unwrap();
        assert_eq!(
            field.data_type().to_string(),
            r#"Struct("l": List(Struct("y": Utf8)))"#
        );
        assert_eq!(node.children[0].children[0].children[0].name, "y");
        assert_eq!(node.children.len(), 1);
    }

    #[test]
    fn a_wrong_name_is_an_error_with_the_nearest_right_one() {
        let (field, node) = column();
        let mut parts = ColumnParts::default();
        parts.add(&["l", "item", "yy"]);
        let error = prune(&field, &node, &parts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownColumn);
        let message = error.message();
        assert!(message.contains("did you mean `y`"), "{error}");
        assert!(message.contains("in the struct `item`; "), "{error}");
        assert!(message.ends_with("it has `y`, `x`"), "{error}");
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        let advises = |name: &str| {
            let error = unknown_column(name, "the shard", ["delay", "id"].into_iter());
            error.message().contains("did you mean")
        };
        assert!(advises("dealy") && advises("Delay") && advises("idd"));
        assert!(!advises("origin") && !advises("x") && !advises("delivery"));
    }
}
