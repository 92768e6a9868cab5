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
        if !options.overwrite() {
            let sink = LocalSink::create(path)?;
            let folder = LocalFolder::of_file(sink.path())?.with_writer_of(&sink);
            return Self::build(sink, stripe_folder(folder, &options), schema, options);
        }
        let sink = LocalSink::create_or_replace(path)?;
        // The stripe files get the permissions of the replaced file, so that they are not readable by more users.
        let folder = LocalFolder::of_file(sink.path())?
            .with_permissions_of(sink.path())
            .with_writer_of(&sink);
        Self::build(sink, stripe_folder(folder, &options), schema, options)
    }
}

fn stripe_folder(folder: LocalFolder, options: &WriterOptions) -> Option<Box<dyn SinkFactory>> {
    match options.layout() {
        Layout::SingleFile => None,
        Layout::TwoLevel => Some(Box::new(folder)),
    }
}
