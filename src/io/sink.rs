//! Appending writes of one artifact.

use crate::error::{Error, ErrorKind, Result};

/// The destination of one artifact, written from front to back.
///
/// If a sink is dropped without [`commit`](Self::commit), the artifact does not become visible, provided that the
/// destination can discard bytes.
pub trait Sink: Send {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// Returns the errors of the destination. The artifact is lost then, and its content is undefined.
    fn write_all(&mut self, bytes: &[u8]) -> Result<()>;

    /// Ends the content. A sink that holds a scarce resource, such as an open file, makes its bytes durable and
    /// releases the resource. Nothing is visible before the [`commit`](Self::commit). A writer of many artifacts seals
    /// each one when it is complete, and commits all of them at the end.
    ///
    /// The default does nothing.
    ///
    /// # Errors
    /// Returns the errors of the destination. The artifact is lost then.
    fn seal(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes the artifact durable and visible under its final name. Nothing may be written afterwards.
    ///
    /// # Errors
    /// Returns the errors of the destination. The artifact is lost then, and not visible.
    fn commit(&mut self) -> Result<()>;
}

/// The treatment of an existing file with the name of a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExistingFile {
    /// It stays, and is an error.
    Kept,
    /// It is replaced.
    Replaced,
    /// It is replaced if it still has this version.
    ReplacedIf(String),
}

/// Appends to memory. The bytes are in the vector at once, with or without a commit.
impl Sink for Vec<u8> {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.try_reserve(bytes.len()).map_err(|e| {
            Error::new(
                ErrorKind::Io,
                format!("no memory for {} more bytes", bytes.len()),
            )
            .caused_by(e)
        })?;
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<S: Sink + ?Sized> Sink for $pointer {
            fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
                (**self).write_all(bytes)
            }

            fn seal(&mut self) -> Result<()> {
                (**self).seal()
            }

            fn commit(&mut self) -> Result<()> {
                (**self).commit()
            }
        }
    )*};
}

forward!(&mut S, Box<S>);

/// Any [`std::io::Write`] as a sink. A commit flushes it, and does not sync a file to disk. Written bytes cannot be
/// discarded.
#[derive(Debug)]
pub struct WriteSink<W> {
    inner: W,
    /// Does not hold the writer, because [`into_inner`](Self::into_inner) returns it in any state.
    state: State<()>,
}

impl<W: std::io::Write + Send> WriteSink<W> {
    /// Returns a sink that appends to `inner`.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            state: State::Open(()),
        }
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: std::io::Write + Send> Sink for WriteSink<W> {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let inner = &mut self.inner;
        self.state.write(|()| Ok(inner.write_all(bytes)?))
    }

    fn commit(&mut self) -> Result<()> {
        let inner = &mut self.inner;
        self.state.commit(|()| Ok(inner.flush()?))
    }
}

/// The state of a sink. It accepts writes while it holds its destination, but not after a commit or a failure.
#[derive(Debug)]
pub(super) enum State<W> {
    Open(W),
    Committed,
    Poisoned,
}

impl<W> State<W> {
    /// Calls `write` if the sink is open. If `write` fails, the destination is dropped.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut W) -> Result<()>) -> Result<()> {
        match self {
            Self::Open(destination) => write(destination).inspect_err(|_| *self = Self::Poisoned),
            Self::Committed => Err(Error::invalid(
                "the artifact is committed and takes no more",
            )),
            Self::Poisoned => Err(Error::new(
                ErrorKind::Poisoned,
                "an earlier write failed, so that the artifact is lost",
            )),
        }
    }

    /// Calls `commit` as the last write.
    pub(super) fn commit(&mut self, commit: impl FnOnce(W) -> Result<()>) -> Result<()> {
        self.take(|destination| {
            commit(destination)?;
            Ok(Self::Committed)
        })
    }

    /// Replaces the destination by the result of `change`. If `change` fails, the destination is dropped.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn replace(&mut self, change: impl FnOnce(W) -> Result<W>) -> Result<()> {
        self.take(|destination| Ok(Self::Open(change(destination)?)))
    }

    fn take(&mut self, next: impl FnOnce(W) -> Result<Self>) -> Result<()> {
        // Returns the error if the sink is not open.
        self.write(|_| Ok(()))?;
        if let Self::Open(destination) = std::mem::replace(self, Self::Poisoned) {
            *self = next(destination)?;
        }
        Ok(())
    }
}
