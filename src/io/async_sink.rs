//! Asynchronous appending writes, for stores on a network.

use super::BoxFuture;
use crate::error::Result;
use bytes::Bytes;

/// The destination of one artifact, written asynchronously from front to back.
///
/// Nothing is visible before [`commit`](Self::commit). After an error the artifact is lost.
pub trait AsyncSink: Send {
    /// Appends all of `bytes`. Returns once the sink has room for more. The bytes may still be on their way to the
    /// store, so a later call may report their failure.
    ///
    /// # Errors
    /// Returns the errors of the store.
    fn write_all(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<()>>;

    /// Makes the artifact durable and visible under its final name. Nothing may be written afterwards.
    ///
    /// # Errors
    /// Returns the errors of the store. The commit may have succeeded nevertheless, if the store's answer was lost.
    fn commit(&mut self) -> BoxFuture<'_, Result<()>>;

    /// Returns whether the artifact may be visible after a [`commit`](Self::commit) that failed or was not awaited: the
    /// store has received the request, but its result is unknown. Other artifacts that this one refers to must stay
    /// then.
    ///
    /// `true` by default, which may keep artifacts that nothing refers to.
    fn may_be_visible(&self) -> bool {
        true
    }

    /// Discards the written bytes. Nothing may be written afterwards. After a [`commit`](Self::commit), this does
    /// nothing. After an error, the caller may try again.
    ///
    /// A sink that is dropped without a commit discards its bytes as far as it can.
    ///
    /// # Errors
    /// Returns the errors of the store, which may keep invisible bytes in that case.
    fn abort(&mut self) -> BoxFuture<'_, Result<()>>;

    /// Returns the approximate number of bytes that the sink holds in memory.
    fn memory_size(&self) -> usize;
}

impl<S: AsyncSink + ?Sized> AsyncSink for Box<S> {
    fn write_all(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        (**self).write_all(bytes)
    }

    fn commit(&mut self) -> BoxFuture<'_, Result<()>> {
        (**self).commit()
    }

    fn may_be_visible(&self) -> bool {
        (**self).may_be_visible()
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        (**self).abort()
    }

    fn memory_size(&self) -> usize {
        (**self).memory_size()
    }
}

/// Creates the artifacts of a shard in one folder: [`SinkFactory`](super::SinkFactory) for asynchronous sinks.
pub trait AsyncSinkFactory: Send {
    /// Returns a sink for the new artifact `name`, a file name without folders.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a shard cannot refer to a file of that name,
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the artifact exists, or the errors of the store.
    fn create<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>>;

    /// Removes the artifact `name`, which this factory created and its sink committed.
    ///
    /// # Errors
    /// Returns the errors of the store.
    fn remove<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<()>>;
}
