//! The destinations of output bytes.

use super::failed;
#[cfg(feature = "cloud")]
use crate::cloud::{Object, ObjectOutput};
use crate::failure::{Failure, REPLACE};
use crate::file_format::{FileFormat, is_standard};
use crate::location::PathLocation;
use arrow_shard::io::{LocalSink, LocalTarget, Sink};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

/// Number of bytes that are collected before they are passed to a store.
#[cfg(feature = "cloud")]
const BUFFER_BYTES: usize = 1 << 18;

/// An output, by what exists at its path.
#[derive(Debug)]
pub(crate) enum OutputPlace {
    /// Standard output.
    Standard,
    /// A file that appears when it is complete. It may replace an existing one.
    File(PathBuf),
    /// A named pipe, which another process reads.
    Pipe(PathBuf),
    /// The null device, which discards bytes of every format.
    Null,
    /// An object of a store, which appears when it is complete. It may replace an existing one.
    #[cfg(feature = "cloud")]
    Object(Object),
}

impl OutputPlace {
    /// Finds the output at `path`, with symbolic links followed. An existing file needs `force`. Devices are errors,
    /// except for the null device and standard output.
    pub(crate) fn find(path: &Path, format: FileFormat, force: bool) -> Result<Self, Failure> {
        if is_standard(path) {
            return Ok(Self::Standard);
        }
        #[cfg_attr(
            not(feature = "cloud"),
            expect(
                clippy::infallible_destructuring_match,
                reason = "with `cloud` there are two"
            )
        )]
        let local = match PathLocation::of(path)? {
            PathLocation::Local(local) => local,
            #[cfg(feature = "cloud")]
            PathLocation::Object(object) => return Ok(Self::Object(object)),
        };
        if local == Path::new("/dev/stdout") && format.is_sequential() {
            return Ok(Self::Standard);
        }
        let shown = local.display();
        match LocalTarget::find(&local)? {
            LocalTarget::New(path) => Ok(Self::File(path)),
            LocalTarget::File(path) if force => Ok(Self::File(path)),
            LocalTarget::File(_) => Err(Failure::new(format!("{shown} exists; {REPLACE}"))),
            LocalTarget::Device(device) if is_null(&device) => Ok(Self::Null),
            LocalTarget::Device(_) => Err(Failure::new(format!(
                "{shown} is a device, not a file; name a file, or write to standard output with `-`"
            ))),
            LocalTarget::Pipe(path) if format.is_sequential() => Ok(Self::Pipe(path)),
            LocalTarget::Pipe(_) => Err(Failure::Usage(format!(
                "{shown} is a pipe, which cannot have the format {format}; use a file, or ipc-stream, csv or ndjson"
            ))),
        }
    }
}

/// Whether a device is the null device.
fn is_null(device: &Path) -> bool {
    let device = device.canonicalize();
    cfg!(unix) && device.is_ok_and(|device| device == Path::new("/dev/null"))
}

/// An open destination: a file that appears when it is complete, or a stream that another process reads.
pub(crate) enum Destination {
    /// A file.
    File(LocalSink),
    /// A named pipe.
    Pipe(BufWriter<File>),
    /// Standard output.
    Standard(BufWriter<Stdout>),
    /// The null device.
    Null(io::Sink),
    /// An object that appears when it is complete.
    #[cfg(feature = "cloud")]
    Object(BufWriter<ObjectOutput>),
}

impl Destination {
    /// Opens the output. Opening a pipe waits for its reader.
    pub(super) fn open(place: &OutputPlace, force: bool) -> Result<Self, Failure> {
        Ok(match place {
            OutputPlace::Standard => Self::standard(),
            OutputPlace::Null => Self::Null(io::sink()),
            OutputPlace::File(path) if force => Self::File(LocalSink::create_or_replace(path)?),
            OutputPlace::File(path) => Self::File(LocalSink::create(path).map_err(failed)?),
            OutputPlace::Pipe(path) => {
                Self::Pipe(BufWriter::new(OpenOptions::new().write(true).open(path)?))
            }
            #[cfg(feature = "cloud")]
            OutputPlace::Object(object) => {
                let sink = object.sink(force).map_err(failed)?;
                Self::Object(BufWriter::with_capacity(BUFFER_BYTES, sink))
            }
        })
    }

    /// Returns standard output.
    pub(crate) fn standard() -> Self {
        Self::Standard(BufWriter::new(io::stdout()))
    }

    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        match self {
            Self::File(sink) => sink.commit().map_err(failed),
            Self::Pipe(_) | Self::Standard(_) | Self::Null(_) => Ok(self.flush()?),
            #[cfg(feature = "cloud")]
            Self::Object(out) => {
                out.flush()?;
                out.get_mut().commit().map_err(failed)
            }
        }
    }
}

/// Exits successfully if the reader of the output has closed it, because it needs no more.
fn unless_broken<T>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => other,
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(sink) => {
                sink.write_all(bytes).map_err(io::Error::other)?;
                Ok(bytes.len())
            }
            Self::Pipe(out) => unless_broken(out.write(bytes)),
            Self::Standard(out) => unless_broken(out.write(bytes)),
            Self::Null(out) => out.write(bytes),
            #[cfg(feature = "cloud")]
            Self::Object(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Pipe(out) => unless_broken(out.flush()),
            Self::Standard(out) => unless_broken(out.flush()),
            Self::Null(out) => out.flush(),
            #[cfg(feature = "cloud")]
            Self::Object(out) => out.flush(),
        }
    }
}
