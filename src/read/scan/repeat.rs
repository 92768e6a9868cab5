//! The size of rows that are copied more than once.

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait, downcast_run_array};
use arrow_schema::{DataType, UnionMode};

/// Returns the size in bytes of an array with `times[i]` copies of row `i` of another array, without bitmaps. Values
/// that views and keys share are not copied.
pub(in crate::read) fn repeated_bytes(array: &dyn Array, times: &[u64]) -> u64 {
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

/// Returns the size in bytes of each value of a type, if all values have the same size.
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
