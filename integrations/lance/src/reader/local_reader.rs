//! Reads a local file for the Lance crates.

use super::footer::FOOTER_BYTES;
use arrow_shard::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures::future::BoxFuture;
use lance_core::deepsize::{Context, DeepSizeOf};
use lance_io::traits::Reader;
use object_store::path::Path as StorePath;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

/// Bytes of a page of the operating system. Ranges closer than this are read together.
const BLOCK_BYTES: usize = 4096;
/// Most concurrent requests.
const REQUESTS: usize = 4;

/// A file that answers requests for ranges.
///
/// The reader of `lance-io` allocates what a request asks for before it looks at the file. This one compares a request
/// with the size first, because a damaged file may ask for more memory than there is.
pub(super) struct LocalReader {
    file: Arc<File>,
    size: usize,
    /// The name, for messages of the Lance crates; nothing is opened by it.
    name: StorePath,
}

impl LocalReader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Before the file is opened: opening a pipe waits for a writer.
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path is not a regular file",
            ));
        }
        let file = File::open(path)?;
        let size = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            file: Arc::new(file),
            size,
            name: StorePath::from(name.as_ref()),
        })
    }

    /// The size of the file, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.size as u64
    }

    /// Returns the last bytes of the file; zeros in front of a file that has fewer.
    pub(super) fn footer(&self) -> io::Result<[u8; FOOTER_BYTES]> {
        let mut footer = [0; FOOTER_BYTES];
        let found = self.size.min(FOOTER_BYTES);
        let (_, last) = footer.split_at_mut(FOOTER_BYTES - found);
        read_exact_at(&self.file, last, (self.size - found) as u64)?;
        Ok(footer)
    }

    /// Returns all bytes of the file.
    pub(super) fn all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.size];
        read_exact_at(&self.file, &mut bytes, 0)?;
        Ok(bytes)
    }

    fn failed(
        name: &StorePath,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> object_store::Error {
        object_store::Error::Generic {
            store: "local file",
            source: format!("{name}: {}", error.into()).into(),
        }
    }
}

impl fmt::Debug for LocalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalReader").field(&self.name).finish()
    }
}

impl DeepSizeOf for LocalReader {
    fn deep_size_of_children(&self, _context: &mut Context) -> usize {
        self.name.as_ref().len()
    }
}

impl Reader for LocalReader {
    fn path(&self) -> &StorePath {
        &self.name
    }

    fn block_size(&self) -> usize {
        BLOCK_BYTES
    }

    fn io_parallelism(&self) -> usize {
        REQUESTS
    }

    fn size(&self) -> BoxFuture<'_, object_store::Result<usize>> {
        Box::pin(async { Ok(self.size) })
    }

    fn get_range(&self, range: Range<usize>) -> BoxFuture<'static, object_store::Result<Bytes>> {
        let (file, size, name) = (self.file.clone(), self.size, self.name.clone());
        Box::pin(async move {
            if range.start > range.end || range.end > size {
                let why = format!(
                    "bytes {range:?} are beyond the end of the file, which has {size} bytes"
                );
                return Err(Self::failed(&name, why));
            }
            let read = tokio::task::spawn_blocking(move || {
                let mut bytes = vec![0; range.len()];
                read_exact_at(&file, &mut bytes, range.start as u64)?;
                Ok::<_, io::Error>(Bytes::from(bytes))
            });
            match read.await {
                Ok(Ok(bytes)) => Ok(bytes),
                Ok(Err(error)) => Err(Self::failed(&name, error)),
                Err(error) => Err(Self::failed(&name, error)),
            }
        })
    }

    fn get_all(&self) -> BoxFuture<'_, object_store::Result<Bytes>> {
        self.get_range(0..self.size)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        offset += read as u64;
    }
    Ok(())
}

/// Returns the path of a local folder as the Lance crates write it.
pub(super) fn store_path(folder: &Path) -> Result<StorePath> {
    StorePath::from_filesystem_path(folder)
        .map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))
}
