//! Local files, read at any position.

use super::ByteRange;
use super::descriptors::with_descriptor;
use super::read_at::ReadAt;
use super::recycled_memory::{block, freeze};
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use bytes::Bytes;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Alignment in bytes of Arrow buffers, and of encoded buffers in a shard. Reads preserve it from the file to memory.
const ALIGNMENT: usize = 64;

/// A local file, read with positioned reads: no shared cursor, no lock.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    path: PathBuf,
    name: String,
    size: u64,
    version: Option<String>,
}

impl LocalFile {
    /// Opens the regular file at `path` for reading.
    ///
    /// # Errors
    /// Returns [`NotFound`](ErrorKind::NotFound) if it does not exist,
    /// [`NotAShard`](ErrorKind::NotAShard) for folders, pipes and devices, or the errors of the operating system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, metadata) = open_regular(path).within(|| describe(path))?;
        Ok(Self {
            file,
            path: path.to_path_buf(),
            name: path.display().to_string(),
            size: metadata.len(),
            version: version_of(&metadata),
        })
    }

    /// Takes an open file, to be read from its start. `name` is its name in errors.
    ///
    /// # Errors
    /// Returns [`NotAShard`](ErrorKind::NotAShard) for folders, pipes and devices, or an error of the operating system.
    pub fn from_file(file: File, name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        let metadata = file.metadata()?;
        check_regular(&metadata).within(|| format!("file `{name}`"))?;
        Ok(Self {
            file,
            path: PathBuf::new(),
            name,
            size: metadata.len(),
            version: version_of(&metadata),
        })
    }

    /// Sets the name of the file in errors. By default, this is its path.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the path where the file was opened. It is empty for a file that was open already.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a clone of the file: a new file that shares its blocks until one of the two changes. The clone has the
    /// same time of last change.
    ///
    /// # Errors
    /// Returns [`Unsupported`](ErrorKind::Unsupported) on systems other than Linux, or the errors of the operating
    /// system: many file systems do not support clones. After an error, no new file remains.
    pub(crate) fn clone_to(&self, path: &Path) -> Result<()> {
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::OpenOptionsExt;
            let mut options = File::options();
            let clone = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?;
            let made = || -> io::Result<()> {
                rustix::fs::ioctl_ficlone(&clone, &self.file)?;
                let metadata = self.file.metadata()?;
                clone.set_permissions(metadata.permissions())?;
                // `ops::overlap` recognizes a clone by its time.
                clone.set_modified(metadata.modified()?)?;
                clone.sync_all()
            };
            made().map_err(|error| {
                // The first error is returned.
                let _ = std::fs::remove_file(path);
                error.into()
            })
        }
        #[cfg(not(target_os = "linux"))]
        Err(Error::unsupported(format!(
            "cannot clone to `{}`: clones are made on Linux only",
            path.display()
        )))
    }
}

/// Reads a range of an open file. `size` is its size when it was opened.
pub(super) fn read_range(file: &File, size: u64, range: ByteRange) -> Result<Bytes> {
    let range = range.within_size(size)?;
    let len = to_usize(range.len())?;
    // The address in memory and the position in the file have the same remainder modulo the alignment.
    let mut bytes = block(len.saturating_add(ALIGNMENT - 1))?;
    let position = to_usize(range.start() % ALIGNMENT as u64)?;
    let address = bytes.as_ptr().addr() % ALIGNMENT;
    let lead = (position + ALIGNMENT - address) % ALIGNMENT;
    let wanted = lead..lead + len;
    let target = bytes.get_mut(wanted.clone()).unwrap_or_default();
    read_exact_at(file, target, range.start()).map_err(|e| {
        Error::new(ErrorKind::Io, format!("cannot read bytes {range}")).caused_by(e)
    })?;
    Ok(freeze(bytes).slice(wanted))
}

impl ReadAt for LocalFile {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        read_range(&self.file, self.size, range).within(|| describe_name(&self.name))
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

/// Returns the description of a file for errors, by its path.
pub(crate) fn describe(path: &Path) -> String {
    describe_name(&path.display().to_string())
}

/// Returns the description of a file for errors, by its name.
pub(super) fn describe_name(name: &str) -> String {
    format!("file `{name}`")
}

/// Returns the description of a folder for errors.
pub(crate) fn describe_folder(folder: &Path) -> String {
    format!("folder `{}`", folder.display())
}

/// Returns the absolute path of an existing folder, free of symbolic links.
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

/// Returns the identity of a file, where the system has numbers for files, and the time of its last change.
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

/// Opens a regular file and returns its metadata. It checks the kind of the file first, because opening a pipe may
/// block forever.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    check_regular(&std::fs::metadata(path)?)?;
    let file = with_descriptor(|| File::open(path))?;
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    Ok((file, metadata))
}

/// Fails if this is not a regular file.
fn check_regular(metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let found = if metadata.is_dir() {
        "a folder"
    } else {
        "a pipe, a device or a socket"
    };
    Err(Error::new(
        ErrorKind::NotAShard,
        format!("expected a regular file, found {found}"),
    ))
}

/// Fills `target` with the bytes of the file that begin at `position`.
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
