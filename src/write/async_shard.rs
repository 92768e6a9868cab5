//! The asynchronous writer of shards.

use super::layout::outbox::{Event, Outbox};
use super::options::{Layout, WriterOptions};
use super::shard::ShardWriter;
use super::summary::ShardSummary;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::WINDOW_ROWS;
use crate::io::{
    AsyncSink, AsyncSinkFactory, Location, ShardSinks, Sink, SinkFactory, check_output_name,
};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::BTreeMap;
use std::fmt;

/// Writes RecordBatches to a shard in an [`AsyncSink`], such as an object of a store.
///
/// A call encodes pending rows on [`WriterOptions::with_threads`] threads and passes the bytes to the sink, which may
/// still be sending when the call returns. Memory use is the sum of a [`ShardWriter`]'s memory, the bytes that one call
/// encodes, and the buffers of the sink: see [`memory_size`](Self::memory_size). Encoding blocks the thread that polls
/// the call. A program that must not block its threads runs the writer on a separate thread or task.
///
/// With [`Layout::TwoLevel`], each stripe file is completed in the store as soon as it is written. The directory file
/// comes last, so that the shard becomes visible as a whole or not at all.
///
/// The shard is valid once [`finish`](Self::finish) has returned. [`abort`](Self::abort) deletes the data sent so far,
/// and so does every call that fails, unless it refuses a batch (see [`write`](Self::write)). If the writer is dropped
/// instead, its sinks discard what they can; completed stripe files stay, unreferenced. If a call's future is dropped
/// before it completes, only `abort` works afterwards.
///
/// ```
/// # #[cfg(feature = "object_store")] {
/// # use arrow_shard::{Shard, read::ShardOptions, write::{AsyncShardWriter, WriterOptions}};
/// # use arrow_array::record_batch;
/// # use object_store::{ObjectStore, memory::InMemory, path::Path};
/// # use std::sync::Arc;
/// # futures::executor::block_on(async {
/// let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
/// let path = Path::from("table.amudai.shard");
/// let batch = record_batch!(("id", Int32, [1, 2, 3]), ("name", Utf8, ["a", "b", "c"]))?;
/// let options = WriterOptions::default();
/// let mut writer =
///     AsyncShardWriter::create_object(store.clone(), &path, batch.schema(), options).await?;
/// writer.write(&batch).await?;
/// let summary = writer.finish().await?;
/// assert_eq!(summary.num_rows(), 3);
/// # let shard = Shard::open_object(store, &path, ShardOptions::default()).await?;
/// # assert_eq!(shard.num_rows(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// # }
/// ```
pub struct AsyncShardWriter {
    writer: ShardWriter<Box<dyn Sink>>,
    outbox: Outbox,
    uploads: Uploads,
    poisoned: bool,
}

impl AsyncShardWriter {
    /// Writes a single-file shard to `sink`.
    ///
    /// # Errors
    /// Fails if the schema or the options cannot be used. [`Layout::TwoLevel`] needs a place for the stripe files: use
    /// [`create_in`](Self::create_in).
    pub fn try_new(
        sink: impl AsyncSink + 'static,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        if options.layout() == Layout::TwoLevel {
            return Err(Error::invalid(
                "Layout::TwoLevel needs a place for the stripe files: use \
                 AsyncShardWriter::create_in",
            ));
        }
        Self::build(Box::new(sink), None, schema, options)
    }

    /// Writes a shard with files that `factory` creates: the directory file `name` and, for [`Layout::TwoLevel`], one
    /// file per stripe.
    ///
    /// # Errors
    /// Returns the errors of the factory, and [`InvalidArgument`](ErrorKind::InvalidArgument) if the name is reserved
    /// for stripe files or temporary files. Fails if the schema or the options cannot be used.
    pub async fn create_in(
        mut factory: Box<dyn AsyncSinkFactory>,
        name: &str,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        check_output_name(name).within(|| format!("file `{name}`"))?;
        let sink = factory.create(name).await?;
        Self::build(sink, Some(factory), schema, options)
    }

    /// Writes a shard to a new file or object, with default options. It appears when the shard is finished.
    ///
    /// # Errors
    /// Returns the errors of [`create_with`](Self::create_with).
    pub async fn create(location: impl Into<Location>, schema: SchemaRef) -> Result<Self> {
        Self::create_with(location, schema, WriterOptions::default()).await
    }

    /// Writes a shard to a file of any [`Store`](crate::io::Store), which appears when the shard is finished. The
    /// stripe files of a two-level shard go to the same folder. [`ShardWriter::create_with`] is the blocking form, for
    /// local paths. If the store is blocking, so are the methods of this writer.
    ///
    /// Objects larger than one part (8 MiB) need multipart uploads, which WebDAV does not support. To choose the part
    /// size, use [`create_in`](Self::create_in) with an `io::ObjectFolder` (feature `object_store`).
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](ErrorKind::AlreadyExists) if the file exists, unless
    /// [`with_overwrite`](WriterOptions::with_overwrite) is set, [`InvalidArgument`](ErrorKind::InvalidArgument) if the
    /// name is reserved for stripe files or temporary files, and the errors of the store. Fails if the schema or the
    /// options cannot be used.
    pub async fn create_with(
        location: impl Into<Location>,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        let location = location.into();
        let home = location.home();
        let sinks = home.shard_sinks(location.name(), options.overwrite());
        let ShardSinks { directory, data } = sinks.await?;
        Self::build(directory, Some(data), schema, options)
    }

    /// Writes a shard to the object at `path`: [`create_with`](Self::create_with) without a
    /// [`Store`](crate::io::Store). It has no blocking form, because object stores are asynchronous.
    ///
    /// # Errors
    /// Returns the errors of [`create_with`](Self::create_with).
    #[cfg(feature = "object_store")]
    pub async fn create_object(
        store: std::sync::Arc<dyn object_store::ObjectStore>,
        path: &object_store::path::Path,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        let location = crate::io::Store::object(store).at(path.as_ref());
        Self::create_with(location, schema, options).await
    }

    fn build(
        sink: Box<dyn AsyncSink>,
        factory: Option<Box<dyn AsyncSinkFactory>>,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        let outbox = Outbox::default();
        let (directory, writer) = outbox.sink();
        let stripes = (options.layout() == Layout::TwoLevel)
            .then(|| Box::new(outbox.clone()) as Box<dyn SinkFactory>);
        Ok(Self {
            writer: ShardWriter::build(writer, stripes, schema, options)?,
            outbox,
            uploads: Uploads {
                factory,
                open: BTreeMap::from([(directory, FileInProgress::new(None, sink))]),
                complete: Vec::new(),
                may_be_visible: false,
            },
            poisoned: false,
        })
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.writer.schema()
    }

    /// Returns the approximate memory size of the writer and its sinks in bytes.
    pub fn memory_size(&self) -> usize {
        self.writer.memory_size() + self.outbox.memory_size() + self.uploads.memory_size()
    }

    /// Returns the bytes passed to the sinks of all files so far.
    pub fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }

    /// Returns the number of rows that have not been passed to a sink yet.
    pub fn in_progress_rows(&self) -> u64 {
        self.writer.in_progress_rows()
    }

    /// Appends the rows of a batch. Its columns must have the names and the types of the schema, in the same order, and
    /// those that the schema declares without nulls must have none. The metadata of the batch are ignored.
    ///
    /// # Errors
    /// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the batch does not match the schema. With
    /// [`with_sorting_columns_checked`](WriterOptions::with_sorting_columns_checked), returns
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the rows break the declared order. After these errors the
    /// writer stays usable.
    ///
    /// Returns [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) for values that cannot be stored,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for more stripes than readers accept, or the error of the sink; all
    /// may concern rows of an earlier call. After these errors the writer is unusable.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_poisoned()?;
        self.writer.check_rows(batch)?;
        self.poisoned = true;
        let written = self.write_rows(batch).await;
        self.end(written).await
    }

    /// Encodes a large batch one window at a time and sends each, so that not all of it is buffered.
    async fn write_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        for start in (0..rows).step_by(WINDOW_ROWS) {
            let end = rows.min(start + WINDOW_ROWS);
            self.writer.write_some(batch, start..end)?;
            self.uploads.pass_on(&self.outbox).await?;
        }
        Ok(())
    }

    /// Ends the current stripe, if it has rows, and passes it to the sink.
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write) that concern earlier rows; the writer is then unusable.
    pub async fn flush_stripe(&mut self) -> Result<()> {
        self.check_poisoned()?;
        self.poisoned = true;
        let flushed = match self.writer.flush_stripe() {
            Ok(()) => self.uploads.pass_on(&self.outbox).await,
            failed => failed,
        };
        self.end(flushed).await
    }

    /// Ends a call. If it failed, withdraws the data sent so far.
    async fn end(&mut self, done: Result<()>) -> Result<()> {
        match &done {
            Ok(()) => self.poisoned = false,
            // The first error is the one to report.
            Err(_) => drop(self.uploads.withdraw().await),
        }
        done
    }

    fn check_poisoned(&self) -> Result<()> {
        if self.poisoned {
            return Err(Error::new(
                ErrorKind::Poisoned,
                "an earlier call failed or was not waited for; drop the writer and start again",
            ));
        }
        Ok(())
    }

    /// Writes the remaining rows and completes the shard.
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write) that concern earlier rows. No shard exists then, unless the store
    /// completed the directory file and its response was lost: check before you write again.
    pub async fn finish(self) -> Result<ShardSummary> {
        let usable = self.check_poisoned();
        let mut uploads = self.uploads;
        let finished = match usable.and_then(|()| self.writer.finish()) {
            Ok(summary) => uploads.pass_on(&self.outbox).await.map(|()| summary),
            Err(e) => Err(e),
        };
        if finished.is_err() {
            drop(uploads.withdraw().await);
        }
        finished
    }

    /// Withdraws everything sent so far; no shard exists then. After a failed call, it retries what that call could not
    /// withdraw. A [`ShardWriter`] is dropped instead.
    ///
    /// # Errors
    /// Returns the errors of the sinks. Invisible data may then stay in the store.
    pub async fn abort(mut self) -> Result<()> {
        self.uploads.withdraw().await
    }
}

impl fmt::Debug for AsyncShardWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncShardWriter")
            .field("writer", &self.writer)
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

/// A file that is being written.
struct FileInProgress {
    /// The name of a stripe file; `None` for the directory file.
    name: Option<String>,
    sink: Box<dyn AsyncSink>,
    /// Whether its commit began.
    is_committed: bool,
}

impl FileInProgress {
    fn new(name: Option<String>, sink: Box<dyn AsyncSink>) -> Self {
        Self {
            name,
            sink,
            is_committed: false,
        }
    }
}

/// The files of a shard and the state of their uploads.
struct Uploads {
    factory: Option<Box<dyn AsyncSinkFactory>>,
    /// Files that are not complete, or whose completion is unknown, by artifact number.
    open: BTreeMap<u64, FileInProgress>,
    /// Names of stripe files that are complete, or may be.
    complete: Vec<String>,
    /// Whether the directory file, which refers to the stripe files, is visible or may be.
    may_be_visible: bool,
}

impl Uploads {
    fn memory_size(&self) -> usize {
        let open = self.open.values();
        open.map(|artifact| artifact.sink.memory_size()).sum()
    }

    fn artifact(&mut self, number: u64) -> Result<&mut FileInProgress> {
        let none = "the writer went on with an artifact that it had not begun";
        self.open
            .get_mut(&number)
            .ok_or_else(|| Error::invalid(none))
    }

    /// Replays the writer's file operations on the sinks of the store.
    async fn pass_on(&mut self, outbox: &Outbox) -> Result<()> {
        while let Some(event) = outbox.pop() {
            match event {
                Event::Create(number, name) => {
                    let none = "the writer has no place for stripe files";
                    let factory = self.factory.as_mut().ok_or_else(|| Error::invalid(none))?;
                    let sink = factory.create(&name).await?;
                    self.open
                        .insert(number, FileInProgress::new(Some(name), sink));
                }
                Event::Append(number, bytes) => {
                    self.artifact(number)?.sink.write_all(bytes).await?;
                }
                Event::Complete(number) => {
                    let artifact = self.artifact(number)?;
                    artifact.is_committed = true;
                    artifact.sink.commit().await?;
                    match self.open.remove(&number).and_then(|it| it.name) {
                        Some(name) => self.complete.push(name),
                        None => self.may_be_visible = true,
                    }
                }
            }
        }
        Ok(())
    }

    /// Deletes as much as possible of the data sent so far. If the directory file may be visible, the files that it
    /// refers to stay. The next call retries the deletions that failed.
    async fn withdraw(&mut self) -> Result<()> {
        for artifact in self.open.values_mut() {
            if std::mem::take(&mut artifact.is_committed) && artifact.sink.may_be_visible() {
                match artifact.name.take() {
                    Some(name) => self.complete.push(name),
                    None => self.may_be_visible = true,
                }
            }
        }
        let mut done = Ok(());
        let open: Vec<_> = self.open.keys().copied().collect();
        for number in open {
            match self.artifact(number)?.sink.abort().await {
                Ok(()) => drop(self.open.remove(&number)),
                failed => done = done.and(failed),
            }
        }
        if self.may_be_visible {
            return done;
        }
        let mut at = 0;
        while let (Some(name), Some(factory)) = (self.complete.get(at), &mut self.factory) {
            match factory.remove(name).await {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    done = done.and(Err(e));
                    at += 1;
                }
                _ => drop(self.complete.swap_remove(at)),
            }
        }
        done
    }
}
