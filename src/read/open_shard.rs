//! An open shard.

use super::filter::predicate::{BoundPredicate, Predicate, parse};
use super::scan_builder::ScanBuilder;
use super::shard::artifacts::Artifacts;
#[cfg(any(test, feature = "experimental"))]
use super::shard::fetch::StepBytes;
use super::shard::metadata::{Metadata, ready};
use super::shard::names::{FILE, FileNames, OBJECT};
use super::shard::options::ShardOptions;
use super::shard::projection::Projection;
use super::shard::store::ArtifactReader;
use super::shard::stored_types::StoredTypes;
use super::shard::waiting::{ready_now, ready_now_or};
use super::stripe::Stripe;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{
    DirectoryTail, FRAME_OVERHEAD, FormatVersion, HEADER_LEN, Message, Schema, ShardDirectory,
    Wire, open,
};
use crate::io::{
    AsyncContainer, AsyncReadAt, ByteRange, Container, DescriptorUse, FileContainer, InMemory,
    Location, NoContainer, OpenedFile, ReadAt,
};
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
use crate::io::{LocalFolder, MappedFile, MappedFolder};
#[cfg(feature = "object_store")]
use crate::io::{ObjectFolder, ObjectReader};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
#[cfg(feature = "object_store")]
use object_store::ObjectStore;
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Default length of the tail that opening reads from a near file.
const NEAR_TAIL_BYTES: u64 = 64 << 10;
/// Default length of the tail that opening reads from any other file.
const DISTANT_TAIL_BYTES: u64 = 512 << 10;

/// An open shard. Opening reads the tail of the directory file. Other metadata are read when they are
/// first needed; all clones share them.
///
/// ```no_run
/// use arrow_shard::Shard;
/// let shard = Shard::open("flights.amudai.shard")?;
/// println!("{} rows of {:?}", shard.num_rows(), shard.schema()?);
/// for batch in shard.scan().with_projection(["origin", "delay"]).build()? {
///     println!("{} rows", batch?.num_rows());
/// }
/// let rows = shard.take(&[7, 1_000, 1_001], ["origin"])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Shard {
    pub(in crate::read) metadata: Arc<Metadata>,
}

impl Shard {
    /// Opens the shard with its directory file at a location: the path of a local file, or a file of a
    /// [`Store`](crate::io::Store). The other files of the shard must be in its folder or below, except for Parquet
    /// files in folders that the [options](ShardOptions::with_external_files) allow.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), [`NotAShard`](crate::ErrorKind::NotAShard) or
    /// [`UnsupportedVersion`](crate::ErrorKind::UnsupportedVersion). Also fails if the file is damaged, and with
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the store is asynchronous: use
    /// [`open_async`](Self::open_async).
    pub fn open(shard: impl Into<Location>) -> Result<Self> {
        Self::open_with(shard, ShardOptions::default())
    }

    /// Opens the shard with its directory file at a location, with options.
    ///
    /// # Errors
    /// Returns the same errors as [`open`](Self::open).
    pub fn open_with(shard: impl Into<Location>, options: ShardOptions) -> Result<Self> {
        let shard = shard.into();
        shard
            .store()
            .check_near("Shard::open_async or open_with_async")?;
        ready_now(Self::of_opened(shard.open(DescriptorUse::Open)?, options))
    }

    /// Opens a shard that is one of many: its file does not stay open, but is reopened for reads. Any number of shards
    /// share a few file descriptors, see [`PooledFile`](crate::io::PooledFile).
    ///
    /// A shard from [`open`](Self::open) keeps reading the directory file that it opened, even if another file replaces
    /// it. Reads of a pooled shard then fail with [`Replaced`](crate::ErrorKind::Replaced). The stripe files of a
    /// local shard are pooled either way. This has no asynchronous form, because only local files can be pooled.
    ///
    /// # Errors
    /// Returns the same errors as [`open`](Self::open).
    #[cfg(not(target_family = "wasm"))]
    pub fn open_pooled(shard: impl Into<Location>, options: ShardOptions) -> Result<Self> {
        let shard = shard.into();
        shard.store().check_near("Shard::open_with_async")?;
        ready_now(Self::of_opened(shard.open(DescriptorUse::Pooled)?, options))
    }

    /// Opens the shard with its directory file at a location, in any store: the asynchronous form of
    /// [`open`](Self::open). See [`from_async_reader`](Self::from_async_reader) for the methods that work with a shard
    /// in an asynchronous store.
    ///
    /// # Errors
    /// Returns the same errors as [`from_reader`](Self::from_reader).
    pub async fn open_async(shard: impl Into<Location>) -> Result<Self> {
        Self::open_with_async(shard, ShardOptions::default()).await
    }

    /// Opens the shard with its directory file at a location, with options: [`open_with`](Self::open_with) for any
    /// store.
    ///
    /// # Errors
    /// Returns the same errors as [`from_reader`](Self::from_reader).
    pub async fn open_with_async(
        shard: impl Into<Location>,
        options: ShardOptions,
    ) -> Result<Self> {
        Self::of_opened(shard.into().open(DescriptorUse::Open)?, options).await
    }

    /// Opens a shard through memory maps of the directory file and of the files that it refers to. Buffers of the
    /// profile `Plain` then become Arrow arrays without a copy. This has no asynchronous form: a map is read when its
    /// memory is used.
    ///
    /// # Errors
    /// Returns the same errors as [`open`](Self::open).
    ///
    /// # Safety
    /// While the shard, or an array read from it, is alive, no process may truncate or change its files. Each file is
    /// mapped when it is first read.
    #[cfg(all(feature = "mmap", not(target_family = "wasm")))]
    #[expect(
        unsafe_code,
        reason = "a memory map is only as safe as the file is left alone"
    )]
    pub unsafe fn open_mmap(path: impl AsRef<Path>, options: ShardOptions) -> Result<Self> {
        let path = path.as_ref();
        let (target, folder) = find(path)?;
        // SAFETY: the caller promises for all files of the shard that no process truncates or changes them; no other
        // file is opened in the folder.
        let (file, folder) = unsafe { (MappedFile::open(target)?, MappedFolder::new(folder)) };
        let file = file.with_name(path.display().to_string());
        Self::from_reader(Arc::new(file), Arc::new(folder), options)
    }

    /// Opens a single-file shard in memory.
    ///
    /// # Errors
    /// Fails if the bytes are not a shard, are damaged, or are not supported.
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        Self::from_bytes_with(bytes, ShardOptions::default())
    }

    /// Opens a single-file shard in memory, with options.
    ///
    /// # Errors
    /// Returns the same errors as [`from_bytes`](Self::from_bytes).
    pub fn from_bytes_with(bytes: Bytes, options: ShardOptions) -> Result<Self> {
        Self::from_reader(Arc::new(bytes), Arc::new(NoContainer), options)
    }

    /// Opens a shard in memory that has the schema of a file of another format, for predicates on that file. Messages
    /// of errors name the file.
    pub(crate) fn of_file_schema(bytes: Bytes) -> Result<Self> {
        let names = FileNames::of_file_schema();
        Self::build(
            names,
            Arc::new(bytes),
            Arc::new(NoContainer),
            ShardOptions::default(),
        )
    }

    /// Opens the shard with a directory file behind `reader`, and the other files in `container`.
    ///
    /// # Errors
    /// Returns the errors of the reader. Fails if the bytes are not a shard, are damaged, or are not supported.
    pub fn from_reader(
        reader: Arc<dyn ReadAt>,
        container: Arc<dyn Container>,
        options: ShardOptions,
    ) -> Result<Self> {
        let names = FileNames::new(reader.name(), container.base(), FILE);
        Self::build(names, reader, container, options)
    }

    /// Opens a file of a store.
    pub(crate) async fn of_opened(opened: OpenedFile, options: ShardOptions) -> Result<Self> {
        match opened {
            OpenedFile::Blocking(reader, container) => {
                Self::from_reader(reader, container, options)
            }
            OpenedFile::Async(reader, container) => {
                Self::from_async_reader(reader, container, options).await
            }
        }
    }

    /// Opens a table of several shards from its directory, which is in memory. Their files are in `files`, the folder
    /// with this name. `stored_types` are the fields that are stored with another type than the table has.
    pub(crate) async fn of_table(
        directory: Bytes,
        stored_types: StoredTypes,
        folder: String,
        files: FileContainer,
        options: ShardOptions,
    ) -> Result<Self> {
        // The tail covers the whole directory, so nothing is fetched in addition.
        let options = options.with_tail_bytes(directory.len() as u64);
        let (noun, reader) = match &files {
            FileContainer::Blocking(_) => (FILE, ArtifactReader::Blocking(Arc::new(directory))),
            FileContainer::Async(_) => {
                (OBJECT, ArtifactReader::Async(Arc::new(InMemory(directory))))
            }
        };
        let names = FileNames::of_table(folder, noun);
        let base = None;
        Self::open_typed(names, reader, files, base, options, stored_types).await
    }

    /// Opens the shard with a directory file behind `reader`, which does not block. Opening takes one request, or two
    /// for a directory larger than [`tail_bytes`](ShardOptions::with_tail_bytes).
    ///
    /// Then use the asynchronous methods: [`ScanBuilder::build_stream`], [`take_async`](Self::take_async),
    /// [`verify_async`](Self::verify_async) and so on. The blocking methods never wait for bytes:
    ///
    /// | blocking method | result for a shard behind an asynchronous reader |
    /// |-|-|
    /// | [`num_rows`](Self::num_rows), [`num_deleted_rows`](Self::num_deleted_rows), [`num_stripes`](Self::num_stripes), [`wire`](Self::wire) | work: opening has read the bytes |
    /// | [`schema`](Self::schema), [`schema_nodes`](Self::schema_nodes), [`parse_predicate`](Self::parse_predicate) | work once [`schema_async`](Self::schema_async) has returned |
    /// | [`properties`](Self::properties), [`property`](Self::property), [`sorting_columns`](Self::sorting_columns), [`writers`](Self::writers) | work once [`properties_async`](Self::properties_async) or `schema_async` has returned |
    /// | [`stripes`](Self::stripes), [`ScanBuilder::split`] | work once [`stripes_async`](Self::stripes_async) has returned |
    /// | all other methods: [`ScanBuilder::build`], [`take`](Self::take), [`verify`](Self::verify), [`inspect`](Self::inspect), ... | fail |
    ///
    /// They fail at once, with [`InvalidArgument`](crate::ErrorKind::InvalidArgument), even if the tail already
    /// contains the bytes that they need: whether a method works does not depend on the size of the shard.
    ///
    /// # Errors
    /// Returns the same errors as [`from_reader`](Self::from_reader).
    pub async fn from_async_reader(
        reader: Arc<dyn AsyncReadAt>,
        container: Arc<dyn AsyncContainer>,
        options: ShardOptions,
    ) -> Result<Self> {
        // A reader without a name need not read an object.
        let noun = if reader.name().is_some() {
            OBJECT
        } else {
            FILE
        };
        let names = FileNames::new(reader.name(), None, noun);
        let (reader, files) = (
            ArtifactReader::Async(reader),
            FileContainer::Async(container),
        );
        Self::open_at(names, reader, files, None, options).await
    }

    /// Opens the shard with the directory file at `path` in an object store: [`open_with_async`](Self::open_with_async)
    /// without a [`Store`](crate::io::Store). It has no blocking form, because object stores are asynchronous. The
    /// other files of the shard must be in its folder or below. See [`from_async_reader`](Self::from_async_reader) for
    /// the methods that work with such a shard.
    ///
    /// Ranges less than 1 MiB apart share a request. Each window of rows is fetched by at most 16 requests for an
    /// object at a time.
    ///
    /// ```
    /// # use arrow_shard::{Shard, write::ShardWriter};
    /// # use arrow_array::{ArrayRef, Int32Array, RecordBatch};
    /// use arrow_shard::read::ShardOptions;
    /// use futures::TryStreamExt;
    /// use object_store::{ObjectStoreExt, memory::InMemory, path::Path};
    /// use std::sync::Arc;
    /// # futures::executor::block_on(async {
    /// # let ids = Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let mut file = Vec::new();
    /// # let mut writer = ShardWriter::try_new(&mut file, batch.schema(), Default::default())?;
    /// # writer.write(&batch)?;
    /// # writer.finish()?;
    /// let store = Arc::new(InMemory::new());
    /// let path = Path::from("tables/flights.amudai.shard");
    /// # store.put(&path, file.into()).await?;
    /// let shard = Shard::open_object(store, &path, ShardOptions::default()).await?;
    /// let stream = shard.scan().with_projection(["id"]).build_stream().await?;
    /// let batches: Vec<RecordBatch> = stream.try_collect().await?;
    /// # assert_eq!(batches[0], batch);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`from_reader`](Self::from_reader).
    #[cfg(feature = "object_store")]
    pub async fn open_object(
        store: Arc<dyn ObjectStore>,
        path: &object_store::path::Path,
        options: ShardOptions,
    ) -> Result<Self> {
        let folder = ObjectFolder::of_object(store.clone(), path);
        let reader = ObjectReader::new(store, path.clone());
        Self::from_async_reader(Arc::new(reader), Arc::new(folder), options).await
    }

    fn build(
        names: FileNames,
        reader: Arc<dyn ReadAt>,
        container: Arc<dyn Container>,
        options: ShardOptions,
    ) -> Result<Self> {
        let base = container.base();
        let (reader, files) = (
            ArtifactReader::Blocking(reader),
            FileContainer::Blocking(container),
        );
        ready_now(Self::open_at(names, reader, files, base, options))
    }

    async fn open_at(
        names: FileNames,
        reader: ArtifactReader,
        files: FileContainer,
        base: Option<String>,
        options: ShardOptions,
    ) -> Result<Self> {
        let stored_types = StoredTypes::default();
        Self::open_typed(names, reader, files, base, options, stored_types).await
    }

    async fn open_typed(
        names: FileNames,
        reader: ArtifactReader,
        files: FileContainer,
        base: Option<String>,
        options: ShardOptions,
        stored_types: StoredTypes,
    ) -> Result<Self> {
        let place = || names.place_of(None);
        let default = if reader.is_near() {
            NEAR_TAIL_BYTES
        } else {
            DISTANT_TAIL_BYTES
        };
        let tail_bytes = options.tail_bytes().unwrap_or(default);
        let tail_bytes = tail_bytes.max(DirectoryTail::LEN as u64);
        let (tail, size) = reader.tail(tail_bytes).await.within(place)?;
        let directory = read_directory(&reader, size, &tail, &options).await;
        let (wire, directory) = directory.within(place)?;
        let artifacts = Artifacts::new(names, reader, size, tail, files, base, options);
        Ok(Self {
            metadata: Arc::new(Metadata::new(artifacts, wire, directory, stored_types)),
        })
    }

    /// Runs a step to its end.
    #[cfg(any(test, feature = "experimental"))]
    pub(in crate::read) fn drive<T>(
        &self,
        step: impl FnMut(&StepBytes<'_>) -> Result<Option<T>>,
    ) -> Result<T> {
        self.metadata.drive(step)
    }

    /// Returns the number of rows without the deleted ones.
    pub fn num_rows(&self) -> u64 {
        self.metadata.directory.total_record_count - self.num_deleted_rows()
    }

    /// Returns the number of deleted rows. They keep their row numbers, so all row numbers are below `num_rows() +
    /// num_deleted_rows()`.
    pub fn num_deleted_rows(&self) -> u64 {
        self.metadata.directory.deleted_record_count
    }

    /// Returns the number of stripes.
    pub fn num_stripes(&self) -> u64 {
        self.metadata.directory.stripe_count
    }

    /// Returns the dialect of the metadata.
    pub fn wire(&self) -> Wire {
        self.metadata.wire
    }

    /// Returns the Arrow schema of a scan of all columns.
    ///
    /// # Errors
    /// Fails if the schema is damaged or not supported.
    pub fn schema(&self) -> Result<SchemaRef> {
        ready_now_or("`schema_async`", self.schema_async())
    }

    /// Returns the Arrow schema of a scan of all columns, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`schema`](Self::schema).
    pub async fn schema_async(&self) -> Result<SchemaRef> {
        self.metadata
            .run(|step| self.metadata.arrow_schema(step))
            .await
    }

    /// Returns the schema as it is stored, internal fields included.
    pub(crate) async fn stored_schema(&self) -> Result<Schema> {
        let schema = self.metadata.run(|step| {
            let schema = ready!(self.metadata.schema(step));
            let fields = (0..schema.len())
                .map(|i| schema.field(i))
                .collect::<Result<_>>()?;
            Ok(Some(Schema { fields }))
        });
        schema.await
    }

    /// Returns all stripes, in order.
    ///
    /// # Errors
    /// Fails if the list of stripes is damaged.
    pub fn stripes(&self) -> Result<Vec<Stripe>> {
        ready_now_or("`stripes_async`", self.stripes_async())
    }

    /// Returns all stripes of a shard behind an asynchronous reader, in order.
    ///
    /// # Errors
    /// Returns the same errors as [`stripes`](Self::stripes).
    pub async fn stripes_async(&self) -> Result<Vec<Stripe>> {
        let directories = self.metadata.run(|step| {
            let stripes = ready!(self.metadata.stripes(step));
            Ok(Some(stripes.to_vec()))
        });
        let stripes = (0..).zip(directories.await?);
        Ok(stripes
            .map(|(ordinal, directory)| Stripe::new(self.metadata.clone(), ordinal, directory))
            .collect())
    }

    /// Starts to build a scan of the rows, in order.
    pub fn scan(&self) -> ScanBuilder {
        ScanBuilder::new(self.metadata.clone())
    }

    /// Parses a condition on the rows of this shard, in the grammar of [`Predicate`]'s `FromStr`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the text is not a condition,
    /// [`UnknownColumn`](crate::ErrorKind::UnknownColumn), or [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) for
    /// a literal that cannot be compared with its column. Each of these names the character. Also fails if the schema
    /// is damaged.
    pub fn parse_predicate(&self, text: &str) -> Result<Predicate> {
        parse(text, &|part| {
            let bound = self
                .metadata
                .run(|step| BoundPredicate::load(&self.metadata, step, part));
            ready_now_or("`parse_predicate_async`", bound).map(drop)
        })
    }

    /// Parses a condition on the rows of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`parse_predicate`](Self::parse_predicate).
    pub async fn parse_predicate_async(&self, text: &str) -> Result<Predicate> {
        // The stored schema is all that the checks need; other columns may be of unsupported types.
        let none = Projection::Indices(Vec::new());
        let load = self.metadata.run(|step| self.metadata.columns(step, &none));
        load.await?;
        self.parse_predicate(text)
    }

    /// Returns the rows with these numbers, in this order; a number may be repeated. To get other types or the row
    /// numbers, use [`ScanBuilder::take`].
    ///
    /// # Errors
    /// [`RowOutOfRange`](crate::ErrorKind::RowOutOfRange) for a row that does not exist or is deleted,
    /// [`UnknownColumn`](crate::ErrorKind::UnknownColumn), [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn), or
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded). Also fails if the data are damaged.
    pub fn take(&self, rows: &[u64], projection: impl Into<Projection>) -> Result<RecordBatch> {
        self.scan().with_projection(projection).take(rows)
    }

    /// Returns the rows with these numbers, in this order, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`take`](Self::take).
    pub async fn take_async(
        &self,
        rows: &[u64],
        projection: impl Into<Projection>,
    ) -> Result<RecordBatch> {
        let scan = self.scan().with_projection(projection);
        scan.take_async(rows).await
    }
}

/// Returns the directory file that a path leads to, and the folder where its references start: the folder of the file
/// itself, not of a symbolic link to it.
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
fn find(path: &Path) -> Result<(PathBuf, LocalFolder)> {
    let target = path.canonicalize().map_err(Error::from);
    let target = target.within(|| format!("file `{}`", path.display()))?;
    let folder = LocalFolder::of_file(&target)?;
    Ok((target, folder))
}

async fn read_directory(
    reader: &ArtifactReader,
    size: u64,
    tail: &Bytes,
    options: &ShardOptions,
) -> Result<(Wire, ShardDirectory)> {
    let tail_start = size - tail.len() as u64;
    let range = match DirectoryTail::locate(tail, size, options.limits()) {
        // A reader that skips files of other kinds must not skip a shard that was truncated.
        Err(e) if e.kind() == ErrorKind::NotAShard && tail_start > 0 => {
            let header = ByteRange::with_len(0, HEADER_LEN as u64)?;
            let head = reader.one(header).await?;
            let end = &tail[tail.len().saturating_sub(HEADER_LEN)..];
            return Err(DirectoryTail::no_footer(&head, end));
        }
        found => found?,
    };
    if tail_start == 0
        && let Some(header) = tail.get(..HEADER_LEN)
    {
        FormatVersion::parse(header, "header").map_err(|error| match error.kind() {
            // The footer is a shard's, so the header must have been damaged.
            ErrorKind::NotAShard => {
                Error::corrupt(format!("{}: the file was damaged", error.message()))
            }
            _ => error,
        })?;
    }
    // A data file of a stripe may end with zeros before its footer, which look like an empty directory.
    if range.len() <= FRAME_OVERHEAD as u64 {
        return Err(Error::corrupt(
            "the file has no directory: it is no directory file (data files of stripes have the same footer)",
        ));
    }
    let frame = if range.start() >= tail_start {
        let inside = ByteRange::try_new(range.start() - tail_start, range.end() - tail_start)?;
        tail.slice(inside.within_size(tail.len() as u64)?.to_usize()?)
    } else {
        reader.one(range).await?
    };
    let name = || "shard directory".to_owned();
    let payload = open(&frame).within(name)?;
    let wire = ShardDirectory::detect_wire(payload).within(name)?;
    let directory = ShardDirectory::decode(payload, wire, options.limits()).within(name)?;
    Ok((wire, directory))
}
