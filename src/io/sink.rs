//! Appending writes of one artifact.

use crate::error::{Error, ErrorKind, Result};

/// Where one artifact is written, front to back.
///
/// A sink that is dropped without [`commit`](Self::commit) leaves nothing behind, if its destination
/// can take bytes back.
pub trait Sink: Send {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// Those of the destination; what was written is then undefined, and the artifact is lost.
    fn write_all(&mut self, bytes: &[u8]) -> Result<()>;

    /// Ends the content. A sink that holds a scarce resource, such as an open file, makes its bytes
    /// durable and releases the resource; nothing is visible before the [`commit`](Self::commit). A
    /// writer of many artifacts seals each as soon as it is complete, and commits them at the end.
    ///
    /// The default does nothing.
    ///
    /// # Errors
    /// Those of the destination; the artifact is then lost.
    fn seal(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes everything durable and visible under its final name; nothing may be written after.
    ///
    /// # Errors
    /// Those of the destination; the artifact is then lost, and not visible.
    fn commit(&mut self) -> Result<()>;
}

/// Appends to memory. There is nothing to take back, so neither a commit nor its absence matters.
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

/// Any [`std::io::Write`] as a sink: a commit flushes it. Bytes it was given cannot be taken back.
#[derive(Debug)]
pub struct WriteSink<W> {
    inner: W,
    /// The writer stays outside, because [`into_inner`](Self::into_inner) wants it after all.
    state: State<()>,
}

impl<W: std::io::Write + Send> WriteSink<W> {
    /// A sink that appends to `inner`.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            state: State::Open(()),
        }
    }

    /// The writer, with what was written to it.
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

/// What a sink may still do: anything while it holds its destination, nothing after a commit, and
/// nothing after a failure.
#[derive(Debug)]
pub(super) enum State<W> {
    Open(W),
    Committed,
    Poisoned,
}

impl<W> State<W> {
    /// Runs `write`, if it may still; its failure drops the destination.
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

    /// Runs `commit` as the last write.
    pub(super) fn commit(&mut self, commit: impl FnOnce(W) -> Result<()>) -> Result<()> {
        self.take(|destination| {
            commit(destination)?;
            Ok(Self::Committed)
        })
    }

    /// Goes on with what `change` makes of the destination, which its failure drops.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn replace(&mut self, change: impl FnOnce(W) -> Result<W>) -> Result<()> {
        self.take(|destination| Ok(Self::Open(change(destination)?)))
    }

    fn take(&mut self, next: impl FnOnce(W) -> Result<Self>) -> Result<()> {
        // Tells why nothing may be done, if so.
        self.write(|_| Ok(()))?;
        if let Self::Open(destination) = std::mem::replace(self, Self::Poisoned) {
            *self = next(destination)?;
        }
        Ok(())
    }
}
