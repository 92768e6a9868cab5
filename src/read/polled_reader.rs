//! A reader of batches for callers that poll.

use super::batches::BatchReader;
use crate::error::Result;
use crate::io::BoxFuture;
use arrow_array::RecordBatch;
use std::fmt;
use std::task::{Context, Poll};

/// The future of the next batch; returns the reader, too.
type Working = BoxFuture<'static, (BatchReader, Option<Result<RecordBatch>>)>;

/// A reader, or the future of its next batch.
pub(in crate::read) enum PolledReader {
    Idle(BatchReader),
    Working(Working),
    /// After the last batch. The reader is kept because others may share the bytes that it holds.
    Ended(BatchReader),
    /// After an error, or before the first reader.
    Over,
}

impl fmt::Debug for PolledReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle(reader) => f.debug_tuple("Idle").field(reader).finish(),
            Self::Working(_) => f.write_str("Working"),
            Self::Ended(_) => f.write_str("Ended"),
            Self::Over => f.write_str("Over"),
        }
    }
}

impl PolledReader {
    /// Polls for the next batch; nothing follows an error.
    pub(in crate::read) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        let mut working = match std::mem::replace(self, Self::Over) {
            Self::Idle(mut reader) => Box::pin(async move {
                let next = reader.next_batch().await;
                (reader, next)
            }),
            Self::Working(working) => working,
            Self::Ended(reader) => {
                *self = Self::Ended(reader);
                return Poll::Ready(None);
            }
            Self::Over => return Poll::Ready(None),
        };
        match working.as_mut().poll(context) {
            Poll::Pending => {
                *self = Self::Working(working);
                Poll::Pending
            }
            Poll::Ready((reader, next)) => {
                match &next {
                    Some(Ok(_)) => *self = Self::Idle(reader),
                    None => *self = Self::Ended(reader),
                    Some(Err(_)) => {}
                }
                Poll::Ready(next)
            }
        }
    }
}
