//! Local files that share a small number of file descriptors.

use super::ByteRange;
use super::descriptors::{Open, keep, lock};
use super::local_file::{describe, describe_name, open_regular, read_range, version_of};
use super::read_at::ReadAt;
use crate::error::{Error, ErrorKind, Result, Within};
use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

/// A local file that is opened when it is read. All pooled files of the process share at most 64 descriptors, and at
/// most a quarter of the descriptors that the process may have, so any number of pooled files can be in use.
///
/// If the file at the path has been replaced or changed since it was first opened, reads fail with
/// [`Replaced`](ErrorKind::Replaced). In contrast, a [`LocalFile`](super::LocalFile) keeps its descriptor, and
/// continues to read the file that it opened.
#[derive(Debug)]
pub struct PooledFile {
    path: PathBuf,
    name: String,
    size: u64,
    version: Option<String>,
    /// The open file, while the pool holds it.
    open: Mutex<Weak<Open>>,
}

impl PooledFile {
    /// Opens the regular file at `path` for reading.
    ///
    /// # Errors
    /// Returns the errors of [`LocalFile::open`](super::LocalFile::open).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, metadata) = open_regular(path).within(|| describe(path))?;
        Ok(Self {
            path: path.to_path_buf(),
            name: path.display().to_string(),
            size: metadata.len(),
            version: version_of(&metadata),
            open: Mutex::new(Arc::downgrade(&keep(file))),
        })
    }

    /// Sets the name of the file in errors. By default, this is its path.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    fn file(&self) -> Result<Arc<Open>> {
        // Other threads wait here instead of opening the file again.
        let mut open = lock(&self.open);
        if let Some(open) = open.upgrade() {
            open.mark();
            return Ok(open);
        }
        let (file, metadata) = open_regular(&self.path)?;
        if metadata.len() != self.size || version_of(&metadata) != self.version {
            return Err(Error::new(
                ErrorKind::Replaced,
                "the file was replaced or changed after it was opened; open the shard again",
            ));
        }
        let file = keep(file);
        *open = Arc::downgrade(&file);
        Ok(file)
    }
}

impl ReadAt for PooledFile {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        let read = || read_range(self.file()?.file(), self.size, range);
        read().within(|| describe_name(&self.name))
    }

    fn name(&self) -> Option<String> {
        Some(self.name.clone())
    }

    fn version(&self) -> Option<String> {
        self.version.clone()
    }

    fn is_near(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::descriptors::{MAX_OPEN_FILES, POOL};
    use super::*;

    #[test]
    fn more_files_are_read_than_are_open_and_one_that_was_replaced_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |i: usize| folder.path().join(format!("{i}"));
        let files: Vec<PooledFile> = (0..3 * MAX_OPEN_FILES)
            .map(|i| {
                std::fs::write(path(i), format!("{i:>8}")).unwrap();
                PooledFile::open(path(i)).unwrap()
            })
            .collect();
        let all = ByteRange::try_new(0, 8).unwrap();
        for _ in 0..2 {
            for (i, file) in files.iter().enumerate() {
                assert_eq!(file.read_at(all).unwrap(), format!("{i:>8}"));
                assert!(lock(&POOL).len() <= MAX_OPEN_FILES);
            }
        }
        // Neither file is open, because the pool has opened others since.
        for (i, replace) in [(0, true), (1, false)] {
            match replace {
                true => {
                    std::fs::write(folder.path().join("other"), "replaced").unwrap();
                    std::fs::rename(folder.path().join("other"), path(i)).unwrap();
                }
                false => std::fs::write(path(i), "longer than it was").unwrap(),
            }
            let error = files[i].read_at(all).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Replaced);
            let place = format!("file `{}`", path(i).display());
            assert_eq!(error.element(), place, "{error}");
        }
    }
}
