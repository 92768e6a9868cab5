//! Locations of shards: on this machine, or in a store.

use crate::errors::{exception, invalid};
use crate::runtime::wait_for_store;
use arrow_shard::ops::{
    LeftOut, SHARD_FILE_SUFFIX, held_by_others, list_shard_objects, list_shards,
    objects_held_by_others,
};
use arrow_shard::{ErrorKind, Result, Shard, ShardOptions};
use object_store::ObjectStore;
use object_store::path::Path as ObjectPath;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_object_store::AnyObjectStore;
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

/// Prefixes of the environment variables that configure stores, the same as for the stores' own tools.
const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// The location of a shard or a folder.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// On this machine.
    Local(PathBuf),
    /// In a store.
    Object(Object),
}

/// An object in a store, or a folder of objects.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: ObjectPath,
    /// Identifies the store: its URL without the path, or the address of the Python store object.
    root: String,
}

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
            return Ok(Self::Object(Object {
                store: found.into(),
                path: path.map_err(|error| exception(py, error))?,
                root: format!("store {:p}", store.as_ptr()),
            }));
        }
        match text.filter(|text| is_url(text)) {
            None => Ok(Self::Local(path)),
            Some(url) => Self::at(url).map_err(|error| exception(py, error)),
        }
    }

    /// Returns the location of a URL. The environment variables of the stores' own tools, such as `AWS_ACCESS_KEY_ID`,
    /// configure stores.
    fn at(text: &str) -> Result<Self> {
        let url = Url::parse(text).map_err(|e| invalid(format!("not a URL: {e}")))?;
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(invalid(
                "expected a URL without user, password and query; stores are configured by environment \
                 variables, or given as `store`",
            ));
        }
        if url.scheme() == "file" {
            let path = url.to_file_path();
            let path = path.map_err(|()| invalid(format!("{text} is no path of this machine")))?;
            return Ok(Self::Local(path));
        }
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let is_known = VARIABLES.iter().any(|prefix| name.starts_with(prefix));
            is_known.then_some((name.to_ascii_lowercase(), value.into_string().ok()?))
        });
        // A URL with http allows unencrypted connections.
        let plain = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
        let (store, path) = object_store::parse_url_opts(&url, variables.chain(plain))
            .map_err(|e| invalid(format!("{text} leads to no store")).caused_by(e))?;
        let names: Vec<&str> = url.path().split('/').filter(|n| !n.is_empty()).collect();
        let before = names.len().saturating_sub(path.parts().count());
        let root = [url.scheme(), "://", url.authority(), "/"].concat();
        Ok(Self::Object(Object {
            store: store.into(),
            path,
            root: root + &names[..before].join("/"),
        }))
    }

    /// Returns whether the location is on this machine.
    pub(crate) fn is_near(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Opens the shard with its directory file at this location.
    pub(crate) fn open(&self) -> Result<Shard> {
        match self {
            Self::Local(path) => crate::near::open(path, ShardOptions::default()),
            Self::Object(object) => {
                let (store, options) = (object.store.clone(), ShardOptions::default());
                wait_for_store(Shard::open_object(store, &object.path, options))
            }
        }
    }
}

impl Object {
    /// Returns another object of the same store.
    pub(crate) fn sibling(&self, path: ObjectPath) -> Self {
        Self {
            path,
            ..self.clone()
        }
    }

    /// Returns whether both objects are in the same store. A shard cannot refer to another store.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

/// The locations of the shards of a table.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Shards(Vec<Location>),
    /// All shards of a folder.
    Folder(Location),
}

impl Source {
    /// Returns whether all shards are on this machine.
    pub(crate) fn is_near(&self) -> bool {
        match self {
            Self::Shards(locations) => locations.iter().all(Location::is_near),
            Self::Folder(folder) => folder.is_near(),
        }
    }
}

/// Several locations of one kind.
#[derive(Debug)]
pub(crate) enum Places {
    Local(Vec<PathBuf>),
    Objects(Arc<dyn ObjectStore>, Vec<ObjectPath>),
}

impl Places {
    /// Collects locations that are all on this machine, or all in one store.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the locations are of both kinds, or in several stores.
    pub(crate) fn of(all: Vec<Location>) -> Result<Self> {
        let (mut paths, mut objects) = (Vec::new(), Vec::new());
        for location in all {
            match location {
                Location::Local(path) => paths.push(path),
                Location::Object(object) => objects.push(object),
            }
        }
        let Some(first) = objects.first() else {
            return Ok(Self::Local(paths));
        };
        if !paths.is_empty() || objects.iter().any(|other| !other.is_beside(first)) {
            return Err(invalid(
                "expected shards of one store: a shard refers to no other",
            ));
        }
        let store = first.store.clone();
        let paths = objects.into_iter().map(|object| object.path).collect();
        Ok(Self::Objects(store, paths))
    }
}

/// Returns the shards of a folder, in the order of their names.
pub(crate) fn shards_of(folder: &Location) -> Result<Vec<Location>> {
    let is_shard = |location: &Location| match location.open() {
        Err(error) if error.kind() == ErrorKind::NotAShard => match location {
            Location::Local(path) => path.to_string_lossy().ends_with(SHARD_FILE_SUFFIX),
            Location::Object(object) => object.path.as_ref().ends_with(SHARD_FILE_SUFFIX),
        },
        _ => true,
    };
    let mut found: Vec<Location> = match folder {
        Location::Local(folder) => {
            let paths = list_shards(folder)?.into_iter();
            paths.map(Location::Local).collect()
        }
        Location::Object(folder) => {
            let objects = list_shard_objects(folder.store.clone(), Some(&folder.path));
            let objects = wait_for_store(objects)?.into_iter();
            objects
                .map(|object| Location::Object(folder.sibling(object.location)))
                .collect()
        }
    };
    found.retain(is_shard);
    Ok(found)
}

/// Returns the shards of a folder that form a table, in the order of their names, and the shards that are left out
/// because one of these holds all of their data.
pub(crate) fn table_of(folder: &Location) -> Result<(Vec<Location>, Vec<LeftOut>)> {
    let left_out = match folder {
        Location::Local(folder) => held_by_others(folder)?,
        Location::Object(folder) => wait_for_store(objects_held_by_others(
            folder.store.clone(),
            Some(&folder.path),
        ))?,
    };
    let mut found = shards_of(folder)?;
    found.retain(|location| {
        let is_at = |place: &str| match location {
            Location::Local(path) => path.canonicalize().is_ok_and(|path| {
                let path = path.to_string_lossy();
                path.trim_start_matches('/') == place.trim_start_matches('/')
            }),
            Location::Object(object) => object.path == ObjectPath::from(place),
        };
        !left_out.iter().any(|left| is_at(left.shard()))
    });
    Ok((found, left_out))
}

/// Returns whether a text begins with a scheme of at least two characters; a single character is a drive.
fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else {
        return false;
    };
    scheme.len() > 1
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}
