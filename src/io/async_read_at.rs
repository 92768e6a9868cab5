//! Positioned reads that do not block, for stores behind a network.

use super::{ByteRange, RelativeUrl};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

/// What the methods of asynchronous traits return. It needs no runtime of a certain kind.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One artifact of a shard behind a store that answers later: an object of S3, say.
///
/// The content never changes while the artifact is open: a reader makes every read conditional on the
/// object that the first one met, and fails with [`Replaced`](ErrorKind::Replaced) if there is another
/// one now.
/// Retries are the reader's affair; a scan ends with the first error.
pub trait AsyncReadAt: Send + Sync + Debug {
    /// The last `len` bytes, all if there are fewer, and the size of the artifact. Opening a shard
    /// begins with it, so one request should answer it.
    ///
    /// # Errors
    /// Those of the store.
    fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>>;

    /// The bytes of each of `ranges`, in their order, all or none. The ranges have been joined where
    /// they are neighbours; requests for them should be sent at the same time. An answer of another
    /// length is reported as an error of the reader.
    ///
    /// # Errors
    /// Those of the store, also if a range ends beyond the artifact.
    fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>>;

    /// The size in bytes, if an answer of the store has told it.
    fn known_size(&self) -> Option<u64>;

    /// The name of the artifact in errors: the path of an object, or a URL. None by default.
    fn name(&self) -> Option<String> {
        None
    }

    /// Which of the artifacts that have had this name it is, such as the entity tag of an object, if an
    /// answer of the store has told it. None by default.
    fn version(&self) -> Option<String> {
        None
    }
}

/// Resolves the references of a shard of several files, as [`Container`](super::Container) does.
pub trait AsyncContainer: Send + Sync + Debug {
    /// A reader of the artifact at `url`, which need not exist: the first read tells.
    ///
    /// # Errors
    /// [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) if it lies outside of the container.
    fn open_async(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>>;
}

impl AsyncContainer for super::NoContainer {
    fn open_async(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>> {
        Err(self.refuse(url))
    }
}

/// The bytes of each of several ranges.
///
/// # Errors
/// Those of the reader, [`Corrupt`](ErrorKind::Corrupt) for a range beyond the known size, and
/// [`Io`](ErrorKind::Io) if it gives other bytes than these.
pub(crate) async fn read_all_async(
    reader: &dyn AsyncReadAt,
    ranges: Vec<ByteRange>,
) -> Result<Vec<Bytes>> {
    if let Some(size) = reader.known_size() {
        for range in &ranges {
            range.within_size(size)?;
        }
    }
    let all = reader.read_ranges(ranges.clone()).await?;
    super::read_at::check_answer(&ranges, &all)?;
    Ok(all)
}

/// The last bytes, and the size.
///
/// # Errors
/// Those of the reader, and [`Io`](ErrorKind::Io) if it gives another number of bytes.
pub(crate) async fn read_tail_async(reader: &dyn AsyncReadAt, len: u64) -> Result<(Bytes, u64)> {
    let (tail, size) = reader.read_tail(len).await?;
    let expected = len.min(size);
    match tail.len() as u64 == expected {
        true => Ok((tail, size)),
        false => Err(Error::new(
            ErrorKind::Io,
            format!(
                "the reader was asked for the last {len} of {size} bytes: expected {expected}, got {}",
                tail.len()
            ),
        )),
    }
}
