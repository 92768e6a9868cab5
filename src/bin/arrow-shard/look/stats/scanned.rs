//! Statistics of values that are read.

use super::column::ColumnStats;
use super::shard;
use crate::failure::Failure;
use crate::input::{ColumnArgs, ReadArgs, RowWindow};
use crate::progress::Progress;
use crate::temporary;
use arrow_shard::Shard;
use arrow_shard::io::{LocalFile, NoContainer, WriteSink};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use std::path::Path;
use std::sync::Arc;

/// Reads the columns of a file into a temporary shard. Its writer collects their statistics.
pub(super) fn stats(
    path: &Path,
    reading: &ReadArgs,
    columns: &ColumnArgs,
    quiet: bool,
) -> Result<Vec<ColumnStats>, Failure> {
    let failed = |e: std::io::Error| Failure::from(e).within(temporary::place());
    let file = tempfile::tempfile().map_err(failed)?;
    let options = WriterOptions::default()
        .with_profile(Profile::Fast)
        .with_bloom_filter_enabled(false);
    let input = reading.open(path, columns, RowWindow::default())?;
    let sink = WriteSink::new(file.try_clone().map_err(failed)?);
    let mut writer = ShardWriter::try_new(sink, input.schema, options)?;
    let mut progress = Progress::new(input.total, quiet);
    for batch in input.batches {
        let batch = batch?;
        writer.write(&batch)?;
        progress.add(batch.num_rows());
    }
    writer.finish()?;
    progress.finish();
    let written = LocalFile::from_file(file, path.display().to_string())?;
    let options = ShardOptions::default();
    let shard = Shard::from_reader(Arc::new(written), Arc::new(NoContainer), options)?;
    let mut all = shard::stats(&shard, &[])?;
    // These are the sizes of the temporary shard.
    for column in &mut all {
        column.bytes = None;
    }
    Ok(all)
}
