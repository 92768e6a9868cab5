//! Estimates how much rows grow when they are shredded: a value that several positions share is copied for each.

use super::size::{run_values, share, views};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, GenericListViewArray, OffsetSizeTrait, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::DataType;

/// Most views to look at to estimate whether values are shared.
const LOOKED_AT: usize = 64;

/// Bytes of indexes per gathered element: the indexes are collected, shared, and collected again for the kernel that
/// gathers values.
const PICK_BYTES: u64 = 24;

/// Estimates the additional bytes that the rows of a batch take when they are shredded.
pub(in crate::write) fn growth(batch: &RecordBatch) -> u64 {
    sum(batch.columns())
}

fn sum(arrays: &[ArrayRef]) -> u64 {
    let each = arrays.iter().map(|array| of_array(array));
    each.fold(0, u64::saturating_add)
}

fn of_array(array: &dyn Array) -> u64 {
    match array.data_type() {
        DataType::Utf8View => {
            let array = array.as_string_view();
            of_views(array.views(), array.data_buffers())
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            of_views(array.views(), array.data_buffers())
        }
        DataType::List(_) => of_items(
            array.as_list::<i32>().value_offsets(),
            array.as_list::<i32>().values(),
        ),
        DataType::LargeList(_) => of_items(
            array.as_list::<i64>().value_offsets(),
            array.as_list::<i64>().values(),
        ),
        DataType::Map(..) => {
            let map = array.as_map();
            of_items(map.value_offsets(), map.entries())
        }
        DataType::ListView(_) => of_list_views(array.as_list_view::<i32>()),
        DataType::LargeListView(_) => of_list_views(array.as_list_view::<i64>()),
        DataType::FixedSizeList(..) => of_array(array.as_fixed_size_list().values()),
        DataType::Struct(_) => sum(array.as_struct().columns()),
        DataType::Union(fields, _) => {
            let union = array.as_union();
            let of_variant = |id: i8| match union.offsets() {
                None => of_array(union.child(id)),
                Some(_) => {
                    let count = union
                        .type_ids()
                        .iter()
                        .filter(|other| **other == id)
                        .count();
                    repeated(count as u64, union.child(id))
                }
            };
            let each = fields.iter().map(|(id, _)| of_variant(id));
            each.fold(0, u64::saturating_add)
        }
        // Leaves keep their dictionary.
        DataType::Dictionary(_, value) if value.is_nested() || is_wrapped(value) => {
            repeated(array.len() as u64, array.as_any_dictionary().values())
        }
        DataType::RunEndEncoded(ends, _) => {
            let values = match ends.data_type() {
                DataType::Int16 => run_values(array.as_run::<Int16Type>()),
                DataType::Int32 => run_values(array.as_run::<Int32Type>()),
                _ => run_values(array.as_run::<Int64Type>()),
            };
            repeated(array.len() as u64, &values)
        }
        _ => 0,
    }
}

fn is_wrapped(value: &DataType) -> bool {
    matches!(
        value,
        DataType::Dictionary(..) | DataType::RunEndEncoded(..)
    )
}

/// Returns the growth if `count` positions share these values evenly.
fn repeated(count: u64, values: &dyn Array) -> u64 {
    let len = values.len() as u64;
    let below = if count > len && len > 0 {
        u128::from(of_array(values)) * u128::from(count) / u128::from(len)
    } else {
        u128::from(of_array(values))
    };
    let below = u64::try_from(below).unwrap_or(u64::MAX);
    share(count.saturating_sub(len), values).saturating_add(below)
}

/// Lists that do not overlap select no more elements than exist, so they need no gathering.
fn of_list_views<O: OffsetSizeTrait>(lists: &GenericListViewArray<O>) -> u64 {
    let elements: u64 = lists
        .sizes()
        .iter()
        .map(|size| size.as_usize() as u64)
        .sum();
    let picks = if elements > lists.values().len() as u64 {
        elements.saturating_mul(PICK_BYTES)
    } else {
        0
    };
    repeated(elements, lists.values()).saturating_add(picks)
}

fn of_items<O: OffsetSizeTrait>(offsets: &[O], values: &dyn Array) -> u64 {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return 0;
    };
    let (first, last) = (first.as_usize(), last.as_usize());
    of_array(&values.slice(first, last - first))
}

/// Returns by how many bytes the values of views exceed their buffers, because several views share a value.
fn of_views(all: &[u128], buffers: &[Buffer]) -> u64 {
    let held = buffers
        .iter()
        .map(|buffer| buffer.len() as u64)
        .sum::<u64>();
    let viewed = views(all, LOOKED_AT).saturating_sub(size_of_val(all) as u64);
    viewed.saturating_sub(held)
}
