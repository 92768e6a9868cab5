//! The places of shards in their stores, and the references between files.

use crate::error::{Error, ErrorKind, Result};
use crate::io::RelativeUrl;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
use crate::io::{STRIPE_FILE_SUFFIX, is_temporary};
use std::fmt;

/// The suffix of the names of directory files. Files with other names may also be shards; a file of this name that is
/// [`NotAShard`](ErrorKind::NotAShard) is damaged.
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub const SHARD_FILE_SUFFIX: &str = ".amudai.shard";

/// Whether a file that failed to open with this error is of another format, and can be skipped.
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub(super) fn is_of_another_kind(name: &str, error: &Error) -> bool {
    error.kind() == ErrorKind::NotAShard && !name.ends_with(SHARD_FILE_SUFFIX)
}

/// The path of a file, as the names from the root of its store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    store: Store,
    names: Vec<String>,
}

/// The kind of store that a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Store {
    /// Unknown.
    Any,
    Local,
    #[cfg(feature = "object_store")]
    Objects,
}

impl Place {
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self::of(Store::Any, names)
    }

    /// Returns the place of a file of this machine.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn local(names: impl IntoIterator<Item = String>) -> Self {
        Self::of(Store::Local, names)
    }

    /// Returns the place of an object in an object store.
    #[cfg(feature = "object_store")]
    pub(super) fn object(names: impl IntoIterator<Item = String>) -> Self {
        Self::of(Store::Objects, names)
    }

    fn of(store: Store, names: impl IntoIterator<Item = String>) -> Self {
        Self {
            store,
            names: names.into_iter().collect(),
        }
    }

    /// Returns the description of the file for errors.
    pub(super) fn element(&self) -> String {
        match self.store {
            Store::Any | Store::Local => format!("file `{self}`"),
            #[cfg(feature = "object_store")]
            Store::Objects => format!("object `{self}`"),
        }
    }

    /// Returns the names from the root to the file.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the names from the root to the folder of the file.
    pub(super) fn folder(&self) -> &[String] {
        self.names.split_last().map_or(&[], |(_, folder)| folder)
    }

    /// Returns the place of `url`, relative to the folder of this file.
    pub(super) fn beside(&self, url: &RelativeUrl) -> Self {
        let names = self.folder().iter().map(String::as_str);
        Self::of(self.store, names.chain(url.segments()).map(str::to_owned))
    }

    /// Returns the URL by which a directory file at `directory` refers to this file.
    pub(super) fn seen_from(&self, directory: &Self) -> Result<RelativeUrl> {
        match self.names.strip_prefix(directory.folder()) {
            Some(names) => RelativeUrl::from_names(names.iter().map(String::as_str)),
            None => Err(Error::new(
                ErrorKind::ForbiddenUrl,
                format!(
                    "`{self}` is not in the folder of `{directory}`, nor below it, and a shard refers to \
                     no other files; write the new directory to a folder that holds all of them"
                ),
            )),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // On Windows, the path begins with a drive, without a separator.
        if self.store == Store::Local && cfg!(not(windows)) {
            f.write_str("/")?;
        }
        f.write_str(&self.names.join("/"))
    }
}

/// The role of a file in a folder, by its name.
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FileRole {
    /// A shard, or a file of another format.
    Shard,
    /// A file with buffers that shards refer to.
    Stripes,
    /// A file that a writer has not finished.
    Temporary,
}

#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
impl FileRole {
    pub(super) fn of(name: &std::ffi::OsStr) -> Self {
        let name = name.to_string_lossy();
        if name.ends_with(STRIPE_FILE_SUFFIX) {
            Self::Stripes
        } else if is_temporary(&name) {
            Self::Temporary
        } else {
            Self::Shard
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        Place::new(path.split('/').map(str::to_owned))
    }

    #[test]
    fn references_lead_to_the_folder_of_the_directory_and_below() {
        let stripe = place("data/a").beside(&"parts/x%20y.stripe".parse().unwrap());
        assert_eq!(stripe, place("data/parts/x y.stripe"));
        let seen = |from| stripe.seen_from(&place(from)).map(|url| url.to_string());
        assert_eq!(seen("data/b").unwrap(), "parts/x%20y.stripe");
        assert_eq!(seen("b").unwrap(), "data/parts/x%20y.stripe");
        assert_eq!(seen("data/parts/b").unwrap(), "x%20y.stripe");
        assert_eq!(seen("other/b").unwrap_err().kind(), ErrorKind::ForbiddenUrl);
        assert_eq!(
            seen("data/parts/x/b").unwrap_err().kind(),
            ErrorKind::ForbiddenUrl
        );
    }
}
