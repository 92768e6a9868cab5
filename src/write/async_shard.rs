//! The writer of shards to stores that answer later.

use super::options::{Layout, WriterOptions};
use super::outbox::{Event, Outbox};
use super::settings::WINDOW;
use super::shard::ShardWriter;
use super::summary::ShardSummary;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::{AsyncSink, AsyncSinkFactory, Sink, SinkFactory, check_output_name};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::BTreeMap;
use std::fmt;

/// Writes RecordBatches to a shard behind an [`AsyncSink`], such as an object of a store.
///
/// A call encodes what is due, on the threads that [`WriterOptions::with_threads`] says, and gives it
/// to the sink, which may still be sending when the call returns. So memory is that of a
/// [`ShardWriter`], what one call encoded, and what the sink holds: see
/// [`memory_size`](Self::memory_size). Encoding takes place while a call is polled; a program whose
/// threads must not be kept waiting for it gives the writer a thread or task of its own.
///
/// With [`Layout::TwoLevel`], each stripe file is complete in the store as soon as it is written, and the
/// directory file comes last, so that a shard is visible as a whole or not at all.
///
/// A shard is valid once [`finish`](Self::finish) has returned. [`abort`](Self::abort) takes back what
/// was sent, and so does every call that fails. When a writer is dropped, its sinks take back what they
/// can; stripe files stay, and nothing refers to them. After a call that was dropped before it was done,
/// only `abort` works.
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
/// assert_eq!(summary.rows(), 3);
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
    /// A schema or options that cannot be used. [`Layout::TwoLevel`] needs a place for the stripe
    /// files: [`create_in`](Self::create_in).
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

    /// Writes a shard whose artifacts `factory` creates: the directory file `name` and, for
    /// [`Layout::TwoLevel`], a file per stripe.
    ///
    /// # Errors
    /// Those of the factory, [`InvalidArgument`](ErrorKind::InvalidArgument) for a name that is reserved for
    /// stripe files and temporary files, or a schema or options that cannot be used.
    pub async fn create_in(
        mut factory: Box<dyn AsyncSinkFactory>,
        name: &str,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        check_output_name(name).within(|| format!("file `{name}`"))?;
        let sink = factory.create_async(name).await?;
        Self::build(sink, Some(factory), schema, options)
    }

    /// Writes a shard to the object at `path`. Stripe files of a two-level shard are objects beside it.
    /// For parts of another size use [`create_in`](Self::create_in) with an
    /// [`ObjectFolder`](crate::io::ObjectFolder). Objects of more than a part, 8 MiB, need multipart
    /// uploads, which WebDAV ([`object_store::http`]) has not.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) unless the options say
    /// [`with_overwrite`](WriterOptions::with_overwrite), [`InvalidArgument`](ErrorKind::InvalidArgument) for a
    /// name that is reserved for stripe files and temporary files, those of the store, or a schema or options that
    /// cannot be used.
    #[cfg(feature = "object_store")]
    pub async fn create_object(
        store: std::sync::Arc<dyn object_store::ObjectStore>,
        path: &object_store::path::Path,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        let name = path.filename().unwrap_or_default();
        check_output_name(name).within(|| path.to_string())?;
        Self::create_part(store, path, schema, options).await
    }

    /// As [`create_object`](Self::create_object), under any name: of an object that another directory refers to.
    #[cfg(feature = "object_store")]
    pub(crate) async fn create_part(
        store: std::sync::Arc<dyn object_store::ObjectStore>,
        path: &object_store::path::Path,
        schema: SchemaRef,
        options: WriterOptions,
    ) -> Result<Self> {
        let folder = crate::io::ObjectFolder::of_object(store, path);
        let folder = folder.with_overwrite(options.overwrite());
        let sink = folder.create_object(path).await?;
        Self::build(Box::new(sink), Some(Box::new(folder)), schema, options)
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
                open: BTreeMap::from([(directory, Artifact::new(None, sink))]),
                complete: Vec::new(),
                may_be_visible: false,
            },
            poisoned: false,
        })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.writer.schema()
    }

    /// Bytes that the writer and its sinks hold in memory, about.
    pub fn memory_size(&self) -> usize {
        self.writer.memory_size() + self.outbox.memory_size() + self.uploads.memory_size()
    }

    /// Bytes given to sinks so far, of all files.
    pub fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }

    /// Rows that no sink has been given yet.
    pub fn in_progress_rows(&self) -> u64 {
        self.writer.in_progress_rows()
    }

    /// Appends the rows of a batch, whose columns must have the types of the schema, in its order.
    ///
    /// # Errors
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch), and then the writer can go on;
    /// [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) or a failure of the sink, and then not. Both
    /// may be of rows that an earlier call appended. With
    /// [`with_sorting_columns_checked`](WriterOptions::with_sorting_columns_checked) also
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for rows that are not in the declared order; the writer
    /// can go on.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_poisoned()?;
        self.writer.check_rows(batch)?;
        self.poisoned = true;
        let written = self.write_rows(batch).await;
        self.end(written).await
    }

    /// Encodes a large batch in pieces, so that not all of it waits for the sink.
    async fn write_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        for start in (0..rows).step_by(WINDOW) {
            let end = rows.min(start + WINDOW);
            self.writer.write_some(batch, start..end)?;
            self.uploads.pass_on(&self.outbox).await?;
        }
        Ok(())
    }

    /// Ends the current stripe, if it has rows, and gives it to the sink.
    ///
    /// # Errors
    /// Those of the sink; the writer cannot go on then.
    pub async fn flush_stripe(&mut self) -> Result<()> {
        self.check_poisoned()?;
        self.poisoned = true;
        let flushed = match self.writer.flush_stripe() {
            Ok(()) => self.uploads.pass_on(&self.outbox).await,
            failed => failed,
        };
        self.end(flushed).await
    }

    /// After a failure, takes back what was sent.
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

    /// Writes what is left, and makes the shard valid.
    ///
    /// # Errors
    /// Those of the sink. There is no shard then, unless the store has completed the directory file and
    /// its answer got lost: look before you write again.
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

    /// Takes back what was sent; there is no shard. After a call that failed, what it could not take back
    /// is tried again.
    ///
    /// # Errors
    /// Those of the sinks, which may then leave bytes that nobody sees.
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

/// An artifact that grows.
struct Artifact {
    /// That of a stripe file.
    name: Option<String>,
    sink: Box<dyn AsyncSink>,
    /// Whether its commit began.
    is_committed: bool,
}

impl Artifact {
    fn new(name: Option<String>, sink: Box<dyn AsyncSink>) -> Self {
        Self {
            name,
            sink,
            is_committed: false,
        }
    }
}

/// The artifacts of a shard, on their way.
struct Uploads {
    factory: Option<Box<dyn AsyncSinkFactory>>,
    /// Those that are not complete, or of which that is not known.
    open: BTreeMap<u64, Artifact>,
    /// Names of stripe files that are complete, or may be.
    complete: Vec<String>,
    /// Whether the directory file, which refers to the others, is visible or may be.
    may_be_visible: bool,
}

impl Uploads {
    fn memory_size(&self) -> usize {
        let open = self.open.values();
        open.map(|artifact| artifact.sink.memory_size()).sum()
    }

    fn artifact(&mut self, number: u64) -> Result<&mut Artifact> {
        let none = "the writer went on with an artifact that it had not begun";
        self.open
            .get_mut(&number)
            .ok_or_else(|| Error::invalid(none))
    }

    /// Does to the store's artifacts what was done to those of the writer.
    async fn pass_on(&mut self, outbox: &Outbox) -> Result<()> {
        while let Some(event) = outbox.pop() {
            match event {
                Event::Create(number, name) => {
                    let none = "the writer has no place for stripe files";
                    let factory = self.factory.as_mut().ok_or_else(|| Error::invalid(none))?;
                    let sink = factory.create_async(&name).await?;
                    self.open.insert(number, Artifact::new(Some(name), sink));
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

    /// Takes everything back, as far as that goes. Files that the directory refers to stay if it may be
    /// there. What could not be taken back is tried again by the next call.
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
            match factory.remove_async(name).await {
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
