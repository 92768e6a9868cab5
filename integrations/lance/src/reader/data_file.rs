//! Reads one data file: a single file, or a file of a dataset.

use super::checked_io::CheckedIo;
use super::footer;
use super::local_reader::LocalReader;
use crate::failure::{file_name, from_lance};
use crate::ffi::{batch_from_lance, schema_from_lance};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::{Error, ErrorKind, Result};
use futures::StreamExt;
use lance_core::cache::LanceCache;
use lance_core::datatypes::Schema as LanceSchema;
use lance_encoding::decoder::FilterExpression;
use lance_file::LanceEncodingsIo;
use lance_file::reader::{FileReader, FileReaderOptions, ReaderProjection};
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::stream::RecordBatchStream;
use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

/// Bytes that may be read ahead of the decoder. A page of Lance has 8 MiB unless its writer was told otherwise, and one
/// page of each column is held anyway.
const READ_AHEAD_BYTES: u64 = 32 << 20;
/// About the most bytes of a batch, unless a single row has more.
const BATCH_BYTES: u64 = 32 << 20;

/// Opens a data file, and reads its metadata.
pub(super) async fn open(path: &Path) -> Result<FileReader> {
    let opened = open_local(path).await;
    opened.map_err(|error: Error| error.within(file_name(path)))
}

async fn open_local(path: &Path) -> Result<FileReader> {
    let reader = LocalReader::open(path)?;
    let size = reader.bytes();
    footer::check(&reader.footer()?, size)?;
    let store = Arc::new(ObjectStore::local());
    let scheduler = ScanScheduler::new(store, SchedulerConfig::new(READ_AHEAD_BYTES))
        .open_reader(Arc::new(reader));
    let found = FileReader::read_all_metadata(&scheduler).await;
    let metadata = found.map_err(|e| match e {
        lance_core::Error::VersionConflict { .. } => Error::new(
            ErrorKind::Unsupported,
            "the file is of Lance version 0.1, which is older than 2.0; write it again with a newer version of Lance",
        ),
        other => from_lance(&other, ErrorKind::Corrupt),
    })?;
    let options = FileReaderOptions {
        batch_size_bytes: Some(BATCH_BYTES),
        ..FileReaderOptions::default()
    };
    let name = scheduler.reader().path().clone();
    let io = LanceEncodingsIo::new(scheduler).with_read_chunk_size(options.read_chunk_size);
    let cache = LanceCache::no_cache();
    let opened = FileReader::try_open_with_file_metadata(
        Arc::new(CheckedIo::new(Arc::new(io), size)),
        name,
        None,
        Arc::default(),
        Arc::new(metadata),
        &cache,
        options,
    );
    opened.await.map_err(|e| from_lance(&e, ErrorKind::Corrupt))
}

/// The batches of some columns of a data file.
pub(super) struct Rows {
    path: PathBuf,
    schema: SchemaRef,
    stream: Pin<Box<dyn RecordBatchStream>>,
    /// Keeps the file open.
    _file: FileReader,
}

impl Rows {
    /// Starts to read all rows of `columns`.
    pub(super) async fn start(
        path: &Path,
        file: FileReader,
        columns: ReaderProjection,
        batch_rows: u32,
    ) -> Result<Self> {
        let schema = arrow_schema_of(&columns.schema)?;
        let stream = file
            .read_stream_projected(
                ReadBatchParams::RangeFull,
                batch_rows,
                1,
                columns,
                FilterExpression::no_filter(),
            )
            .await
            .map_err(|e| from_lance(&e, ErrorKind::Corrupt).within(file_name(path)))?;
        Ok(Self {
            path: path.to_path_buf(),
            schema,
            stream,
            _file: file,
        })
    }

    /// Returns the next batch; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let within = |error: Error| error.within(file_name(&self.path));
        let Some(batch) = self.stream.next().await else {
            return Ok(None);
        };
        let batch = batch.map_err(|e| within(from_lance(&e, ErrorKind::Corrupt)))?;
        batch_from_lance(batch, &self.schema)
            .map(Some)
            .map_err(within)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Converts a schema of Lance to an Arrow schema.
pub(super) fn arrow_schema_of(schema: &LanceSchema) -> Result<SchemaRef> {
    let schema = lance_arrow_schema::Schema::from(schema);
    Ok(Arc::new(schema_from_lance(&schema)?))
}
