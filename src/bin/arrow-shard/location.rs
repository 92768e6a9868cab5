//! Where the files of a command are: on this machine, or behind a URL.

#[cfg(feature = "cloud")]
use crate::cloud::{Address, Object};
use arrow_shard::read::ShardOptions;
use arrow_shard::{Result, Shard};
use std::path::{Path, PathBuf};

/// Where a path of the command line leads.
#[derive(Debug)]
pub(crate) enum Location {
    /// To a file of this machine.
    Local(PathBuf),
    /// To an object of a store.
    #[cfg(feature = "cloud")]
    Object(Object),
}

impl Location {
    /// Where `path` leads, which may be a URL.
    ///
    /// # Errors
    /// For a URL that leads nowhere.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        Self::find(
            path,
            #[cfg(feature = "cloud")]
            Object::at,
        )
    }

    /// As [`of`](Self::of), of a folder: the root of a store is one.
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

/// Refuses a URL that is none, before anybody shows it or looks at its name.
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

/// The text of a path that is a URL.
fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}

/// Whether a text begins with a scheme of two characters or more: one is a drive.
fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else {
        return false;
    };
    scheme.len() > 1
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Opens a shard, wherever it is.
pub(crate) fn open_shard(path: &Path, options: ShardOptions) -> Result<Shard> {
    match Location::of(path)? {
        Location::Local(path) => Shard::open_with(path, options),
        #[cfg(feature = "cloud")]
        Location::Object(object) => object.open_shard(options),
    }
}

/// Bytes of the end of each of many files that are read first, and held.
const TAIL_BYTES: u64 = 8 << 10;

/// Opens a shard that is one of many, more perhaps than the process may have open files.
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
