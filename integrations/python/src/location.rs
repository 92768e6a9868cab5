//! Locations of shards: on this machine, or in a store.

use crate::errors::{exception, invalid};
use crate::runtime::{PerProcess, wait, wait_for_store};
use arrow_shard::io::{self, ExternalFiles, STRIPE_FILE_SUFFIX, Store, UrlStores, is_url};
use arrow_shard::ops::{
    LeftOut, SHARD_FILE_SUFFIX, held_by_others_async, list_files_async, list_shards_async,
};
use arrow_shard::{ErrorKind, Result, Shard, ShardOptions};
use object_store::ObjectStore;
use object_store::path::Path as ObjectPath;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3_object_store::AnyObjectStore;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// The location of a shard or a folder.
#[derive(Debug, Clone)]
pub(crate) struct Location(pub(crate) io::Location);

impl Location {
    /// Returns the location of a path, a URL, or a path in a store.
    pub(crate) fn of(at: &Bound<'_, PyAny>, store: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = at.py();
        let path: PathBuf = at.extract().map_err(|_| {
            let found = at.get_type();
            PyTypeError::new_err(format!("expected a path or a URL, found {found}"))
        })?;
        let text = path.to_str();
        if let Some(store) = store {
            let text = text.ok_or_else(|| invalid("a path in a store is Unicode"));
            let path = text.and_then(|text| {
                ObjectPath::parse(text).map_err(|e| invalid("no path in a store").caused_by(e))
            });
            let found = store.extract::<AnyObjectStore>().map_err(|error| {
                let found = store.get_type();
                let message =
                    format!("expected a store of `arrow_shard.store` or obstore, found {found}");
                let refused = PyTypeError::new_err(message);
                refused.set_cause(py, Some(error));
                refused
            })?;
            let path = path.map_err(|error| exception(py, error))?;
            // The object of Python is the same store in every call.
            let id = format!("store {:p}", store.as_ptr());
            let store = Store::object(found.into()).with_id(&id);
            return Ok(Self(store.at(path.to_string())));
        }
        match text.filter(|text| is_url(text)) {
            None => Ok(Self(Store::local().at(at_home(py, path)?))),
            Some(url) => {
                let location = url_stores().and_then(|stores| stores.at(url));
                location.map(Self).map_err(|error| exception(py, error))
            }
        }
    }

    /// Returns whether the location is on this machine.
    pub(crate) fn is_near(&self) -> bool {
        self.0.store().is_near()
    }

    /// Returns the path, if the location is on this machine.
    pub(crate) fn local(&self) -> Option<PathBuf> {
        self.0.path()
    }

    /// Returns the store and the path in it, unless the location is on this machine.
    pub(crate) fn object(&self) -> Option<(Arc<dyn ObjectStore>, ObjectPath)> {
        self.0.object()
    }

    /// Returns what to open instead of `given` from any working directory: an absolute path if it is a local one. `..`
    /// stays, because it may follow a symbolic link.
    pub(crate) fn absolute<'py>(&self, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.local() {
            Some(path) if !path.as_os_str().is_empty() => {
                let path = std::path::absolute(path)?.into_os_string();
                Ok(path.into_pyobject(given.py())?.into_any())
            }
            _ => Ok(given.clone()),
        }
    }

    /// Opens the shard with its directory file at this location.
    pub(crate) fn open(&self, options: ShardOptions) -> Result<Shard> {
        match self.local() {
            Some(path) => crate::interruptible_file::open(&path, options),
            None => wait_for_store(Shard::open_with_async(self.0.clone(), options)),
        }
    }

    /// Returns the location of `other`, which must be in the same store: a shard refers to no other.
    pub(crate) fn beside<'a>(&self, other: &'a Self) -> Result<&'a io::Location> {
        if self.0.store().is_same(other.0.store()) {
            Ok(&other.0)
        } else {
            Err(invalid(
                "expected shards of one store: a shard refers to no other",
            ))
        }
    }
}

/// Returns the folders, given by paths or URLs, outside of a shard's folder where its Parquet files may be.
pub(crate) fn external_files(
    folders: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<ExternalFiles> {
    let mut files = ExternalFiles::default();
    let Some(folders) = folders else {
        return Ok(files);
    };
    let py = folders.py();
    if folders.hasattr("__fspath__")? || folders.is_instance_of::<PyString>() {
        let message = format!("expected a list of folders, found {}", folders.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    for folder in folders.try_iter()? {
        let folder = Location::of(&folder?, store)?;
        let more = files.with_folder(folder.0);
        files = more.map_err(|error| exception(py, error))?;
    }
    Ok(files)
}

/// The locations of the shards of a table.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Shards(Vec<Location>),
    /// All shards of a folder.
    Folder(Location),
    /// A shard in memory, or shards with columns that are not in their files.
    Other {
        is_near: bool,
    },
}

impl Source {
    /// Returns whether all shards are on this machine.
    pub(crate) fn is_near(&self) -> bool {
        match self {
            Self::Shards(locations) => locations.iter().all(Location::is_near),
            Self::Folder(folder) => folder.is_near(),
            Self::Other { is_near } => *is_near,
        }
    }
}

/// Returns the shards of a folder, and of its subfolders if `recursive`, in the order of their names.
pub(crate) fn shards_below(folder: &Location, recursive: bool) -> Result<Vec<Location>> {
    let is_near = folder.is_near();
    let listed = if recursive {
        wait(is_near, list_files_async(folder.0.clone()))?
    } else {
        wait(is_near, list_shards_async(folder.0.clone()))?
    };
    let is_shard = |location: &Location| {
        let name = location.0.to_string();
        if recursive && name.ends_with(STRIPE_FILE_SUFFIX) {
            return false;
        }
        // A file with the name of a shard that is none is an error for its reader.
        name.ends_with(SHARD_FILE_SUFFIX)
            || !matches!(location.open(ShardOptions::default()), Err(error) if error.kind() == ErrorKind::NotAShard)
    };
    Ok(listed.into_iter().map(Location).filter(is_shard).collect())
}

/// Returns the shards of a folder that form a table, in the order of their names, and the shards that are left out
/// because one of these holds all of their data.
pub(crate) fn table_of(folder: &Location) -> Result<(Vec<Location>, Vec<LeftOut>)> {
    let left_out = wait(folder.is_near(), held_by_others_async(folder.0.clone()))?;
    let mut found = shards_below(folder, false)?;
    let names: HashSet<&str> = left_out
        .iter()
        .map(|left| left.shard().trim_start_matches('/'))
        .collect();
    found.retain(|location| {
        let name = match (location.local(), location.object()) {
            (Some(path), _) => path.canonicalize().ok().map(|path| {
                let path = path.to_string_lossy();
                path.trim_start_matches('/').to_owned()
            }),
            (None, Some((_, path))) => Some(path.to_string()),
            (None, None) => None,
        };
        name.is_none_or(|name| !names.contains(name.as_str()))
    });
    Ok((found, left_out))
}

/// Returns the stores of URLs.
fn url_stores() -> Result<Arc<UrlStores>> {
    static STORES: PerProcess<UrlStores> = PerProcess::new();
    STORES.get(|| Ok(UrlStores::default()))
}

/// Replaces `~` at the beginning of a path by the home folder.
fn at_home(py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
    if !path.as_os_str().as_encoded_bytes().starts_with(b"~") {
        return Ok(path);
    }
    py.import("os.path")?
        .call_method1("expanduser", (path,))?
        .extract()
}
