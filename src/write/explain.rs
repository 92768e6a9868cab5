//! Shows the encodings that the writer considers.

use super::choose::candidate::FieldCandidates;
use super::options::{Layout, WriterOptions};
use super::shard::ShardWriter;
use crate::arrow::bytes_of;
use crate::error::Result;
use arrow_array::RecordBatch;

/// Most rows to look at. At most one window, because encodings are chosen once per window.
const ROWS: usize = 16_384;
/// Most bytes of a column to look at.
const BYTES: u64 = 2 << 20;

/// Returns the encodings that a writer with these options considers for a batch, with their estimated sizes and
/// decoding times, the cheapest first. There is one entry for each leaf field and for the offsets of each list, in the
/// order of the schema. Fields without a choice, such as Booleans and Arrow dictionaries, are left out.
///
/// Looks only at the first rows: at most 16,384, and about 2 MiB of the largest column. Ignores the options for layout,
/// threads, sizes of stripes and the memory limit.
///
/// ```
/// use arrow_shard::arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use arrow_shard::write::{WriterOptions, explain};
/// let ids: ArrayRef = std::sync::Arc::new(Int64Array::from_iter_values(0..10_000));
/// let fields = explain(&RecordBatch::try_from_iter([("id", ids)])?, WriterOptions::default())?;
/// let chosen = &fields[0].candidates()[0];
/// println!("{}: {}, {} bytes per value", fields[0].path(), chosen.name(), chosen.bytes_per_value());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the errors of [`ShardWriter::try_new`] and [`ShardWriter::write`].
pub fn explain(batch: &RecordBatch, options: WriterOptions) -> Result<Vec<FieldCandidates>> {
    let largest = batch.columns().iter().map(|column| bytes_of(column));
    let per_row = largest.max().unwrap_or(0) / batch.num_rows().max(1) as u64;
    let rows = usize::try_from(BYTES / per_row.max(1)).map_or(ROWS, |rows| rows.clamp(1, ROWS));
    let options = options
        .with_layout(Layout::SingleFile)
        .with_threads(1)
        .with_stripe_rows(u64::MAX)
        .with_stripe_bytes(u64::MAX)
        .with_memory_limit(u64::MAX);
    let mut writer = ShardWriter::try_new(Vec::new(), batch.schema(), options)?;
    writer.write(&batch.slice(0, rows.min(batch.num_rows())))?;
    writer.into_candidates()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    #[test]
    fn a_slice_is_explained_by_its_own_rows() {
        let random = |n: i64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()) >> 40;
        let table = |rows: i64| {
            let numbers = (0..rows).map(|n| if n < 2_000 { n } else { random(n) });
            let column: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
            RecordBatch::try_from_iter([("n", column)]).unwrap()
        };
        let sliced = table(1_000_000).slice(0, 10_000);
        let explained = |batch: &RecordBatch| explain(batch, WriterOptions::default()).unwrap();
        assert_eq!(explained(&sliced), explained(&table(10_000)));
    }
}
