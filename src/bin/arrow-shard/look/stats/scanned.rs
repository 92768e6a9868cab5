//! Statistics of values that are read.

use super::column::ColumnStats;
use super::shard;
use crate::failure::Failure;
use crate::input::{ColumnArgs, ReadArgs, RowWindow};
use crate::progress::InputProgress;
use crate::temporary::TemporaryShard;
use arrow_shard::write::WriterOptions;
use std::path::Path;

/// Reads the columns of a file into a temporary shard. Its writer collects their statistics.
pub(super) fn stats(
    path: &Path,
    reading: &ReadArgs,
    columns: &ColumnArgs,
    quiet: bool,
) -> Result<Vec<ColumnStats>, Failure> {
    let input = reading.open(path, columns, RowWindow::default())?;
    let mut written = TemporaryShard::create(input.schema, WriterOptions::default())?;
    let mut progress = InputProgress::new(input.total, quiet);
    for batch in input.batches {
        let batch = batch?;
        written.write(&batch)?;
        progress.add(batch.num_rows());
    }
    progress.finish();
    let shard = written.open(path.display().to_string())?;
    let mut all = shard::stats(&shard, &[])?;
    // These are the sizes of the temporary shard.
    for column in &mut all {
        column.bytes = None;
    }
    Ok(all)
}
