//! A reader of batches that is polled.

use super::batches::BatchReader;
use crate::error::Result;
use crate::io::BoxFuture;
use arrow_array::RecordBatch;
use std::fmt;
use std::task::{Context, Poll};

/// What a reader works on, and the reader.
type Working = BoxFuture<'static, (BatchReader, Option<Result<RecordBatch>>)>;

/// A reader, or the batch that it is working on.
pub(in crate::read) enum PolledReader {
    Idle(BatchReader),
    Working(Working),
    /// Behind the last batch. What the reader holds, others need not fetch.
    Ended(BatchReader),
    /// Behind an error, or before the first reader.
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
    /// The next batch; an error is the last thing to come.
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
