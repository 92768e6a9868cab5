//! Folders with the files of a shard: opened by reference, created by name.

use super::read_at::ReadAt;
use super::sink::{Sink, State};
use super::url::RelativeUrl;
use crate::error::{Error, ErrorKind, Result, Within};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The folder of a shard's directory file, or a substitute. It opens the other files of the shard.
pub trait Container: Send + Sync + Debug {
    /// Opens the artifact at `url`.
    ///
    /// # Errors
    /// Returns [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) if the artifact is outside of the container,
    /// [`NotFound`](ErrorKind::NotFound) if it does not exist, or the errors of the store.
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>>;

    /// Returns the absolute path or URL of the folder, if it is known. Absolute references that lead into this folder
    /// can then be followed. `None` by default.
    fn base(&self) -> Option<String> {
        None
    }
}

/// Creates the artifacts of a shard of several files, all in one folder.
///
/// A writer commits the directory file last, so that a reader that finds it also finds the other files. If the commit
/// fails, the writer removes them.
pub trait SinkFactory: Send {
    /// Returns a sink for the new artifact `name`, a file name without folders.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument) if a shard cannot refer to a file of that name,
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) if the artifact exists, or the errors of the store.
    fn create(&mut self, name: &str) -> Result<Box<dyn Sink>>;

    /// Removes the artifact `name`, which this factory created and its sink committed.
    ///
    /// # Errors
    /// Returns the errors of the store.
    fn remove(&mut self, name: &str) -> Result<()>;
}

/// An empty container, for shards that consist of one file.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoContainer;

impl Container for NoContainer {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        Err(self.refuse(url))
    }
}

impl NoContainer {
    pub(super) fn refuse(self, url: &RelativeUrl) -> Error {
        Error::new(
            ErrorKind::ForbiddenUrl,
            format!(
                "the shard refers to another file, `{url}`, but only its directory file is open; \
                 open it by its path, or pass the container of its files"
            ),
        )
    }
}

/// A folder in memory. Clones share their content.
#[derive(Clone, Default)]
pub struct MemoryFolder {
    files: Arc<Mutex<BTreeMap<String, Bytes>>>,
}

impl MemoryFolder {
    /// Returns an empty folder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, or replaces the file of that name. `/` in `name` separates folders.
    pub fn insert(&self, name: impl Into<String>, content: impl Into<Bytes>) {
        self.lock().insert(name.into(), content.into());
    }

    /// Returns the content of a file.
    pub fn get(&self, name: &str) -> Option<Bytes> {
        self.lock().get(name).cloned()
    }

    /// Returns the names of all files, in ascending order.
    pub fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Returns an address that all clones share, and no other folder.
    pub(super) fn address(&self) -> *const () {
        Arc::as_ptr(&self.files).cast()
    }

    /// Returns a sink for a file. `/` in `name` separates folders.
    pub(super) fn sink(&self, name: &str, overwrite: bool) -> Result<impl Sink + use<>> {
        if !overwrite {
            Self::check_free(&self.lock(), name)?;
        }
        Ok(MemorySink {
            folder: self.clone(),
            name: name.to_owned(),
            overwrite,
            state: State::Open(Vec::new()),
        })
    }

    /// Calls `change` with all files, under the lock of the folder.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Bytes>) -> Result<T>,
    ) -> Result<T> {
        change(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        // A panic never leaves the map half changed, so a poisoned lock does no harm.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_free(files: &BTreeMap<String, Bytes>, name: &str) -> Result<()> {
        if files.contains_key(name) {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "the file exists; choose another name",
            ));
        }
        Ok(())
    }
}

impl Debug for MemoryFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.lock();
        let sizes = files.iter().map(|(name, content)| (name, content.len()));
        f.debug_map().entries(sizes).finish()
    }
}

impl Container for MemoryFolder {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        match self.get(url.path()) {
            Some(content) => Ok(Arc::new(content)),
            None => Err(no_file(url)),
        }
    }
}

impl SinkFactory for MemoryFolder {
    fn create(&mut self, name: &str) -> Result<Box<dyn Sink>> {
        RelativeUrl::from_file_name(name)?;
        let sink = self.sink(name, false);
        Ok(Box::new(sink.within(|| format!("file `{name}`"))?))
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        match self.lock().remove(name) {
            Some(_) => Ok(()),
            None => Err(no_file(name)),
        }
    }
}

fn no_file(name: impl fmt::Display) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("no file `{name}` in the folder in memory"),
    )
}

/// A file of a [`MemoryFolder`] that becomes visible with its commit.
struct MemorySink {
    folder: MemoryFolder,
    name: String,
    overwrite: bool,
    state: State<Vec<u8>>,
}

impl Sink for MemorySink {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.state
            .write(|content| content.write_all(bytes))
            .within(|| format!("file `{}`", self.name))
    }

    fn commit(&mut self) -> Result<()> {
        let (folder, name, overwrite) = (&self.folder, &self.name, self.overwrite);
        let publish = |content: Vec<u8>| {
            let mut files = folder.lock();
            if !overwrite {
                MemoryFolder::check_free(&files, name)?;
            }
            files.insert(name.clone(), content.into());
            Ok(())
        };
        self.state
            .commit(publish)
            .within(|| format!("file `{name}`"))
    }
}
