//! Temporary files.

use crate::failure::Failure;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::io::{LocalFile, NoContainer, WriteSink};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use arrow_shard::{Limits, Shard};
use std::fs::File;
use std::sync::Arc;

/// Returns the folder for temporary files, for errors: it may be on another file system than the output.
pub(crate) fn place() -> String {
    let folder = std::env::temp_dir();
    format!("a temporary file in `{}`", folder.display())
}

fn failed(error: impl Into<Failure>) -> Failure {
    error.into().within(place())
}

/// Maximum number of bytes of metadata that an open shard keeps, of each kind.
const CACHED_BYTES: u64 = 2 << 20;

/// A shard that is written to a file without a name, so that it disappears no matter how the process ends.
pub(crate) struct TemporaryShard {
    file: File,
    writer: ShardWriter<WriteSink<File>>,
}

impl TemporaryShard {
    /// Creates the file.
    pub(crate) fn create(schema: SchemaRef, options: WriterOptions) -> Result<Self, Failure> {
        let file = tempfile::tempfile().map_err(failed)?;
        let sink = WriteSink::new(file.try_clone().map_err(failed)?);
        let options = options
            .with_profile(Profile::Fast)
            .with_bloom_filter_enabled(false);
        let writer = ShardWriter::try_new(sink, schema, options)?;
        Ok(Self { file, writer })
    }

    /// Appends the rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.writer.write(batch).map_err(failed)
    }

    /// Completes the shard, and opens it. Errors call it `name`.
    pub(crate) fn open(self, name: String) -> Result<Shard, Failure> {
        self.writer.finish().map_err(failed)?;
        let written = LocalFile::from_file(self.file, name)?;
        // Rows are read from front to back, and many of these shards may be open.
        let limits = Limits::default().with_max_cached_bytes(CACHED_BYTES);
        let options = ShardOptions::default().with_limits(limits);
        Ok(Shard::from_reader(
            Arc::new(written),
            Arc::new(NoContainer),
            options,
        )?)
    }
}
