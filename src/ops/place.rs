//! Where shards are, and how references lead from one file to another.

use crate::error::{Error, ErrorKind, Result};
use crate::io::RelativeUrl;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
use crate::io::{STRIPE_FILE_SUFFIX, is_temporary};
use std::fmt;

/// How names of directory files end. Those of other names are found too; one of this name that is
/// [`NotAShard`](ErrorKind::NotAShard) was damaged.
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub const SHARD_FILE_SUFFIX: &str = ".amudai.shard";

/// Whether a file of a folder, which could not be opened for that reason, is of another kind.
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub(super) fn is_of_another_kind(name: &str, error: &Error) -> bool {
    error.kind() == ErrorKind::NotAShard && !name.ends_with(SHARD_FILE_SUFFIX)
}

/// A file, by the names on the way from the root of its store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    store: Store,
    names: Vec<String>,
}

/// The kind of store that a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Store {
    /// Nothing is known of it.
    Any,
    Local,
    #[cfg(feature = "object_store")]
    Objects,
}

impl Place {
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self::of(Store::Any, names)
    }

    /// A file of this machine.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn local(names: impl IntoIterator<Item = String>) -> Self {
        Self::of(Store::Local, names)
    }

    /// An object of an object store.
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

    /// The file as a place in errors.
    pub(super) fn element(&self) -> String {
        match self.store {
            Store::Any | Store::Local => format!("file `{self}`"),
            #[cfg(feature = "object_store")]
            Store::Objects => format!("object `{self}`"),
        }
    }

    /// The names, from the root down.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the folder that the file is in.
    pub(super) fn folder(&self) -> &[String] {
        self.names.split_last().map_or(&[], |(_, folder)| folder)
    }

    /// A file of the folder that this one is in, or below.
    pub(super) fn beside(&self, url: &RelativeUrl) -> Self {
        let names = self.folder().iter().map(String::as_str);
        Self::of(self.store, names.chain(url.segments()).map(str::to_owned))
    }

    /// How a directory file at `directory` refers to this one.
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
        // A drive needs no separator before it.
        if self.store == Store::Local && cfg!(not(windows)) {
            f.write_str("/")?;
        }
        f.write_str(&self.names.join("/"))
    }
}

/// What a file of a folder is, by its name.
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FileRole {
    /// A shard, or a file of another kind.
    Shard,
    /// What a shard refers to.
    Stripes,
    /// What a writer is at.
    Temporary,
}

#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
impl FileRole {
    pub(super) fn of(name: &std::ffi::OsStr) -> Self {
        let name = name.to_string_lossy();
        match name.ends_with(STRIPE_FILE_SUFFIX) {
            true => Self::Stripes,
            false if is_temporary(&name) => Self::Temporary,
            false => Self::Shard,
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
