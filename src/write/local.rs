//! Writers of shards in local folders.

use super::options::{Layout, WriterOptions};
use super::shard::ShardWriter;
use crate::error::Result;
use crate::io::{LocalFolder, LocalSink, SinkFactory};
use arrow_schema::SchemaRef;
use std::path::Path;

impl ShardWriter<LocalSink> {
    /// Writes a shard to a new file `path`, with default options. The file appears when the shard is finished.
    ///
    /// [`AsyncShardWriter::create`](super::AsyncShardWriter::create) is the asynchronous form, for any
    /// [`Location`](crate::io::Location).
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file exists, and
    /// [`NotFound`](crate::ErrorKind::NotFound) if its folder does not. Fails if the schema cannot be stored.
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef) -> Result<Self> {
        Self::create_with(path, schema, WriterOptions::default())
    }

    /// Writes a shard to the file `path`, which appears when the shard is finished. The stripe files of a two-level
    /// shard go to the folder of `path`. If `path` is a symbolic link, its target is written.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file exists and
    /// [`with_overwrite`](WriterOptions::with_overwrite) is off, and
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a pipe or a device. Fails if the schema or the
    /// options cannot be used.
    pub fn create_with(
        path: impl AsRef<Path>,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        let (sink, folder) = LocalFolder::for_shard(path.as_ref(), options.overwrite())?;
        let stripes = match options.layout() {
            Layout::SingleFile => None,
            Layout::TwoLevel => Some(Box::new(folder) as Box<dyn SinkFactory>),
        };
        Self::build(sink, stripes, schema, options)
    }
}
