//! The places of shards in their stores, and the references between files.

use super::RelativeUrl;
use super::names::{STRIPE_FILE_SUFFIX, is_temporary};
#[cfg(feature = "object_store")]
use super::url::decode;
use super::url::{encode, is_absolute};
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "object_store")]
use object_store::path::PathPart;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// The suffix of the names of directory files. Files with other names may also be shards; a file of this name that is
/// [`NotAShard`](ErrorKind::NotAShard) is damaged.
pub const SHARD_FILE_SUFFIX: &str = ".amudai.shard";

/// Whether a file that failed to open with this error is of another format, and can be skipped.
pub(crate) fn is_of_another_kind(name: &str, error: &Error) -> bool {
    error.kind() == ErrorKind::NotAShard && !name.ends_with(SHARD_FILE_SUFFIX)
}

/// The path of a file, as the names from the root of its store. Names of objects are the parts of their paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    kind: Kind,
    names: Vec<OsString>,
}

/// The kind of store that a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Memory,
    Local,
    #[cfg(feature = "object_store")]
    Objects,
}

impl Kind {
    /// Returns the name of a file that a reference names. Objects have the names that the store's client encodes.
    fn name_of(self, referred: &str) -> OsString {
        match self {
            Self::Memory | Self::Local => referred.into(),
            #[cfg(feature = "object_store")]
            Self::Objects => PathPart::from(referred).as_ref().into(),
        }
    }

    /// Returns the name by which a reference leads to a file; `None` if no reference does.
    fn referred(self, name: &OsStr) -> Option<String> {
        let name = name.to_str()?;
        match self {
            Self::Memory | Self::Local => Some(name.to_owned()),
            #[cfg(feature = "object_store")]
            Self::Objects => {
                let referred = decode(name).ok()?;
                (self.name_of(&referred) == name).then_some(referred)
            }
        }
    }
}

impl Place {
    /// Returns the place of a file in memory.
    pub(crate) fn memory(names: impl IntoIterator<Item = OsString>) -> Self {
        Self::of(Kind::Memory, names)
    }

    /// Returns the place of a file of this machine.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn local(names: impl IntoIterator<Item = OsString>) -> Self {
        Self::of(Kind::Local, names)
    }

    /// Returns the place of an object in an object store.
    #[cfg(feature = "object_store")]
    pub(crate) fn object(names: impl IntoIterator<Item = OsString>) -> Self {
        Self::of(Kind::Objects, names)
    }

    fn of(kind: Kind, names: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            kind,
            names: names.into_iter().collect(),
        }
    }

    /// Returns the description of the file for errors.
    pub(crate) fn element(&self) -> String {
        match self.kind {
            Kind::Memory | Kind::Local => format!("file `{self}`"),
            #[cfg(feature = "object_store")]
            Kind::Objects => format!("object `{self}`"),
        }
    }

    /// Returns the names from the root to the file.
    pub(crate) fn names(&self) -> &[OsString] {
        &self.names
    }

    /// Returns the names from the root to the folder of the file.
    pub(crate) fn folder(&self) -> &[OsString] {
        self.names.split_last().map_or(&[], |(_, folder)| folder)
    }

    /// Whether the file is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.kind == Kind::Local
    }

    /// Returns the absolute URL of the folder of the file. `store` is the identity of its store, which must be a URL
    /// except for local files.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument) if the folder has no URL.
    pub(crate) fn folder_url(&self, store: &str) -> Result<String> {
        let mut url = if self.is_local() {
            "file://".to_owned()
        } else if is_absolute(store) {
            store.trim_end_matches('/').to_owned()
        } else {
            return Err(Error::invalid(
                "the store has no URL by which a shard can refer to it; set it by `Store::with_id`",
            ));
        };
        for name in self.folder() {
            let unfit = || Error::invalid("the name of the folder fits no URL");
            let name = self.kind.referred(name).ok_or_else(unfit)?;
            url.push('/');
            encode(&name, &mut url).map_err(|_| unfit())?;
        }
        Ok(url)
    }

    /// Returns the place of `url`, relative to the folder of this file.
    pub(crate) fn beside(&self, url: &RelativeUrl) -> Self {
        let below = url.segments().map(|name| self.kind.name_of(name));
        Self::of(self.kind, self.folder().iter().cloned().chain(below))
    }

    /// Returns the URL by which a directory file at `directory` refers to this file.
    pub(crate) fn seen_from(&self, directory: &Self) -> Result<RelativeUrl> {
        match self.names.strip_prefix(directory.folder()) {
            Some(names) => {
                let names = names.iter().map(|name| {
                    self.kind.referred(name).ok_or_else(|| {
                        Error::unsupported(format!(
                            "no shard can refer to `{self}`, whose name is not Unicode, or has characters that \
                             references encode in another way"
                        ))
                    })
                });
                let names = names.collect::<Result<Vec<String>>>()?;
                RelativeUrl::from_names(names.iter().map(String::as_str))
            }
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
        if self.kind == Kind::Local && cfg!(not(windows)) {
            f.write_str("/")?;
        }
        f.write_str(&self.names.join(OsStr::new("/")).to_string_lossy())
    }
}

/// The role of a file in a folder, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FileRole {
    /// A shard, or a file of another format.
    Shard,
    /// A file with buffers that shards refer to.
    Stripes,
    /// A file that a writer has not finished.
    Temporary,
}

impl FileRole {
    pub(crate) fn of(name: &OsStr) -> Self {
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
        Place::memory(path.split('/').map(OsString::from))
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
