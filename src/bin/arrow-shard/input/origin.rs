//! The sources of an input's bytes.

use crate::content::{self, Pipe};
use crate::failure::Failure;
use crate::file_format::is_standard;
use crate::location::PathLocation;
use crate::temporary;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// An input that has not been read.
#[derive(Debug)]
pub(super) enum Origin {
    /// Standard input.
    Standard,
    /// A pipe that was examined to recognize its format.
    Pipe(Pipe),
    /// A file or a pipe.
    Path(PathBuf),
    /// A local copy of an object.
    #[cfg(feature = "cloud")]
    Copy(File),
}

impl Origin {
    /// Finds the input at `path`. Objects are copied, because readers seek in them, or read them twice.
    pub(super) fn find(path: &Path) -> Result<Self, Failure> {
        if is_standard(path) {
            return Ok(Self::Standard);
        }
        match PathLocation::of(path)? {
            PathLocation::Local(path) => Ok(match content::examined_pipe(&path) {
                Some(pipe) => Self::Pipe(pipe),
                None => Self::Path(path),
            }),
            #[cfg(feature = "cloud")]
            PathLocation::Object(object) => {
                let mut copy = Copy::new()?;
                object.download(|bytes| copy.append(bytes))?;
                copy.finish().map(Self::Copy)
            }
        }
    }

    /// Returns the path of a file or a pipe.
    pub(super) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Path(path) => Some(path.clone()),
            _ => None,
        }
    }

    /// Returns the number of bytes, or 0 if it is unknown.
    pub(super) fn bytes(&self) -> u64 {
        let metadata = match self {
            Self::Standard | Self::Pipe(_) => return 0,
            Self::Path(path) => path.metadata(),
            #[cfg(feature = "cloud")]
            Self::Copy(file) => file.metadata(),
        };
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// Returns the file, positioned at its start.
    pub(super) fn file(self) -> Result<File, Failure> {
        match self {
            Self::Standard | Self::Pipe(_) => Err(Failure::new(
                "standard input and pipes can only be read from front to back",
            )),
            Self::Path(path) => Ok(File::open(path)?),
            #[cfg(feature = "cloud")]
            Self::Copy(file) => Ok(file),
        }
    }
}

/// A temporary file without a name, so that it disappears no matter how the process ends.
pub(super) struct Copy(File);

impl Copy {
    pub(super) fn new() -> Result<Self, Failure> {
        let file = tempfile::tempfile().map_err(Self::failed)?;
        Ok(Self(file))
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.write_all(bytes).map_err(Self::failed)
    }

    /// Returns the file, positioned at its start.
    pub(super) fn finish(mut self) -> Result<File, Failure> {
        self.0.rewind().map_err(Self::failed)?;
        Ok(self.0)
    }

    fn failed(error: io::Error) -> Failure {
        Failure::from(error).within(temporary::place())
    }
}
