//! Readers of both kinds, blocking and asynchronous, behind one interface.

use super::waiting::check_may_wait;
use crate::error::{Error, ErrorKind, Result};
use crate::format::HEADER_LEN;
use crate::io::{AsyncReadAt, ByteRange, ReadAt, read_all_async, read_one, read_tail_async};
use bytes::Bytes;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// A reader of an artifact.
#[derive(Debug, Clone)]
pub(in crate::read) enum ArtifactReader {
    Blocking(Arc<dyn ReadAt>),
    Async(Arc<dyn AsyncReadAt>),
}

impl ArtifactReader {
    /// Returns the last `len` bytes, and the size of the file.
    pub(in crate::read) async fn tail(&self, len: u64) -> Result<(Bytes, u64)> {
        match self {
            Self::Blocking(reader) => {
                let size = reader.size()?;
                let len = len.min(size);
                let range = ByteRange::with_len(size - len, len)?;
                let tail = match reader.resident() {
                    Some(bytes) if bytes.len() as u64 == size => bytes.slice(range.to_usize()?),
                    _ => read_one(&**reader, range)?,
                };
                Ok((tail, size))
            }
            Self::Async(reader) => read_tail_async(&**reader, len).await,
        }
    }

    /// Returns the bytes of a range.
    pub(in crate::read) async fn one(&self, range: ByteRange) -> Result<Bytes> {
        match self {
            Self::Blocking(reader) => read_one(&**reader, range),
            Self::Async(reader) => {
                let all = read_all_async(&**reader, vec![range]).await?;
                all.into_iter()
                    .next()
                    .ok_or_else(|| Error::new(ErrorKind::Io, "the reader gave nothing"))
            }
        }
    }

    /// Returns all bytes, if they are in memory.
    pub(in crate::read) fn resident(&self) -> Option<Bytes> {
        match self {
            Self::Blocking(reader) => reader.resident(),
            Self::Async(_) => None,
        }
    }

    /// Whether small reads are as efficient as large ones.
    pub(in crate::read) fn is_near(&self) -> bool {
        match self {
            Self::Blocking(reader) => reader.is_near(),
            Self::Async(_) => false,
        }
    }

    /// Returns the size in bytes.
    pub(in crate::read) async fn size(&self) -> Result<u64> {
        let reader = match self {
            Self::Blocking(reader) => return reader.size(),
            Self::Async(reader) => reader,
        };
        match reader.known_size() {
            Some(size) => Ok(size),
            None => {
                check_may_wait()?;
                let (_, size) = read_tail_async(&**reader, HEADER_LEN as u64).await?;
                Ok(size)
            }
        }
    }
}

/// Polls all futures together, and returns their outputs in the order of the futures.
pub(super) async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.map(|future| Some(Box::pin(future))).collect();
    let mut done: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, done) in running.iter_mut().zip(&mut done) {
            if let Some(polled) = future
                && let Poll::Ready(output) = polled.as_mut().poll(context)
            {
                *done = Some(output);
                *future = None;
            }
        }
        if running.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
