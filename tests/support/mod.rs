//! Helpers of tests with whole shards: write to memory, open, and read everything.
#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_shard::io::{ByteRange, MemoryFolder, NoContainer, ReadAt, SinkFactory};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use arrow_shard::{Error, Result, Shard};
use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) mod allocations;
pub(crate) mod layouts;
pub(crate) mod polls;
pub(crate) mod replay;
pub(crate) mod request;

/// Name of the directory file in [`written`] folders.
pub(crate) const NAME: &str = "t.amudai.shard";

/// Writes a shard of these batches to a folder in memory.
pub(crate) fn written(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    options: WriterOptions,
) -> Result<MemoryFolder> {
    let folder = MemoryFolder::new();
    let factory: Box<dyn SinkFactory> = Box::new(folder.clone());
    let mut writer = ShardWriter::create_in(factory, NAME, schema.clone(), options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(folder)
}

/// Returns the bytes of a single-file shard of these batches.
pub(crate) fn written_bytes(batches: &[RecordBatch], options: WriterOptions) -> Bytes {
    assert_eq!(options.layout(), Layout::SingleFile);
    let folder = written(&batches[0].schema(), batches, options).unwrap();
    folder.get(NAME).unwrap()
}

/// Opens the shard of a [`written`] folder.
pub(crate) fn opened(folder: &MemoryFolder) -> Result<Shard> {
    let directory = folder.get(NAME).unwrap();
    Shard::from_reader(
        Arc::new(directory),
        Arc::new(folder.clone()),
        ShardOptions::default(),
    )
}

/// Returns all rows of a scan as one batch.
pub(crate) fn collect(
    reader: arrow_shard::read::ShardReader,
) -> std::result::Result<RecordBatch, arrow_schema::ArrowError> {
    use arrow_array::RecordBatchReader;
    let schema = reader.schema();
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>()?;
    if schema.fields().is_empty() {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        return RecordBatch::try_new_with_options(schema, vec![], &options);
    }
    concat_batches(&schema, &batches)
}

/// Bytes in memory that are available only through positioned reads, which copy them.
#[derive(Debug)]
pub(crate) struct Remote(pub(crate) Bytes);

impl ReadAt for Remote {
    fn size(&self) -> Result<u64> {
        self.0.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        Ok(Bytes::copy_from_slice(&self.0.read_at(range)?))
    }
}

/// Returns the same bytes at an address that is aligned only for `u8`.
pub(crate) fn unaligned(bytes: &Bytes) -> Bytes {
    let mut padded = vec![0; bytes.len() + 64];
    let lead = padded.as_ptr().align_offset(64) + 1;
    padded[lead..lead + bytes.len()].copy_from_slice(bytes);
    let moved = Bytes::from(padded).slice(lead..lead + bytes.len());
    assert!(bytes.is_empty() || moved.as_ptr().align_offset(2) == 1);
    moved
}

/// Opens a single-file shard through a reader without resident memory.
pub(crate) fn remote(bytes: Bytes, options: ShardOptions) -> Result<Shard> {
    Shard::from_reader(Arc::new(Remote(bytes)), Arc::new(NoContainer), options)
}

/// Returns a folder of shared test files; if it is missing, prints a line and returns `None`.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(path);
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {} is missing", folder.display());
    None
}

/// Returns the library's error inside of an Arrow error.
pub(crate) fn inner(error: &arrow_schema::ArrowError) -> &Error {
    match error {
        arrow_schema::ArrowError::ExternalError(e) => e.downcast_ref().unwrap(),
        other => panic!("{other} is no error of this crate"),
    }
}
