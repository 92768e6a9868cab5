//! Local files, read at positions.

use super::ByteRange;
use super::read_at::ReadAt;
use super::recycled::{block, freeze};
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
            version: version_of(&metadata),
        })
    }

    /// Where the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let range = range.within_size(self.size)?;
        let len = to_usize(range.len())?;
        // Memory and file have the same remainder by the alignment.
        let mut bytes = block(len.saturating_add(ALIGNMENT - 1))?;
        let position = to_usize(range.start() % ALIGNMENT as u64)?;
        let address = bytes.as_ptr().addr() % ALIGNMENT;
        let lead = (position + ALIGNMENT - address) % ALIGNMENT;
        let wanted = lead..lead + len;
        let target = bytes.get_mut(wanted.clone()).unwrap_or_default();
        read_exact_at(&self.file, target, range.start()).map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot read bytes {range}")).caused_by(e)
        })?;
        Ok(freeze(bytes).slice(wanted))
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

/// How errors name a folder.
pub(super) fn describe_folder(folder: &Path) -> String {
    format!("folder `{}`", folder.display())
}

/// An existing folder, absolute and free of symbolic links.
pub(super) fn existing_folder(folder: &Path) -> Result<PathBuf> {
    let resolved = || match folder.canonicalize() {
        Ok(resolved) if resolved.is_dir() => Ok(resolved),
        Ok(_) => Err(Error::invalid("expected a folder, found a file")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::NotFound, "the folder does not exist").caused_by(e))
        }
        Err(e) => Err(e.into()),
    };
    resolved().within(|| describe_folder(folder))
}

/// Which file it is, where the system has numbers for files, and when it was last changed.
pub(super) fn version_of(metadata: &Metadata) -> Option<String> {
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

/// Fills `target` with bytes of the file from `position` on.
#[cfg(unix)]
fn read_exact_at(file: &File, target: &mut [u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, target, position)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut target: &mut [u8], mut position: u64) -> io::Result<()> {
    while !target.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, target, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                target = target.split_at_mut(n).1;
                position += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
