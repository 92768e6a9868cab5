//! Shows the encodings that the writer considers.

use super::choose::candidate::FieldCandidates;
use super::options::{Layout, WriterOptions};
use super::shard::ShardWriter;
use crate::error::Result;
use arrow_array::RecordBatch;

/// Most rows to look at. At most one window, because encodings are chosen once per window.
const ROWS: usize = 16_384;
/// Most bytes of a column to look at.
const BYTES: usize = 2 << 20;

/// Returns the encodings that a writer with these options considers for the first rows of a batch (at most 16,384, and
/// about 2 MiB of the largest column): for every leaf field and the offsets of every list, in the order of the schema.
/// Fields without a choice, such as Booleans and Arrow dictionaries, are left out.
///
/// # Errors
/// Returns the errors of [`ShardWriter::try_new`] and [`ShardWriter::write`].
pub fn explain(batch: &RecordBatch, options: WriterOptions) -> Result<Vec<FieldCandidates>> {
    let largest = batch.columns().iter().map(|c| c.get_array_memory_size());
    let per_row = largest.max().unwrap_or(0) / batch.num_rows().max(1);
    let rows = ROWS
        .min(batch.num_rows())
        .min(BYTES / per_row.max(1))
        .max(1);
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
