//! Stores of shards: a local folder, the objects below a prefix, or memory.
//!
//! A store has one implementation of [`Home`], which is all that an operation on files of shards knows of it.

#[cfg(not(target_family = "wasm"))]
mod local;
mod memory;
mod now_sink;
#[cfg(feature = "object_store")]
mod object;
#[cfg(all(feature = "object_store", not(target_family = "wasm")))]
mod url;

#[cfg(all(feature = "object_store", not(target_family = "wasm")))]
pub use url::UrlStores;

use self::now_sink::NowSinkFactory;
use super::place::Place;
use super::{
    AsyncContainer, AsyncReadAt, AsyncSink, AsyncSinkFactory, BoxFuture, Container, ExistingFile,
    FileCount, MemoryFolder, ReadAt, SinkFactory,
};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::SystemTime;

/// A store of shards: local files, an object store, or memory. Clones refer to the same store.
///
/// A [`Location`] is a file or a folder of a store. Functions that take an `impl Into<Location>` also take the path of
/// a local file:
///
/// ```
/// # use arrow_shard::ShardWriter;
/// # use arrow_shard::arrow_array::record_batch;
/// # let folder = tempfile::tempdir()?;
/// # let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
/// # let mut writer = ShardWriter::create(folder.path().join("a.amudai.shard"), batch.schema())?;
/// # writer.write(&batch)?;
/// # writer.finish()?;
/// # std::fs::copy(folder.path().join("a.amudai.shard"), folder.path().join("b.amudai.shard"))?;
/// use arrow_shard::io::Store;
/// use arrow_shard::ops::merge;
/// let days = Store::folder(folder.path())?;
/// let merged = merge([days.at("a.amudai.shard"), days.at("b.amudai.shard")], days.at("ab.amudai.shard"))?;
/// assert_eq!(merged.num_rows(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Store {
    home: Arc<dyn Home>,
    /// The identity that the caller has set.
    id: Option<Arc<str>>,
}

impl Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.home).finish()
    }
}

impl Store {
    /// Returns the files of this machine. Names are paths, absolute or relative to the current folder.
    #[cfg(not(target_family = "wasm"))]
    pub fn local() -> Self {
        Self::of(local::LocalHome::default())
    }

    /// Returns the files of a local folder and its subfolders. Names are relative paths; a name that leads out of the
    /// folder is the error [`ForbiddenUrl`](ErrorKind::ForbiddenUrl).
    ///
    /// # Errors
    /// Returns [`NotFound`](ErrorKind::NotFound) if the folder does not exist, or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if it is a file.
    #[cfg(not(target_family = "wasm"))]
    pub fn folder(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Ok(Self::of(local::LocalHome::below(path.as_ref())?))
    }

    /// Returns the objects of a store. Names are paths in the store.
    ///
    /// Two values that are made of the same `Arc` are the same store, and shards in them can be merged.
    #[cfg(feature = "object_store")]
    pub fn object(store: Arc<dyn object_store::ObjectStore>) -> Self {
        Self::object_below(store, object_store::path::Path::default())
    }

    /// Returns the objects of a store below the folder `prefix`. Names are relative to the prefix.
    #[cfg(feature = "object_store")]
    pub fn object_below(
        store: Arc<dyn object_store::ObjectStore>,
        prefix: object_store::path::Path,
    ) -> Self {
        Self::of(object::ObjectHome::new(store, prefix))
    }

    /// Returns the files of a folder in memory. Names may contain `/`. Memory keeps no times, so a vacuum treats
    /// every file as old: do not run one while a shard is written.
    pub fn memory(folder: MemoryFolder) -> Self {
        Self::of(memory::MemoryHome(folder))
    }

    fn of(home: impl Home + 'static) -> Self {
        Self {
            home: Arc::new(home),
            id: None,
        }
    }

    /// Sets the identity of the store. Stores with the same identity are the same store, even if each has its own
    /// client: the URL of a bucket is a good identity.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        self.id = Some(id.into());
        self
    }

    pub(crate) fn id(&self) -> String {
        match &self.id {
            Some(id) => id.to_string(),
            None => self.home.id(),
        }
    }

    /// Returns the location of a file or a folder of this store.
    pub fn at(&self, name: impl AsRef<OsStr>) -> Location {
        Location {
            store: self.clone(),
            name: name.as_ref().to_owned(),
        }
    }

    /// Returns the location of the whole store.
    pub fn root(&self) -> Location {
        self.at("")
    }

    /// Returns whether the store is blocking, as local files and memory are, and not asynchronous, as object stores
    /// are. The blocking functions of [`ops`](crate::ops) require a blocking store; the `_async` functions work with
    /// any store. On a blocking store, an `_async` function does all of its work in one poll: call it where a task may
    /// block.
    pub fn is_near(&self) -> bool {
        self.home.is_near()
    }

    /// Returns whether both are the same store, so that a shard of one can refer to files of the other. All local files
    /// are one store, whatever their folder.
    pub fn is_same(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    pub(crate) fn home(&self) -> &dyn Home {
        &*self.home
    }

    /// Fails for an asynchronous store, because a blocking function cannot wait for its answers.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument), which recommends the function `instead`.
    pub(crate) fn check_near(&self, instead: &str) -> Result<()> {
        if self.is_near() {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the store is asynchronous, and this function does not wait; use `{instead}`"
        )))
    }

    /// Fails if the other location is not in this store.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument).
    pub(crate) fn check_same(&self, other: &Location) -> Result<()> {
        if self.is_same(&other.store) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "expected shards of one store: `{other}` is in another, and a shard refers to no other"
        )))
    }
}

/// A file or a folder of a [`Store`]. The path of a local file converts into its location. Any text is treated as a
/// path; for a URL such as `s3://bucket/name`, use `Location::from_url`.
#[derive(Debug, Clone)]
pub struct Location {
    store: Store,
    name: OsString,
}

impl Location {
    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the name in the store: for local files, a path.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the location of a file or folder below this folder.
    pub fn join(&self, name: impl AsRef<OsStr>) -> Self {
        self.store
            .at(self.store.home.join(&self.name, name.as_ref()))
    }

    /// Returns the object store and the path in it, if this is an object.
    #[cfg(feature = "object_store")]
    pub fn object(&self) -> Option<(Arc<dyn object_store::ObjectStore>, object_store::path::Path)> {
        self.store.home.object(&self.name)
    }

    /// Returns the path, if this is a local file.
    #[cfg(not(target_family = "wasm"))]
    pub fn path(&self) -> Option<std::path::PathBuf> {
        self.store.home.path(&self.name)
    }

    /// Opens the file, with this name in its errors.
    pub(crate) fn open(&self, held: DescriptorUse) -> Result<OpenedFile> {
        self.store.home.open_by_name(&self.name, held)
    }

    pub(crate) fn home(&self) -> &dyn Home {
        &*self.store.home
    }

    /// Whether a file at this location that failed to open with `error` is of another format, and can be skipped.
    pub(crate) fn is_of_another_kind(&self, error: &Error) -> bool {
        super::place::is_of_another_kind(&self.name.to_string_lossy(), error)
    }
}

/// Locations are equal if they are the same path in the same store.
impl PartialEq for Location {
    fn eq(&self, other: &Self) -> bool {
        let name = |location: &Self| location.home().full_name(&location.name);
        self.store.is_same(&other.store) && name(self) == name(other)
    }
}

impl Eq for Location {}

/// Shows the name.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name.to_string_lossy())
    }
}

impl From<&Location> for Location {
    fn from(location: &Location) -> Self {
        location.clone()
    }
}

#[cfg(not(target_family = "wasm"))]
impl<P: AsRef<std::path::Path>> From<P> for Location {
    fn from(path: P) -> Self {
        Store::local().at(path.as_ref())
    }
}

/// An open file, and the container of the other files in its folder.
#[derive(Debug)]
pub(crate) enum OpenedFile {
    Blocking(Arc<dyn ReadAt>, Arc<dyn Container>),
    #[cfg_attr(
        not(feature = "object_store"),
        expect(dead_code, reason = "object stores are asynchronous")
    )]
    Async(Arc<dyn AsyncReadAt>, Arc<dyn AsyncContainer>),
}

/// Whether an open file keeps its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DescriptorUse {
    /// It is read even after another file has replaced it.
    Open,
    /// It is one of many, and opened again when it is read.
    Pooled,
}

/// Where new files of a shard are created.
pub(crate) enum Sinks {
    Blocking(Box<dyn SinkFactory>),
    #[cfg_attr(
        not(feature = "object_store"),
        expect(dead_code, reason = "object stores are asynchronous")
    )]
    Async(Box<dyn AsyncSinkFactory>),
}

impl Sinks {
    /// Returns the sinks as asynchronous ones.
    pub(crate) fn into_async(self) -> Box<dyn AsyncSinkFactory> {
        match self {
            Self::Blocking(sinks) => Box::new(NowSinkFactory(sinks)),
            Self::Async(sinks) => sinks,
        }
    }
}

/// Where a new shard is written.
pub(crate) struct ShardSinks {
    pub(crate) directory: Box<dyn AsyncSink>,
    /// Creates the data files in the folder of the directory file.
    pub(crate) data: Box<dyn AsyncSinkFactory>,
}

/// A file of a source, with its version when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionedFile {
    pub(crate) place: Place,
    pub(crate) version: Option<String>,
}

impl VersionedFile {
    /// Returns the error for a file that was replaced after it was opened.
    pub(crate) fn conflict(&self) -> Error {
        Error::new(
            ErrorKind::Conflict,
            format!(
                "`{}` was replaced or removed meanwhile; open it again and repeat the change",
                self.place
            ),
        )
    }
}

/// A file that needs another name for its buffers, because another directory may replace it.
#[derive(Debug, Clone)]
pub(crate) struct FileToKeep {
    pub(crate) file: VersionedFile,
    /// The new name, in the same folder.
    pub(crate) name: String,
}

/// The files of a changed shard.
#[derive(Debug)]
pub(crate) struct NewFiles {
    /// The content of the directory file.
    pub(crate) directory: Bytes,
    /// New files next to the directory file.
    pub(crate) others: Vec<(String, Bytes)>,
    /// Files that get a second name.
    pub(crate) kept: Vec<FileToKeep>,
    /// Files that the directory refers to by their own names, and that must not have been replaced.
    #[cfg_attr(
        not(feature = "object_store"),
        expect(dead_code, reason = "only objects keep their names")
    )]
    pub(crate) as_they_are: Vec<VersionedFile>,
}

/// The second names that a write has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SecondNames {
    pub(crate) linked: FileCount,
    pub(crate) cloned: FileCount,
    pub(crate) copied: FileCount,
}

/// The error of a directory that was not written, as far as the client knows.
#[derive(Debug)]
pub(crate) struct NotWritten {
    pub(crate) error: Error,
    /// Whether the directory may exist nevertheless: a store may have completed the request before it failed. The
    /// files that the directory refers to must stay then.
    pub(crate) may_be_there: bool,
}

impl From<Error> for NotWritten {
    fn from(error: Error) -> Self {
        Self {
            error,
            may_be_there: false,
        }
    }
}

impl From<NotWritten> for Error {
    fn from(failed: NotWritten) -> Self {
        failed.error
    }
}

/// The present state of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileState {
    pub(crate) bytes: u64,
    pub(crate) version: Option<String>,
}

/// A file in a listing.
#[derive(Debug, Clone)]
pub(crate) struct ListedFile {
    pub(crate) place: Place,
    pub(crate) bytes: u64,
    /// The time when the file was written or got its name, whichever is later.
    pub(crate) changed: SystemTime,
    /// Differs for another file of the same name.
    pub(crate) version: Option<String>,
    /// Whether this is the target of a link, which must not be removed by the name of the link.
    pub(crate) is_link: bool,
    /// Whether this is a temporary file that no writer has open.
    pub(crate) is_abandoned: bool,
}

/// The identity of a file, for files that may have several names.
#[derive(Debug)]
pub(crate) struct FileId {
    /// The same text for all names of a file.
    pub(crate) id: String,
    /// The size and the time of the last change, if files can be clones of others.
    pub(crate) version: Option<(u64, SystemTime)>,
}

/// A kind of store.
///
/// Names are paths of the operating system or of an object store, as callers write them. A [`Place`] is a name that has
/// been resolved to the names from the root of the store.
pub(crate) trait Home: Send + Sync + Debug {
    /// Whether every answer comes at once.
    fn is_near(&self) -> bool;

    /// Whether files can have a second name. Otherwise, no directory file with rows is ever replaced.
    fn has_second_names(&self) -> bool;

    /// Returns the identity of the store.
    fn id(&self) -> String;

    /// Returns the name of a file below a folder.
    fn join(&self, folder: &OsStr, name: &OsStr) -> OsString;

    /// Returns the place of the folder with these names on its path.
    fn folder(&self, names: &[OsString]) -> Place;

    /// Returns the name of a place.
    fn name_of(&self, place: &Place) -> OsString;

    /// Returns a name with the folder of the store before it.
    fn full_name(&self, name: &OsStr) -> OsString;

    /// Returns the place of an existing file.
    fn find(&self, name: &OsStr) -> Result<Place>;

    /// Returns the place of a shard that is to be written. The name must not be reserved.
    fn find_new(&self, name: &OsStr) -> Result<Place>;

    /// Returns the description of a folder for errors.
    fn describe_folder(&self, name: &OsStr) -> String;

    /// Returns the place of a reference, after following links on its path. `None` if it does not exist, as far as
    /// the store tells without a request.
    fn resolve(&self, place: Place) -> Option<Place>;

    /// Opens a file. If the store is asynchronous, a missing file is an error of the first read.
    fn open(&self, file: &Place, held: DescriptorUse) -> Result<OpenedFile>;

    /// Opens a file by its name, which errors show.
    fn open_by_name(&self, name: &OsStr, held: DescriptorUse) -> Result<OpenedFile> {
        self.open(&self.find(name)?, held)
    }

    /// Returns the container of the files in a folder, given by the names on its path.
    fn container(&self, folder: &[OsString]) -> Result<FileContainer>;

    /// Returns the sinks of data files in the folder of a directory file.
    fn sinks(&self, beside: &Place) -> Result<Sinks>;

    /// Returns the sink of a single file. The name must not be reserved.
    fn sink<'a>(
        &'a self,
        name: &'a OsStr,
        existing: ExistingFile,
    ) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>>;

    /// Returns the sinks of a new shard. The name must not be reserved.
    fn shard_sinks<'a>(
        &'a self,
        name: &'a OsStr,
        overwrite: bool,
    ) -> BoxFuture<'a, Result<ShardSinks>>;

    /// Writes the files of a shard, the directory last. After an error, new files are removed, unless the directory may
    /// be there.
    fn write<'a>(
        &'a self,
        target: &'a Place,
        existing: ExistingFile,
        files: NewFiles,
    ) -> BoxFuture<'a, Result<SecondNames, NotWritten>>;

    /// Returns the current state of a file, or `None` if it does not exist.
    fn look<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<Option<FileState>>>;

    /// Returns the names of the files in a folder, without subfolders.
    fn names<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<OsString>>>;

    /// Returns the files below a folder.
    fn list<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<ListedFile>>>;

    /// Removes a file. Another process may have removed it already.
    fn remove<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<()>>;

    /// Returns the identity of a file. A place is its only name by default.
    fn file_id(&self, file: &Place) -> FileId {
        FileId {
            id: file.to_string(),
            version: None,
        }
    }

    /// Returns the object store and the path of an object in it.
    #[cfg(feature = "object_store")]
    fn object(
        &self,
        _name: &OsStr,
    ) -> Option<(Arc<dyn object_store::ObjectStore>, object_store::path::Path)> {
        None
    }

    /// Returns the path of a local file.
    #[cfg(not(target_family = "wasm"))]
    fn path(&self, _name: &OsStr) -> Option<std::path::PathBuf> {
        None
    }

    /// Returns the last bytes of a file whose [`FileId`] has a version: clones and copies have the same. `None` if it
    /// cannot be read.
    fn end(&self, _file: &Place) -> Option<Bytes> {
        None
    }
}

/// The container of the files that references name.
#[derive(Debug, Clone)]
pub(crate) enum FileContainer {
    Blocking(Arc<dyn Container>),
    Async(Arc<dyn AsyncContainer>),
}

impl FileContainer {
    /// Whether this is a clone of another container.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Blocking(own), Self::Blocking(other)) => Arc::ptr_eq(own, other),
            (Self::Async(own), Self::Async(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}
