//! The locations of a command's files: on this machine, or at a URL.

#[cfg(feature = "cloud")]
use crate::cloud::{Address, Object};
use arrow_shard::read::ShardOptions;
use arrow_shard::{Result, Shard};
use std::path::{Path, PathBuf};

/// The location that a path of the command line names.
#[derive(Debug)]
pub(crate) enum Location {
    /// A file of this machine.
    Local(PathBuf),
    /// An object of a store.
    #[cfg(feature = "cloud")]
    Object(Object),
}

impl Location {
    /// Returns the location of `path`, which may be a URL.
    ///
    /// # Errors
    /// Fails for a URL that names no object.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        Self::find(
            path,
            #[cfg(feature = "cloud")]
            Object::at,
        )
    }

    /// Returns the location of a folder, which may also be the root of a store.
    pub(crate) fn of_folder(path: &Path) -> Result<Self> {
        Self::find(
            path,
            #[cfg(feature = "cloud")]
            Object::below,
        )
    }

    fn find(
        path: &Path,
        #[cfg(feature = "cloud")] at: fn(Address) -> Result<Object>,
    ) -> Result<Self> {
        match url(path) {
            None => Ok(Self::Local(path.to_path_buf())),
            #[cfg(feature = "cloud")]
            Some(url) => {
                let address = Address::parse(url)?;
                match address.local()? {
                    Some(local) => Ok(Self::Local(local)),
                    None => at(address).map(Self::Object),
                }
            }
            #[cfg(not(feature = "cloud"))]
            Some(_) => Err(local_only()),
        }
    }
}

/// Fails if a URL is invalid, before it appears in a message or its name is examined.
pub(crate) fn check(path: &Path) -> Result<()> {
    match url(path) {
        None => Ok(()),
        #[cfg(feature = "cloud")]
        Some(url) => Address::parse(url).map(drop),
        #[cfg(not(feature = "cloud"))]
        Some(_) => Err(local_only()),
    }
}

#[cfg(not(feature = "cloud"))]
fn local_only() -> arrow_shard::Error {
    arrow_shard::Error::new(
        arrow_shard::ErrorKind::InvalidArgument,
        "this arrow-shard reads and writes local files only; install it with --features cloud for URLs",
    )
}

/// Returns the text of a path that is a URL.
fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}

/// Whether a text begins with a scheme of at least two characters: a single letter is a drive.
fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else {
        return false;
    };
    scheme.len() > 1
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Opens a shard, either local or in a store.
pub(crate) fn open_shard(path: &Path, options: ShardOptions) -> Result<Shard> {
    match Location::of(path)? {
        Location::Local(path) => Shard::open_with(path, options),
        #[cfg(feature = "cloud")]
        Location::Object(object) => object.open_shard(options),
    }
}

/// Number of bytes that the first read takes from the end of each of many files, and holds.
const TAIL_BYTES: u64 = 8 << 10;

/// Opens a shard that is one of many, possibly more than the process may have open files.
pub(crate) fn open_one_of_many(path: &Path, options: ShardOptions) -> Result<Shard> {
    match Location::of(path)? {
        Location::Local(path) => Shard::open_pooled(path, options.with_tail_bytes(TAIL_BYTES)),
        #[cfg(feature = "cloud")]
        Location::Object(object) => object.open_shard(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_scheme() {
        for url in ["s3://bucket/t.shard", "file:///t.shard", "https://a/b"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["t.shard", "C://t.shard", "a b://t", "://t", "s3:/t", "-"] {
            assert!(!is_url(path), "{path}");
        }
    }
}
