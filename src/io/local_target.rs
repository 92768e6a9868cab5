//! Finds out what an output path refers to, and whether a file may be written there.

use super::local_file::describe;
use crate::error::{Error, ErrorKind, Result, Within};
use std::fs::FileType;
use std::io;
use std::path::{Path, PathBuf};

/// The target of an output path, with symbolic links followed. An output replaces only regular files.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.amudai.shard");
/// use arrow_shard::io::LocalTarget;
/// assert_eq!(LocalTarget::find(&path)?, LocalTarget::New(path.clone()));
/// std::fs::write(&path, "a file")?;
/// assert_eq!(LocalTarget::find(&path)?, LocalTarget::File(path));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalTarget {
    /// A path where nothing exists yet. Its folder may be missing, too.
    New(PathBuf),
    /// A regular file. If the path is a symbolic link, this is its target.
    File(PathBuf),
    /// A named pipe. Only formats that are written and read from front to back can use it; shards cannot. Found on
    /// Unix only.
    Pipe(PathBuf),
    /// A device or a socket.
    Device(PathBuf),
}

impl LocalTarget {
    /// Examines an output path.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](ErrorKind::AlreadyExists) for a folder,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a symbolic link to nothing, or the errors of the operating
    /// system.
    pub fn find(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of(path).within(|| describe(path))
    }

    fn of(path: &Path) -> Result<Self> {
        let missing = |e: &io::Error| e.kind() == io::ErrorKind::NotFound;
        let found = match path.symlink_metadata() {
            Err(e) if missing(&e) => return Ok(Self::New(path.to_path_buf())),
            found => found?,
        };
        let (target, kind) = if found.is_symlink() {
            let target = path.canonicalize().map_err(|e| {
                if !missing(&e) {
                    return Error::from(e);
                }
                Error::invalid(
                    "the path is a symbolic link to nothing; name the file itself, or remove the link",
                )
            })?;
            let kind = target.metadata()?.file_type();
            (target, kind)
        } else {
            (path.to_path_buf(), found.file_type())
        };
        if kind.is_file() {
            return Ok(Self::File(target));
        }
        if is_pipe(kind) {
            return Ok(Self::Pipe(target));
        }
        if kind.is_dir() {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "the path is a folder; name a file in it",
            ));
        }
        Ok(Self::Device(target))
    }

    /// Returns the path of the file that an output creates or replaces.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument) for pipes, devices and sockets.
    pub fn into_path(self) -> Result<PathBuf> {
        let (path, found) = match self {
            Self::New(path) | Self::File(path) => return Ok(path),
            Self::Pipe(path) => (path, "a pipe"),
            Self::Device(path) => (path, "a device or a socket"),
        };
        let error = Error::invalid(format!(
            "the path is {found}, which no complete file can replace; name a file"
        ));
        Err(error.within(describe(&path)))
    }
}

#[cfg(unix)]
fn is_pipe(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_pipe(_: FileType) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
