//! Appending writes that do not block, for stores behind a network.

use super::BoxFuture;
use crate::error::Result;
use bytes::Bytes;

/// Where one artifact is written, front to back, by a store that answers later.
///
/// Nothing is visible before [`commit`](Self::commit). After an error the artifact is lost.
pub trait AsyncSink: Send {
    /// Appends all of `bytes`. Returns once the sink has room for more: what it has taken may still be
    /// on its way to the store, and its failure may be reported by a later call.
    ///
    /// # Errors
    /// Those of the store.
    fn write_all(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<()>>;

    /// Makes everything durable and visible under its final name; nothing may be written after.
    ///
    /// # Errors
    /// Those of the store. A store whose answer got lost may have done it all the same.
    fn commit(&mut self) -> BoxFuture<'_, Result<()>>;

    /// Whether the artifact may be visible after a [`commit`](Self::commit) that failed or was not waited
    /// for: the store was asked for it, and nobody knows whether it did it. Other artifacts that this one
    /// refers to then stay where they are.
    ///
    /// `true` by default, which leaves more than is needed.
    fn may_be_visible(&self) -> bool {
        true
    }

    /// Takes back what was written; nothing may be written after. Does nothing after a
    /// [`commit`](Self::commit). After an error it may be tried again.
    ///
    /// A sink that is dropped instead does the same as well as it can.
    ///
    /// # Errors
    /// Those of the store, which may then keep bytes that nobody sees.
    fn abort(&mut self) -> BoxFuture<'_, Result<()>>;

    /// Bytes that the sink holds in memory, about.
    fn memory_size(&self) -> usize;
}

/// Creates the artifacts of a shard, all in one folder, as [`SinkFactory`](super::SinkFactory) does.
pub trait AsyncSinkFactory: Send {
    /// A sink for the new artifact `name`, a file name without folders.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if `name` is no file name that a shard can
    /// refer to, [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if there is one of that name, else
    /// those of the store.
    fn create_async<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>>;

    /// Removes the artifact `name`, which was created here and committed.
    ///
    /// # Errors
    /// Those of the store.
    fn remove_async<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<()>>;
}
