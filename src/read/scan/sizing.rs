//! The number of rows to fetch at a time, from the stored size of their values.

use super::source::StripeFields;
use crate::read::shard::artifacts::Artifacts;
use crate::read::shard::metadata::WINDOW_ROWS;

/// Returns the stored size of the fields in bytes.
pub(in crate::read) fn stored_bytes(fields: &StripeFields) -> u64 {
    let bytes = fields.places().map(|place| place.range.len());
    bytes.fold(0, u64::saturating_add)
}

/// Returns the number of rows with about `fetch_bytes` bytes: a multiple of the window, at which blocks end.
pub(in crate::read) fn window_rows(fields: &StripeFields, rows: u64, fetch_bytes: u64) -> u64 {
    rows_of_bytes(stored_bytes(fields), rows, fetch_bytes)
}

/// Returns the number of rows with about `fetch_bytes` bytes, given that `rows` rows have `bytes` bytes: a multiple of
/// the window.
pub(in crate::read) fn rows_of_bytes(bytes: u64, rows: u64, fetch_bytes: u64) -> u64 {
    let windows = rows.div_ceil(WINDOW_ROWS).max(1);
    let per_window = (bytes / windows).max(1);
    let fetched = (fetch_bytes / per_window).clamp(1, windows);
    fetched.saturating_mul(WINDOW_ROWS)
}

/// Returns the end of the rows that are fetched together from row `start` on: at most `window_rows` rows, which end
/// where blocks end.
pub(in crate::read) fn window_end(start: u64, window_rows: u64) -> u64 {
    let unit = window_rows.clamp(1, WINDOW_ROWS);
    start.saturating_add(window_rows) / unit * unit
}

/// Most bytes to read at a time from a near file.
const NEAR_BYTES: u64 = 1 << 20;

/// Returns the number of rows to fetch at a time when rows are read in order. For near files, these are rows of about
/// 1 MiB, or of `fetch_bytes` if that is less, or of one block if it is larger. The processor's caches then still hold
/// the bytes when they are decoded, and a window of wide rows, which can be far larger than `fetch_bytes`, is not read
/// at once. For other files, this is the result of [`window_rows`].
pub(in crate::read) fn scanned_rows(
    fields: &StripeFields,
    rows: u64,
    artifacts: &Artifacts,
) -> u64 {
    let fetch_bytes = artifacts.fetch_bytes();
    if !artifacts.are_near() {
        return window_rows(fields, rows, fetch_bytes);
    }
    let unit = fields.block_rows(rows).min(WINDOW_ROWS).next_power_of_two();
    let units = rows.div_ceil(unit).max(1);
    let per_unit = (stored_bytes(fields) / units).max(1);
    unit * (NEAR_BYTES.min(fetch_bytes) / per_unit).clamp(1, units)
}

/// Returns the number of rows to fetch at a time, see [`window_rows`]; `None` if all bytes are in memory.
pub(in crate::read) fn fetched_rows(
    fields: &StripeFields,
    rows: u64,
    artifacts: &Artifacts,
) -> Option<u64> {
    (!fields.are_resident()).then(|| window_rows(fields, rows, artifacts.fetch_bytes()))
}
