//! Sizes of arrays in bytes.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListViewArray, OffsetSizeTrait, RecordBatch, downcast_run_array,
};
use arrow_schema::{DataType, UnionMode};
use std::ops::Range;

/// Most views to look at to estimate the length of values.
const MAX_SAMPLED_VIEWS: usize = 1024;

/// Estimates the bytes of Arrow data that the rows of a batch take.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|array| bytes_of(array)).sum()
}

/// How the rows of an array use the values of an array inside of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Uses {
    /// Every value once.
    Once,
    /// This many values, selected in any order.
    Selected(u64),
    /// This many rows share the values: the entries of a dictionary, or the values of runs.
    Shared(u64),
}

/// Returns the arrays inside of an array, and how its rows use them. If the rows use consecutive values, the returned
/// array has only these values.
pub(crate) fn inner_arrays(array: &dyn Array) -> Vec<(ArrayRef, Uses)> {
    let shared = Uses::Shared(array.len() as u64);
    match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            vec![items(lists.value_offsets(), lists.values())]
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            vec![items(lists.value_offsets(), lists.values())]
        }
        DataType::Map(..) => {
            let maps = array.as_map();
            vec![items(maps.value_offsets(), maps.entries())]
        }
        DataType::ListView(_) => vec![viewed_items(array.as_list_view::<i32>())],
        DataType::LargeListView(_) => vec![viewed_items(array.as_list_view::<i64>())],
        DataType::FixedSizeList(..) => {
            vec![(array.as_fixed_size_list().values().clone(), Uses::Once)]
        }
        DataType::Struct(_) => {
            let members = array.as_struct().columns().iter();
            members.map(|member| (member.clone(), Uses::Once)).collect()
        }
        DataType::Union(fields, mode) => {
            let union = array.as_union();
            let variants = fields.iter().map(|(id, _)| {
                let uses = match mode {
                    UnionMode::Sparse => Uses::Once,
                    UnionMode::Dense => {
                        let ids = union.type_ids().iter();
                        Uses::Selected(ids.filter(|other| **other == id).count() as u64)
                    }
                };
                (union.child(id).clone(), uses)
            });
            variants.collect()
        }
        DataType::Dictionary(..) => vec![(array.as_any_dictionary().values().clone(), shared)],
        DataType::RunEndEncoded(..) => downcast_run_array!(
            array => vec![(array.values_slice(), shared)],
            _ => Vec::new()
        ),
        _ => Vec::new(),
    }
}

fn items<O: OffsetSizeTrait>(offsets: &[O], values: &dyn Array) -> (ArrayRef, Uses) {
    let range = span(offsets);
    (values.slice(range.start, range.len()), Uses::Once)
}

fn viewed_items<O: OffsetSizeTrait>(lists: &GenericListViewArray<O>) -> (ArrayRef, Uses) {
    let sizes = lists.sizes().iter().map(|size| size.as_usize() as u64);
    (lists.values().clone(), Uses::Selected(sizes.sum()))
}

/// Estimates the bytes of the values of an array, without other values in its buffers. Values that are selected from
/// another array in any order count with the average size there.
pub(crate) fn bytes_of(array: &dyn Array) -> u64 {
    let len = array.len() as u64;
    let nulls = array.nulls().map_or(0, |_| len.div_ceil(8));
    let inner = inner_arrays(array);
    let own = match array.data_type() {
        DataType::Boolean => len.div_ceil(8),
        DataType::Utf8 => text_bytes(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => text_bytes(array.as_string::<i64>().value_offsets()),
        DataType::Binary => text_bytes(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => text_bytes(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => view_bytes(array.as_string_view().views(), MAX_SAMPLED_VIEWS),
        DataType::BinaryView => view_bytes(array.as_binary_view().views(), MAX_SAMPLED_VIEWS),
        DataType::List(_) | DataType::Map(..) => 4 * (len + 1),
        DataType::LargeList(_) => 8 * (len + 1),
        DataType::FixedSizeList(..) => 0,
        DataType::Union(_, UnionMode::Sparse) => len,
        DataType::Union(_, UnionMode::Dense) => 5 * len,
        DataType::RunEndEncoded(ends, _) => {
            let runs = inner.iter().map(|(values, _)| values.len() as u64);
            runs.sum::<u64>() * width(ends.data_type()).unwrap_or_default()
        }
        other => len * width(other).unwrap_or_default(),
    };
    let below = inner.iter().map(|(values, uses)| match *uses {
        Uses::Once => bytes_of(values),
        Uses::Selected(count) => share(count, values),
        // Count at most one entry per row: other arrays may share the dictionary.
        Uses::Shared(rows) => share(rows.min(values.len() as u64), values),
    });
    nulls + own + below.sum::<u64>()
}

/// Returns the size of contiguous values and of their offsets in bytes.
fn text_bytes<O: OffsetSizeTrait>(offsets: &[O]) -> u64 {
    (size_of_val(offsets) + span(offsets).len()) as u64
}

/// Returns the range between the first and last offset.
pub(super) fn span<O: OffsetSizeTrait>(offsets: &[O]) -> Range<usize> {
    match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => first.as_usize()..last.as_usize(),
        _ => 0..0,
    }
}

/// Estimates the bytes of views and of the values that do not fit into them, from at most `looked_at` views.
pub(crate) fn view_bytes(views: &[u128], looked_at: usize) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the length is in the low bits"
    )]
    let outside = |view: &u128| match *view as u32 {
        0..=12 => 0,
        len => u64::from(len),
    };
    let step = views.len().div_ceil(looked_at).max(1);
    let sum: u64 = views.iter().step_by(step).map(outside).sum();
    let count = views.len().div_ceil(step).max(1);
    size_of_val(views) as u64 + sum * views.len() as u64 / count as u64
}

/// Estimates the bytes of `count` values of an array.
pub(crate) fn share(count: u64, values: &dyn Array) -> u64 {
    if count == 0 || values.is_empty() {
        return 0;
    }
    let bytes = u128::from(bytes_of(values)) * u128::from(count) / values.len() as u128;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the size in bytes of an array that repeats row `i` of `array` `times[i]` times, without bitmaps. Views and
/// keys of the repeated rows share their values, so these do not count.
pub(crate) fn repeated_bytes(array: &dyn Array, times: &[u64]) -> u64 {
    let rows = || times.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    let slots = |width: usize| rows().saturating_mul(width as u64);
    if let Some(width) = width(array.data_type()) {
        return rows().saturating_mul(width);
    }
    match array.data_type() {
        DataType::Utf8 => offset_bytes(array.as_string::<i32>().offsets(), times),
        DataType::LargeUtf8 => offset_bytes(array.as_string::<i64>().offsets(), times),
        DataType::Binary => offset_bytes(array.as_binary::<i32>().offsets(), times),
        DataType::LargeBinary => offset_bytes(array.as_binary::<i64>().offsets(), times),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            list_bytes(list.offsets(), list.values(), times)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            list_bytes(list.offsets(), list.values(), times)
        }
        DataType::Map(..) => {
            let map = array.as_map();
            list_bytes(map.offsets(), map.entries(), times)
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or_default();
            let times = times.iter().flat_map(|n| std::iter::repeat_n(*n, size));
            let values = array.as_fixed_size_list().values();
            repeated_bytes(values, &times.collect::<Vec<_>>())
        }
        DataType::Struct(_) => {
            let members = array.as_struct().columns().iter();
            sum(members.map(|member| repeated_bytes(member, times)))
        }
        DataType::RunEndEncoded(ends, _) => {
            let width = ends.data_type().primitive_width().unwrap_or_default();
            downcast_run_array!(
                array => {
                    let mut of_values = vec![0u64; array.values().len()];
                    for (i, n) in times.iter().enumerate() {
                        let run = &mut of_values[array.get_physical_index(i)];
                        *run = run.saturating_add(*n);
                    }
                    slots(width).saturating_add(repeated_bytes(array.values(), &of_values))
                },
                _ => slots(width)
            )
        }
        DataType::Union(variants, mode) => {
            let union = array.as_union();
            let of_variant = |id: i8| {
                let child = union.child(id);
                let mut of_child = vec![0u64; child.len()];
                for (i, n) in times.iter().enumerate() {
                    if *mode == UnionMode::Sparse || union.type_id(i) == id {
                        let value = &mut of_child[union.value_offset(i)];
                        *value = value.saturating_add(*n);
                    }
                }
                repeated_bytes(child, &of_child)
            };
            let children = sum(variants.iter().map(|(id, _)| of_variant(id)));
            slots(size_of::<i8>() + size_of::<i32>()).saturating_add(children)
        }
        _ => 0,
    }
}

/// Returns the size in bytes of each value of a type, if all values have the same size, without bitmaps and without the
/// values that views and keys refer to.
fn width(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Null | DataType::Boolean => Some(0),
        DataType::Utf8View | DataType::BinaryView | DataType::LargeListView(_) => Some(16),
        DataType::ListView(_) => Some(8),
        DataType::FixedSizeBinary(size) => u64::try_from(*size).ok(),
        DataType::FixedSizeList(item, size) => {
            width(item.data_type())?.checked_mul(u64::try_from(*size).ok()?)
        }
        DataType::Dictionary(key, _) => width(key),
        other => other.primitive_width().map(|width| width as u64),
    }
}

fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

fn offset_bytes<O: OffsetSizeTrait>(offsets: &[O], times: &[u64]) -> u64 {
    let bytes = offsets.windows(2).zip(times).map(|(ends, n)| {
        let len = (ends[1] - ends[0]).as_usize();
        n.saturating_mul((len + size_of::<O>()) as u64)
    });
    sum(bytes)
}

fn list_bytes<O: OffsetSizeTrait>(offsets: &[O], items: &dyn Array, times: &[u64]) -> u64 {
    let mut of_items = vec![0u64; items.len()];
    for (ends, n) in offsets.windows(2).zip(times) {
        of_items[ends[0].as_usize()..ends[1].as_usize()].fill(*n);
    }
    let slots = times
        .iter()
        .map(|n| n.saturating_mul(size_of::<O>() as u64));
    sum(slots).saturating_add(repeated_bytes(items, &of_items))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{
        DictionaryArray, Int8Array, Int32Array, Int64Array, RunArray, StringArray, StringViewArray,
    };
    use std::sync::Arc;

    fn close(array: &dyn Array, expected: u64) {
        let found = bytes_of(array);
        assert!(
            found.abs_diff(expected) <= expected / 20,
            "{found} bytes, not {expected}: {}",
            array.data_type()
        );
    }

    #[test]
    fn slices_count_what_they_hold() {
        let text: Vec<String> = (0..1000).map(|i| format!("{i:0>100}")).collect();
        close(&StringArray::from(text.clone()).slice(100, 200), 200 * 104);
        close(
            &StringViewArray::from(text.clone()).slice(100, 200),
            200 * 116,
        );
        close(&Int64Array::from(vec![1; 1000]).slice(1, 300), 2400);

        let mut lists = ListBuilder::new(Int32Builder::new());
        for i in 0..1000 {
            lists.append_value((0..i % 20).map(Some));
        }
        close(&lists.finish().slice(500, 100), 100 * (4 + 4 * 19 / 2));

        // At most one entry of a dictionary counts per row.
        let keys = Int8Array::from_iter_values((0..100).map(|i| i % 10));
        let entries: ArrayRef = Arc::new(StringArray::from(text));
        let codes = DictionaryArray::new(keys, entries);
        close(&codes, 100 + 100 * 104);

        let ends = Int32Array::from_iter_values((1..=1000).map(|i| 10 * i));
        let runs = RunArray::try_new(&ends, &Int64Array::from(vec![5; 1000])).unwrap();
        close(&runs.slice(5000, 500), 51 * 12);
    }
}
