//! Touches the arrays of a scan, so lazy formats have to produce them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use std::ops::Range;

/// Distance of two touched bytes, in bytes: a page of memory.
const PAGE: usize = 4096;
/// Distance of two followed string views, in rows.
const ROWS: usize = 64;

/// Reads one byte of every page of the arrays' buffers.
pub(crate) fn touch(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(touch_array).sum()
}

fn touch_array(array: &ArrayRef) -> u64 {
    let nulls = array.nulls().map_or(0, |nulls| nulls.null_count() as u64);
    nulls + touch_values(array)
}

fn touch_values(array: &ArrayRef) -> u64 {
    match array.data_type() {
        // Buffers of views and strings may be longer than this array's part of them.
        DataType::Utf8View => {
            let views = array.as_string_view();
            let followed = (0..views.len()).step_by(ROWS);
            pages(views.views().inner())
                + followed
                    .map(|row| first(views.value(row).as_bytes()))
                    .sum::<u64>()
        }
        DataType::Utf8 => {
            let strings = array.as_string::<i32>();
            let offsets = strings.offsets();
            pages(offsets.inner().inner()) + pages(&strings.value_data()[covered(offsets)])
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let offsets = lists.offsets();
            let range = covered(offsets);
            let items = lists.values().slice(range.start, range.len());
            pages(offsets.inner().inner()) + touch_array(&items)
        }
        DataType::FixedSizeList(_, _) => touch_array(array.as_fixed_size_list().values()),
        _ => array.to_data().buffers().iter().map(|b| pages(b)).sum(),
    }
}

/// Returns the range of values that offsets cover, which may be only a part of the buffer.
fn covered(offsets: &OffsetBuffer<i32>) -> Range<usize> {
    let last = offsets.last().copied().unwrap_or_default();
    offsets[0] as usize..last as usize
}

fn pages(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .step_by(PAGE)
        .map(|&byte| u64::from(byte))
        .sum()
}

fn first(bytes: &[u8]) -> u64 {
    bytes.first().map_or(0, |&byte| u64::from(byte))
}
