//! The file that a Lance writer writes to.

use arrow_shard::io::{LocalSink, Sink};
use lance_io::object_writer::WriteResult;
use lance_io::traits::Writer;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;

/// Bytes on their way to a file that appears when it is complete, or to nowhere.
pub(super) struct Output {
    sink: Option<LocalSink>,
    written: usize,
}

impl Output {
    /// Writes to a file. The shutdown commits it.
    pub(super) fn file(sink: LocalSink) -> Self {
        Self {
            sink: Some(sink),
            written: 0,
        }
    }

    /// Loses what it is given.
    pub(super) fn nowhere() -> Self {
        Self {
            sink: None,
            written: 0,
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.sink {
            Some(sink) => sink.write_all(bytes).map_err(io::Error::other),
            None => Ok(()),
        };
        if written.is_ok() {
            self.written += bytes.len();
        }
        Poll::Ready(written.map(|()| bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[async_trait::async_trait]
impl Writer for Output {
    async fn tell(&mut self) -> lance_core::Result<usize> {
        Ok(self.written)
    }

    async fn shutdown(&mut self) -> lance_core::Result<WriteResult> {
        if let Some(mut sink) = self.sink.take() {
            sink.commit()
                .map_err(|e| lance_core::Error::wrapped(Box::new(e)))?;
        }
        Ok(WriteResult {
            size: self.written,
            e_tag: None,
        })
    }
}
