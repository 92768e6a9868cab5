//! Local files, mapped into memory.

use super::ByteRange;
use super::folder::Container;
use super::local_file::{describe, describe_name, open_regular};
use super::local_folder::LocalFolder;
use super::read_at::ReadAt;
use super::url::RelativeUrl;
use crate::error::{Result, Within};
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;

/// A local file mapped into memory. Reads are slices of the mapping, which lives until the last slice is dropped.
#[derive(Debug)]
pub struct MappedFile {
    bytes: Bytes,
    name: String,
}

impl MappedFile {
    /// Maps the regular file at `path`.
    ///
    /// # Safety
    /// No process may truncate or change the file while bytes read from it are alive: the bytes are treated as
    /// immutable memory, and accessing a page that the file no longer has ends the process.
    ///
    /// # Errors
    /// Returns the errors of [`LocalFile::open`](super::LocalFile::open), and the errors of mapping the file.
    #[expect(unsafe_code, reason = "the caller vouches for the file")]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let (file, _) = open_regular(path)?;
            // SAFETY: the mapping is read-only, and the caller promises that the file neither shrinks nor changes while
            // the mapping lives.
            let map = unsafe { memmap2::Mmap::map(&file) }?;
            Ok(Bytes::from_owner(map))
        };
        Ok(Self {
            bytes: map().within(|| describe(path))?,
            name: path.display().to_string(),
        })
    }

    /// Sets the name of the file in errors. By default, this is its path.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

/// A local folder. Its files are opened as [`MappedFile`]s.
#[derive(Debug)]
pub struct MappedFolder {
    folder: LocalFolder,
}

impl MappedFolder {
    /// Wraps a folder so that its files are mapped when they are opened.
    ///
    /// # Safety
    /// Every file that is opened in the folder must meet the conditions of [`MappedFile::open`].
    #[expect(unsafe_code, reason = "the caller vouches for the files")]
    pub unsafe fn new(folder: LocalFolder) -> Self {
        Self { folder }
    }
}

impl Container for MappedFolder {
    #[expect(
        unsafe_code,
        reason = "the caller of `new` has vouched for the files of the folder"
    )]
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        let path = self.folder.find(url)?;
        // SAFETY: the caller of `new` made the promise of `MappedFile::open` for every file of the folder.
        let file = unsafe { MappedFile::open(path) }?;
        Ok(Arc::new(file))
    }

    fn base(&self) -> Option<String> {
        self.folder.base()
    }
}

impl ReadAt for MappedFile {
    fn size(&self) -> Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        self.bytes
            .read_at(range)
            .within(|| describe_name(&self.name))
    }

    fn name(&self) -> Option<String> {
        Some(self.name.clone())
    }

    fn resident(&self) -> Option<Bytes> {
        Some(self.bytes.clone())
    }
}
