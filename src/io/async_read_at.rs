//! Positioned asynchronous reads, for stores on a network.

use super::{ByteRange, RelativeUrl};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

/// The return type of the methods of asynchronous traits. It does not require a particular runtime.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One artifact of a shard, read asynchronously: for example, an object in S3.
///
/// The content must not change while the artifact is open: an implementation must make every read conditional on the
/// object that its first read found, and fail with [`Replaced`](ErrorKind::Replaced) if another object has taken its
/// place. It must also retry failed requests, because a scan ends with the first error. Calls may overlap, and their
/// futures may be dropped at any point.
pub trait AsyncReadAt: Send + Sync + Debug {
    /// Returns the last `len` bytes, or all bytes if there are fewer, and the size of the artifact. Opening a shard
    /// begins with this call, so it should take a single request.
    ///
    /// # Errors
    /// Returns the errors of the store.
    fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>>;

    /// Returns the bytes of each of `ranges`, in order, or an error. The caller has merged adjacent ranges, so the
    /// requests for the ranges should be sent concurrently. If an answer has another length than its range, the caller
    /// reports that as an error of the reader.
    ///
    /// # Errors
    /// Returns the errors of the store, also if a range ends beyond the artifact.
    fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>>;

    /// Returns the size in bytes, if an answer of the store has contained it.
    fn known_size(&self) -> Option<u64>;

    /// Returns the name of the artifact for errors: the path of an object, or a URL. None by default.
    fn name(&self) -> Option<String> {
        None
    }

    /// Returns the version of the artifact, such as the entity tag of an object, if an answer of the store has
    /// contained it. It differs between artifacts that have had the same name. None by default.
    fn version(&self) -> Option<String> {
        None
    }
}

/// Opens the other files of a shard of several files: [`Container`](super::Container) for asynchronous readers.
pub trait AsyncContainer: Send + Sync + Debug {
    /// Returns a reader for the artifact at `url`, relative to the folder of the directory file. Sends no request: if
    /// the artifact is missing, the first read fails with [`NotFound`](ErrorKind::NotFound).
    ///
    /// # Errors
    /// Returns [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) if the artifact is outside of the container.
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>>;
}

impl AsyncContainer for super::NoContainer {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>> {
        Err(self.refuse(url))
    }
}

/// Bytes in memory, for a shard that reads its other files asynchronously.
#[derive(Debug)]
pub(crate) struct InMemory(pub(crate) Bytes);

impl AsyncReadAt for InMemory {
    fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>> {
        let size = self.0.len() as u64;
        let range = ByteRange::try_new(size.saturating_sub(len), size);
        let tail = range.and_then(|range| Ok(self.0.slice(range.to_usize()?)));
        Box::pin(std::future::ready(tail.map(|tail| (tail, size))))
    }

    fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        let size = self.0.len() as u64;
        let bytes = ranges.iter().map(|range| {
            let range = range.within_size(size)?.to_usize()?;
            Ok(self.0.slice(range))
        });
        Box::pin(std::future::ready(bytes.collect()))
    }

    fn known_size(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }
}

/// Returns the bytes of several ranges.
///
/// # Errors
/// Returns the errors of the reader, [`Corrupt`](ErrorKind::Corrupt) for a range beyond the known size, and
/// [`Io`](ErrorKind::Io) if the answer has the wrong number of ranges or bytes.
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

/// Returns the last bytes, and the size.
///
/// # Errors
/// Returns the errors of the reader, and [`Io`](ErrorKind::Io) if the answer has the wrong number of bytes.
pub(crate) async fn read_tail_async(reader: &dyn AsyncReadAt, len: u64) -> Result<(Bytes, u64)> {
    let (tail, size) = reader.read_tail(len).await?;
    let expected = len.min(size);
    if tail.len() as u64 == expected {
        Ok((tail, size))
    } else {
        Err(Error::new(
            ErrorKind::Io,
            format!(
                "the reader was asked for the last {len} of {size} bytes: expected {expected}, got {}",
                tail.len()
            ),
        ))
    }
}
