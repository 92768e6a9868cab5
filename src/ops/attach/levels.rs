//! Native offsets and presence of lists and structs. Their values stay in Parquet files, which store offsets and
//! presence as levels of each leaf.

use crate::arrow::child_fields;
use crate::error::{Error, Result};
use crate::format::{BasicType, DataType};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, NullArray, OffsetSizeTrait, StructArray};
use arrow_buffer::{ArrowNativeType, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields};
use std::collections::HashSet;
use std::sync::Arc;

/// Whether a type consists of leaves, structs, lists and maps, so that its values can stay in a Parquet file. Members
/// of structs must have different names, by which their levels are found.
pub(super) fn has_levels_only(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Struct(members) => {
            let names: HashSet<&str> = members.iter().map(|m| m.name().as_str()).collect();
            !members.is_empty()
                && names.len() == members.len()
                && members.iter().all(|m| has_levels_only(m.data_type()))
        }
        ArrowType::List(item) | ArrowType::LargeList(item) => has_levels_only(item.data_type()),
        ArrowType::Map(entries, _) => has_levels_only(entries.data_type()),
        other => !other.is_nested(),
    }
}

/// Returns a field with the structs and lists of another one, without values: leaves are of the type Null, and maps are
/// lists of structs.
pub(super) fn without_values(field: &Field) -> FieldRef {
    let data_type = match field.data_type() {
        ArrowType::Struct(members) => ArrowType::Struct(members_without_values(members)),
        ArrowType::List(item) => ArrowType::List(without_values(item)),
        ArrowType::LargeList(item) => ArrowType::LargeList(without_values(item)),
        ArrowType::Map(entries, _) => ArrowType::List(without_values(entries)),
        _ => ArrowType::Null,
    };
    let is_nullable = field.is_nullable() || data_type == ArrowType::Null;
    Arc::new(Field::new(field.name(), data_type, is_nullable))
}

fn members_without_values(members: &Fields) -> Fields {
    members
        .iter()
        .map(|member| without_values(member))
        .collect()
}

/// Returns the leaves to read for the structs and lists of a column: at least one below each. `sizes` are the sizes of
/// all leaves, depth first; small ones are preferred.
pub(super) fn leaves_for_levels(field: &Field, sizes: &[u64]) -> Vec<usize> {
    let (mut next, mut chosen) = (0, Vec::new());
    choose(field, sizes, &mut next, &mut chosen);
    chosen.sort_unstable();
    chosen
}

fn choose(field: &Field, sizes: &[u64], next: &mut usize, chosen: &mut Vec<usize>) {
    let children: &[FieldRef] = match field.data_type() {
        ArrowType::Struct(members) => members,
        ArrowType::List(item) | ArrowType::LargeList(item) => std::slice::from_ref(item),
        ArrowType::Map(..) => {
            // Keys and values are read together or not at all.
            for child in child_fields(field.data_type()) {
                choose_one(std::slice::from_ref(child), sizes, next, chosen);
            }
            return;
        }
        _ => {
            *next += 1;
            return;
        }
    };
    choose_one(children, sizes, next, chosen);
}

/// Chooses leaves below fields, at least one in all.
fn choose_one(fields: &[FieldRef], sizes: &[u64], next: &mut usize, chosen: &mut Vec<usize>) {
    let (first, before) = (*next, chosen.len());
    for field in fields {
        choose(field, sizes, next, chosen);
    }
    if chosen.len() == before {
        let smallest = (first..*next).min_by_key(|&leaf| sizes.get(leaf).copied());
        chosen.extend(smallest);
    }
}

/// The lists around a leaf, from the outermost, to count the values of rows.
#[derive(Debug, Clone, Default)]
pub(super) struct ListsAround(Vec<ListEnds>);

#[derive(Debug, Clone)]
enum ListEnds {
    Bits32(OffsetBuffer<i32>),
    Bits64(OffsetBuffer<i64>),
}

impl ListsAround {
    /// Returns the lists around the items of a list.
    fn inside(&self, ends: ListEnds) -> Self {
        let mut around = self.0.clone();
        around.push(ends);
        Self(around)
    }

    /// Returns the number of values of the leaf before a row.
    pub(super) fn values_before(&self, row: u64) -> Result<u64> {
        self.0.iter().try_fold(row, |position, ends| {
            let at = usize::try_from(position).ok();
            let found = at.and_then(|at| match ends {
                ListEnds::Bits32(ends) => Some(ends.get(at)?.as_usize()),
                ListEnds::Bits64(ends) => Some(ends.get(at)?.as_usize()),
            });
            let found = found.ok_or_else(|| Error::corrupt(format!("there is no row {row}")));
            Ok(found? as u64)
        })
    }
}

/// The structs and lists of a column in some rows.
#[derive(Debug)]
pub(super) struct Levels {
    /// An array of the type of [`without_values`].
    pub(super) array: ArrayRef,
    /// The lists around each leaf, depth first.
    pub(super) lists: Vec<ListsAround>,
}

impl Levels {
    /// Takes them from an array of a column, which may lack leaves.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the array lacks a struct or a list.
    pub(super) fn of(field: &Field, array: &ArrayRef) -> Result<Self> {
        let mut lists = Vec::new();
        let array = strip(
            field,
            Some(array),
            array.len(),
            &ListsAround::default(),
            &mut lists,
        )?;
        Ok(Self { array, lists })
    }
}

/// Returns an array of `len` elements without values. Leaves may be missing in `array`.
fn strip(
    field: &Field,
    array: Option<&ArrayRef>,
    len: usize,
    around: &ListsAround,
    lists: &mut Vec<ListsAround>,
) -> Result<ArrayRef> {
    let present = || array.ok_or_else(|| Error::corrupt("levels of a column are missing"));
    match field.data_type() {
        ArrowType::Struct(members) => {
            let group = present()?.as_struct_opt();
            let group = group.ok_or_else(|| Error::corrupt("expected a struct"))?;
            let children = members.iter().map(|member| {
                let child = group.column_by_name(member.name());
                strip(member, child, len, around, lists)
            });
            let children = children.collect::<Result<Vec<_>>>()?;
            let members = members_without_values(members);
            let nulls = group.nulls().cloned();
            let stripped = StructArray::try_new_with_length(members, children, nulls, len)?;
            Ok(Arc::new(stripped))
        }
        ArrowType::List(item) => {
            let found = present()?.as_list_opt::<i32>();
            let found = found.ok_or_else(|| Error::corrupt("expected a list"))?;
            strip_list(
                item,
                found,
                ListEnds::Bits32(found.offsets().clone()),
                around,
                lists,
            )
        }
        ArrowType::LargeList(item) => {
            let found = present()?.as_list_opt::<i64>();
            let found = found.ok_or_else(|| Error::corrupt("expected a list"))?;
            strip_list(
                item,
                found,
                ListEnds::Bits64(found.offsets().clone()),
                around,
                lists,
            )
        }
        ArrowType::Map(entries, _) => {
            let found = present()?.as_map_opt();
            let found = found.ok_or_else(|| Error::corrupt("expected a map"))?;
            let ends = ListEnds::Bits32(found.offsets().clone());
            let all: ArrayRef = Arc::new(found.entries().clone());
            let around = around.inside(ends);
            let values = strip(entries, Some(&all), all.len(), &around, lists)?;
            let (offsets, nulls) = (found.offsets().clone(), found.nulls().cloned());
            let item = without_values(entries);
            let list = GenericListArray::try_new(item, offsets, values, nulls)?;
            Ok(Arc::new(list))
        }
        _ => {
            lists.push(around.clone());
            Ok(Arc::new(NullArray::new(len)))
        }
    }
}

fn strip_list<O: OffsetSizeTrait>(
    item: &FieldRef,
    list: &GenericListArray<O>,
    ends: ListEnds,
    around: &ListsAround,
    lists: &mut Vec<ListsAround>,
) -> Result<ArrayRef> {
    let all = list.values();
    let values = strip(item, Some(all), all.len(), &around.inside(ends), lists)?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    let stripped = GenericListArray::try_new(without_values(item), offsets, values, nulls)?;
    Ok(Arc::new(stripped))
}

/// Returns the node that stores the levels of each node of a column, in the order of its nodes; `None` for leaves.
/// `stripped` is the node of the column without values.
pub(super) fn level_nodes(node: &DataType, stripped: &DataType) -> Vec<Option<u32>> {
    let mut ids = Vec::new();
    pair(node, stripped, &mut ids);
    ids
}

fn pair(node: &DataType, stripped: &DataType, ids: &mut Vec<Option<u32>>) {
    if node.children.is_empty() {
        ids.push(None);
        return;
    }
    ids.push(Some(stripped.schema_id));
    // The entries of a map are a struct only in the column without values.
    let below = match (node.basic_type, stripped.children.first()) {
        (BasicType::Map, Some(entries)) => entries,
        _ => stripped,
    };
    for (child, stripped) in node.children.iter().zip(&below.children) {
        pair(child, stripped, ids);
    }
}
