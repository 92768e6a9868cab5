//! Estimates the size of batches.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch, RunArray};
use arrow_schema::DataType;

/// Most views to look at to estimate the length of values.
const LOOKED_AT: usize = 1024;

/// Estimates the bytes of Arrow data that the rows of a batch take.
pub(in crate::write) fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|array| bytes_of(array)).sum()
}

/// Estimates the bytes of the values of an array, without other values in its buffers. Values that are selected from
/// another array in any order count with the average size there.
fn bytes_of(array: &dyn Array) -> u64 {
    let len = array.len();
    let nulls = array.nulls().map_or(0, |_| len.div_ceil(8)) as u64;
    nulls
        + match array.data_type() {
            DataType::Null => 0,
            DataType::Boolean => len.div_ceil(8) as u64,
            DataType::Utf8 => with_bytes(array.as_string::<i32>().value_offsets()),
            DataType::LargeUtf8 => with_bytes(array.as_string::<i64>().value_offsets()),
            DataType::Binary => with_bytes(array.as_binary::<i32>().value_offsets()),
            DataType::LargeBinary => with_bytes(array.as_binary::<i64>().value_offsets()),
            DataType::Utf8View => views(array.as_string_view().views(), LOOKED_AT),
            DataType::BinaryView => views(array.as_binary_view().views(), LOOKED_AT),
            DataType::FixedSizeBinary(_) => {
                let width = array.as_fixed_size_binary().value_length();
                len as u64 * u64::from(width.unsigned_abs())
            }
            DataType::List(_) => items(
                array.as_list::<i32>().value_offsets(),
                array.as_list::<i32>().values(),
            ),
            DataType::LargeList(_) => items(
                array.as_list::<i64>().value_offsets(),
                array.as_list::<i64>().values(),
            ),
            DataType::Map(..) => items(array.as_map().value_offsets(), array.as_map().entries()),
            DataType::ListView(_) => {
                let lists = array.as_list_view::<i32>();
                8 * len as u64 + share(sum(lists.value_sizes()), lists.values())
            }
            DataType::LargeListView(_) => {
                let lists = array.as_list_view::<i64>();
                16 * len as u64 + share(sum(lists.value_sizes()), lists.values())
            }
            DataType::FixedSizeList(..) => bytes_of(array.as_fixed_size_list().values()),
            DataType::Struct(_) => {
                let members = array.as_struct().columns().iter();
                members.map(|member| bytes_of(member)).sum()
            }
            DataType::Union(fields, _) => {
                let union = array.as_union();
                let variants = fields.iter().map(|(id, _)| match union.offsets() {
                    None => bytes_of(union.child(id)),
                    Some(_) => {
                        let ids = union.type_ids().iter();
                        let count = ids.filter(|other| **other == id).count();
                        4 * count as u64 + share(count as u64, union.child(id))
                    }
                });
                len as u64 + variants.sum::<u64>()
            }
            DataType::Dictionary(key, _) => {
                let keys = len * key.primitive_width().unwrap_or(0);
                // Count no more entries than keys: other arrays may share the dictionary.
                let values = array.as_any_dictionary().values();
                keys as u64 + share((len as u64).min(values.len() as u64), values)
            }
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => runs(array.as_run::<Int16Type>()),
                DataType::Int32 => runs(array.as_run::<Int32Type>()),
                _ => runs(array.as_run::<Int64Type>()),
            },
            other => (len * other.primitive_width().unwrap_or(0)) as u64,
        }
}

/// Returns the size of contiguous values and of their offsets in bytes.
fn with_bytes<O: OffsetSizeTrait>(offsets: &[O]) -> u64 {
    let span = |offsets: &[O]| offsets[offsets.len() - 1].as_usize() - offsets[0].as_usize();
    match offsets {
        [] => 0,
        offsets => (size_of_val(offsets) + span(offsets)) as u64,
    }
}

/// Estimates the bytes of views and of the values that do not fit into them, from at most `looked_at` views.
pub(super) fn views(views: &[u128], looked_at: usize) -> u64 {
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

/// Returns the size in bytes of the items between the first and last offset, and of the offsets.
fn items<O: OffsetSizeTrait>(offsets: &[O], values: &dyn Array) -> u64 {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return 0;
    };
    let (first, last) = (first.as_usize(), last.as_usize());
    size_of_val(offsets) as u64 + bytes_of(&values.slice(first, last - first))
}

/// Estimates the bytes of `count` values of an array.
pub(super) fn share(count: u64, values: &dyn Array) -> u64 {
    if count == 0 || values.is_empty() {
        return 0;
    }
    let bytes = u128::from(bytes_of(values)) * u128::from(count) / values.len() as u128;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn sum<O: OffsetSizeTrait>(sizes: &[O]) -> u64 {
    sizes.iter().map(|size| size.as_usize() as u64).sum()
}

/// Returns the size in bytes of the runs of a slice, and of their ends.
fn runs<R: RunEndIndexType>(array: &RunArray<R>) -> u64 {
    let values = run_values(array);
    (values.len() * size_of::<R::Native>()) as u64 + bytes_of(&values)
}

/// Returns the values of the runs of a slice.
pub(super) fn run_values<R: RunEndIndexType>(array: &RunArray<R>) -> ArrayRef {
    if array.is_empty() {
        return array.values().slice(0, 0);
    }
    let ends = array.run_ends();
    let first = ends.get_start_physical_index();
    let count = ends.get_end_physical_index() + 1 - first;
    array.values().slice(first, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{
        DictionaryArray, Int8Array, Int32Array, Int64Array, StringArray, StringViewArray,
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

        // A slice of the rows counts only its part of a shared dictionary.
        let keys = Int8Array::from_iter_values((0..100).map(|i| i % 10));
        let entries: ArrayRef = Arc::new(StringArray::from(text));
        let codes = DictionaryArray::new(keys, entries);
        close(&codes, 100 + 100 * 104);

        let ends = Int32Array::from_iter_values((1..=1000).map(|i| 10 * i));
        let runs = RunArray::try_new(&ends, &Int64Array::from(vec![5; 1000])).unwrap();
        close(&runs.slice(5000, 500), 51 * 12);
    }
}
