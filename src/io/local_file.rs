//! Local files, read at positions.

use super::ByteRange;
use super::read_at::ReadAt;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use bytes::Bytes;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Alignment, in bytes, that a read keeps between file and memory: that of Arrow buffers, and of
/// encoded buffers in a shard.
const ALIGNMENT: usize = 64;

/// A local file, read with positioned reads: no shared cursor, no lock.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    path: PathBuf,
    size: u64,
    version: Option<String>,
}

impl LocalFile {
    /// Opens the regular file at `path` for reading.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if there is none,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for folders, pipes and devices, else those
    /// of the operating system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, metadata) = open_regular(path).within(|| describe(path))?;
        Ok(Self {
            file,
            path: path.to_path_buf(),
            size: metadata.len(),
            version: version(&metadata),
        })
    }

    /// Where the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let range = range.within_size(self.size)?;
        let len = to_usize(range.len())?;
        let mut bytes = aligned(range.start(), len)?;
        let lead = bytes.len();
        append_at(&self.file, &mut bytes, len, range.start()).map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot read bytes {range}: {e}")).caused_by(e)
        })?;
        Ok(Bytes::from(bytes).slice(lead..))
    }
}

impl ReadAt for LocalFile {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        self.read(range).within(|| describe(&self.path))
    }

    fn version(&self) -> Option<String> {
        self.version.clone()
    }

    fn is_near(&self) -> bool {
        true
    }
}

/// How errors name a file.
pub(super) fn describe(path: &Path) -> String {
    format!("file `{}`", path.display())
}

/// Which file it is, where the system has numbers for files, and when it was last changed.
fn version(metadata: &Metadata) -> Option<String> {
    let changed = metadata.modified().ok()?;
    #[cfg(unix)]
    let number = {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    };
    #[cfg(not(unix))]
    let number = ();
    Some(format!("{number:?} {changed:?}"))
}

/// Opens a regular file and tells its size, among others. The kind is asked for first, because opening a pipe
/// may wait for ever.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    let regular = |metadata: &Metadata| {
        if metadata.is_file() {
            return Ok(());
        }
        let found = if metadata.is_dir() {
            "a folder"
        } else {
            "neither file nor folder"
        };
        Err(Error::invalid(format!(
            "expected a regular file, found {found}"
        )))
    };
    regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    regular(&metadata)?;
    Ok((file, metadata))
}

/// Memory for the `len` bytes at position `start` of a file, with a lead that gives them an address
/// with the same remainder by [`ALIGNMENT`] as `start`.
fn aligned(start: u64, len: usize) -> Result<Vec<u8>> {
    let out_of_memory = || {
        Error::new(
            ErrorKind::LimitExceeded,
            format!("cannot allocate {len} bytes"),
        )
    };
    let capacity = len.checked_add(ALIGNMENT - 1).ok_or_else(out_of_memory)?;
    let mut bytes: Vec<u8> = Vec::new();
    bytes
        .try_reserve_exact(capacity)
        .map_err(|e| out_of_memory().caused_by(e))?;
    let position = to_usize(start % ALIGNMENT as u64)?;
    let address = bytes.as_ptr().addr() % ALIGNMENT;
    bytes.resize((position + ALIGNMENT - address) % ALIGNMENT, 0);
    Ok(bytes)
}

/// Appends `len` bytes of the file from `position` on to a vector that has room for them.
#[cfg(unix)]
fn append_at(file: &File, bytes: &mut Vec<u8>, len: usize, position: u64) -> io::Result<()> {
    let start = bytes.len();
    while bytes.len() < start + len {
        let at = position + (bytes.len() - start) as u64;
        // Fresh memory need not be cleared to be read into.
        match rustix::io::pread(file, rustix::buffer::spare_capacity(bytes), at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    // There may have been room for more.
    bytes.truncate(start + len);
    Ok(())
}

#[cfg(windows)]
fn append_at(file: &File, bytes: &mut Vec<u8>, len: usize, mut position: u64) -> io::Result<()> {
    let mut done = bytes.len();
    bytes.resize(done + len, 0);
    while let Some(target) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match std::os::windows::fs::FileExt::seek_read(file, target, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                done += n;
                position += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
