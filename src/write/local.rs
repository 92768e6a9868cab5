//! Shards in local folders.

use super::options::{Layout, WriterOptions};
use super::shard::ShardWriter;
use crate::error::Result;
use crate::io::{LocalFolder, LocalSink, SinkFactory};
use arrow_schema::SchemaRef;
use std::path::Path;

impl ShardWriter<LocalSink> {
    /// Creates the file `path` when the shard is finished, with default options.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), or a schema that cannot be stored.
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef) -> Result<Self> {
        Self::create_with(path, schema, WriterOptions::default())
    }

    /// Like [`create`](Self::create), with options. Stripe files of a two-level shard go into the
    /// folder of `path`. If `path` is a symbolic link, the file that it leads to counts.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists),
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a pipe or a device, or a schema or options that cannot be
    /// used.
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
        // Who may not read the file that is replaced shall not read the stripes either.
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
