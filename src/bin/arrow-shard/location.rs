//! The locations of a command's files: on this machine, or at a URL.

#[cfg(feature = "cloud")]
use crate::cloud::Object;
use crate::failure::Failure;
#[cfg(feature = "cloud")]
use arrow_shard::io::UrlStores;
use arrow_shard::io::{self, LocalFile, ReadAt, Store, is_url};
use arrow_shard::read::ShardOptions;
use arrow_shard::{Error, ErrorKind, Result, Shard};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
#[cfg(feature = "cloud")]
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

/// The location that a path of the command line names.
#[derive(Debug)]
pub(crate) enum PathLocation {
    /// A file of this machine.
    Local(PathBuf),
    /// An object of a store.
    #[cfg(feature = "cloud")]
    Object(Object),
}

impl PathLocation {
    /// Returns the location of `path`, which may be a URL.
    ///
    /// # Errors
    /// Fails for a URL that names no object.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let location = stored(path)?;
        if location.name().is_empty() && url(path).is_some() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{} names no object", path.display()),
            ));
        }
        #[cfg(feature = "cloud")]
        if let Some(object) = Object::new(&location, path) {
            return Ok(Self::Object(object));
        }
        Ok(Self::Local(PathBuf::from(location.name())))
    }

    /// Returns the location of another file in the same folder.
    pub(crate) fn beside(&self, name: &str) -> Self {
        match self {
            Self::Local(path) => Self::Local(path.with_file_name(name)),
            #[cfg(feature = "cloud")]
            Self::Object(object) => Self::Object(object.beside(name)),
        }
    }

    /// Returns the path, or the URL.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Local(path) => path.clone(),
            #[cfg(feature = "cloud")]
            Self::Object(object) => PathBuf::from(object.url()),
        }
    }

    /// Removes the file.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        match self {
            Self::Local(path) => Ok(std::fs::remove_file(path)?),
            #[cfg(feature = "cloud")]
            Self::Object(object) => object.remove(),
        }
    }
}

/// The stores of all URLs.
#[cfg(feature = "cloud")]
static URLS: LazyLock<UrlStores> = LazyLock::new(UrlStores::default);

/// Returns the location of `path`, which may be a URL, in its store.
pub(crate) fn stored(path: &Path) -> Result<io::Location> {
    match url(path) {
        None => Ok(Store::local().at(path)),
        #[cfg(feature = "cloud")]
        Some(url) => URLS.at(url),
        #[cfg(not(feature = "cloud"))]
        Some(_) => Err(Error::new(
            ErrorKind::InvalidArgument,
            "this arrow-shard reads and writes local files only; install it with --features cloud for URLs",
        )),
    }
}

/// Fails if a URL is invalid, before it appears in a message or its name is examined.
pub(crate) fn check(path: &Path) -> Result<()> {
    stored(path).map(drop)
}

/// Waits for an answer about a file of this location.
pub(crate) fn wait<T>(at: &io::Location, answer: impl Future<Output = Result<T>>) -> Result<T> {
    #[cfg(feature = "cloud")]
    if !at.store().is_near() {
        return crate::cloud::wait(answer);
    }
    #[cfg(not(feature = "cloud"))]
    let _ = at;
    // Local files answer at once, but a long operation yields now and then.
    let mut answer = pin!(answer);
    loop {
        if let Poll::Ready(done) = answer
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return done;
        }
    }
}

/// Returns the text of a path that is a URL.
fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}

/// Files that were named before, each in its store.
#[derive(Debug, Default)]
pub(crate) struct NamedFiles(HashMap<PathBuf, Vec<Store>>);

impl NamedFiles {
    /// Adds a file by its path without links, or by the name of its object. Returns whether it is new.
    pub(crate) fn insert(&mut self, file: &io::Location) -> bool {
        let path = file.path();
        let whole = path.map(|path| path.canonicalize().unwrap_or(path));
        let name = whole.unwrap_or_else(|| PathBuf::from(file.name()));
        let stores = self.0.entry(name).or_default();
        let is_new = !stores.iter().any(|store| store.is_same(file.store()));
        if is_new {
            stores.push(file.store().clone());
        }
        is_new
    }
}

/// Opens a file for reads at any position, either local or in a store.
pub(crate) fn reader(path: &Path) -> Result<Arc<dyn ReadAt>> {
    match PathLocation::of(path)? {
        PathLocation::Local(local) => {
            let file = LocalFile::open(local)?;
            Ok(Arc::new(file.with_name(path.display().to_string())))
        }
        #[cfg(feature = "cloud")]
        PathLocation::Object(object) => object.reader(),
    }
}

/// Returns the size of a file in bytes, either local or in a store.
pub(crate) fn size(path: &Path) -> Result<u64> {
    match PathLocation::of(path)? {
        PathLocation::Local(local) => Ok(local.metadata()?.len()),
        #[cfg(feature = "cloud")]
        PathLocation::Object(object) => object.reader()?.size(),
    }
}

/// Whether there is a file, either local or in a store. A store that does not tell counts as having it.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    match PathLocation::of(path)? {
        PathLocation::Local(local) => Ok(local.exists()),
        #[cfg(feature = "cloud")]
        PathLocation::Object(object) => object.exists(),
    }
}

/// Opens a shard, either local or in a store.
pub(crate) fn open_shard(path: &Path, options: ShardOptions) -> Result<Shard> {
    match PathLocation::of(path)? {
        PathLocation::Local(path) => Shard::open_with(path, options),
        #[cfg(feature = "cloud")]
        PathLocation::Object(object) => object.open_shard(options),
    }
}

/// Number of bytes that the first read takes from the end of each of many files, and holds.
const TAIL_BYTES: u64 = 8 << 10;

/// Opens a shard that is one of many, possibly more than the process may have open files.
pub(crate) fn open_one_of_many(path: &Path, options: ShardOptions) -> Result<Shard> {
    match PathLocation::of(path)? {
        PathLocation::Local(path) => Shard::open_pooled(path, options.with_tail_bytes(TAIL_BYTES)),
        #[cfg(feature = "cloud")]
        PathLocation::Object(object) => object.open_shard(options),
    }
}
