//! Estimates how much rows grow when they are shredded: a value that several positions share is copied for each.

use crate::arrow::{Uses, inner_arrays, is_wrapped, share, view_bytes};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::DataType;

/// Most views to look at to estimate whether values are shared.
const MAX_SAMPLED_VIEWS: usize = 64;

/// Bytes of indexes per gathered element: the indexes are collected, shared, and collected again for the kernel that
/// gathers values.
const PICK_BYTES: u64 = 24;

/// Estimates the additional bytes that the rows of a batch take when they are shredded.
pub(in crate::write) fn growth(batch: &RecordBatch) -> u64 {
    let each = batch.columns().iter().map(|array| of_array(array));
    each.fold(0, u64::saturating_add)
}

fn of_array(array: &dyn Array) -> u64 {
    let own = match array.data_type() {
        DataType::Utf8View => {
            let array = array.as_string_view();
            of_views(array.views(), array.data_buffers())
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            of_views(array.views(), array.data_buffers())
        }
        // Leaves keep their dictionary.
        DataType::Dictionary(_, value) if !value.is_nested() && !is_wrapped(value) => return 0,
        _ => 0,
    };
    let picks = |count: u64, values: &dyn Array| match array.data_type() {
        // Lists that do not overlap select no more elements than exist, so they need no gathering.
        DataType::ListView(_) | DataType::LargeListView(_) if count > values.len() as u64 => {
            count.saturating_mul(PICK_BYTES)
        }
        _ => 0,
    };
    let inner = inner_arrays(array).into_iter();
    let each = inner.map(|(values, uses)| match uses {
        Uses::Once => of_array(&values),
        Uses::Selected(count) | Uses::Shared(count) => {
            repeated(count, &values).saturating_add(picks(count, &values))
        }
    });
    each.fold(own, u64::saturating_add)
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

/// Returns by how many bytes the values of views exceed their buffers, because several views share a value.
fn of_views(all: &[u128], buffers: &[Buffer]) -> u64 {
    let held = buffers
        .iter()
        .map(|buffer| buffer.len() as u64)
        .sum::<u64>();
    let viewed = view_bytes(all, MAX_SAMPLED_VIEWS).saturating_sub(size_of_val(all) as u64);
    viewed.saturating_sub(held)
}
