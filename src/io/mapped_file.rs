//! Local files, mapped into memory.

use super::ByteRange;
use super::local_file::{describe, open_regular};
use super::read_at::ReadAt;
use crate::error::{Result, Within};
use bytes::Bytes;
use std::path::Path;

/// A local file mapped into memory: reads are slices of the mapping, which lives until the last
/// of them is dropped.
#[derive(Debug)]
pub struct MappedFile {
    bytes: Bytes,
    /// How errors name the file.
    name: String,
}

impl MappedFile {
    /// Maps the regular file at `path`.
    ///
    /// # Safety
    /// Until the last of the bytes that were read from it is dropped, nobody may truncate or
    /// change the file, in this process or another: the bytes are handed out as immutable memory,
    /// and touching a page that has no file behind it any more ends the process.
    ///
    /// # Errors
    /// Those of [`LocalFile::open`](super::LocalFile::open), and those of mapping it.
    #[expect(unsafe_code, reason = "the caller vouches for the file")]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let (file, _) = open_regular(path)?;
            // SAFETY: the mapping is read-only, and the caller promises that the file behind it
            // neither shrinks nor changes while it lives.
            let map = unsafe { memmap2::Mmap::map(&file) }?;
            Ok(Bytes::from_owner(map))
        };
        Ok(Self {
            bytes: map().within(|| describe(path))?,
            name: describe(path),
        })
    }
}

impl ReadAt for MappedFile {
    fn size(&self) -> Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        self.bytes.read_at(range).within(|| self.name.clone())
    }

    fn resident(&self) -> Option<Bytes> {
        Some(self.bytes.clone())
    }
}
