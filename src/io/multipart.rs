//! An upload in parts, and its requests in flight.

use super::BoxFuture;
use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{Error, MultipartUpload, ObjectStore, ObjectStoreExt, Result};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

/// A request in flight, driven by a task of the runtime, or by the future that awaits it.
enum UploadRequest<T> {
    Spawned(JoinHandle<Result<T>>),
    Polled(BoxFuture<'static, Result<T>>),
}

impl<T: Send + 'static> UploadRequest<T> {
    /// Starts to send a request.
    fn start(request: BoxFuture<'static, Result<T>>) -> Self {
        match Handle::try_current() {
            Ok(runtime) => Self::Spawned(runtime.spawn(request)),
            Err(_) => Self::Polled(request),
        }
    }
}

impl UploadRequest<()> {
    /// Cancels the request. Returns it if a task drives it: awaiting it then waits until the task has ended. A request
    /// without a task has ended, because it is dropped.
    fn cancelled(self) -> Option<Self> {
        match self {
            Self::Spawned(task) => {
                task.abort();
                Some(Self::Spawned(task))
            }
            Self::Polled(_) => None,
        }
    }
}

impl<T> Future for UploadRequest<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Polled(request) => request.poll_unpin(cx),
            Self::Spawned(task) => task
                .poll_unpin(cx)
                .map(|done| done.unwrap_or_else(|e| Err(stopped(e)))),
        }
    }
}

/// Returns the error for a request with a task that panicked or a runtime that shut down.
fn stopped(error: JoinError) -> Error {
    Error::Generic {
        store: "runtime",
        source: error.into(),
    }
}

/// The uploaded parts of an object.
#[derive(Default)]
pub(super) struct Multipart {
    /// The request that begins the upload, until its answer has been taken.
    begun: Option<UploadRequest<Box<dyn MultipartUpload>>>,
    upload: Option<Box<dyn MultipartUpload>>,
    /// Parts in flight.
    parts: FuturesUnordered<UploadRequest<()>>,
}

impl Multipart {
    /// Whether no upload needs to be completed or aborted.
    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_none() && self.upload.is_none()
    }

    /// Returns the number of parts in flight.
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Sends one more part of the object at `path`, after waiting until at most `others` parts are in flight.
    pub(super) async fn send(
        &mut self,
        store: &Arc<dyn ObjectStore>,
        path: &Path,
        part: Bytes,
        others: usize,
    ) -> Result<()> {
        while self.parts.len() > others {
            self.parts.next().await.transpose()?;
        }
        if self.is_empty() {
            let (store, path) = (store.clone(), path.clone());
            let begin = Box::pin(async move { store.put_multipart(&path).await });
            self.begun = Some(UploadRequest::start(begin));
        }
        self.take_begun().await?;
        if let Some(upload) = &mut self.upload {
            let part = UploadRequest::start(upload.put_part(part.into()));
            self.parts.push(part);
        }
        Ok(())
    }

    /// Waits for the answer to the request that began the upload.
    async fn take_begun(&mut self) -> Result<()> {
        if let Some(begun) = &mut self.begun {
            // If this future is dropped here, `abort` still finds the request.
            let upload = begun.await;
            self.begun = None;
            self.upload = Some(upload?);
        }
        Ok(())
    }

    /// Drives the parts in flight without waiting for them.
    pub(super) async fn go_on(&mut self) -> Result<()> {
        let parts = &mut self.parts;
        poll_fn(|cx| {
            loop {
                match parts.poll_next_unpin(cx) {
                    Poll::Ready(Some(Ok(()))) => {}
                    Poll::Ready(Some(failed)) => return Poll::Ready(failed),
                    Poll::Ready(None) | Poll::Pending => return Poll::Ready(Ok(())),
                }
            }
        })
        .await
    }

    /// Waits until all parts have been uploaded.
    pub(super) async fn arrived(&mut self) -> Result<()> {
        while let Some(part) = self.parts.next().await {
            part?;
        }
        Ok(())
    }

    /// Completes the upload: the store combines the parts into an object.
    pub(super) async fn complete(&mut self) -> Result<()> {
        if let Some(upload) = &mut self.upload {
            upload.complete().await?;
        }
        self.upload = None;
        Ok(())
    }

    /// Aborts the upload, after all parts in flight have ended: a part that arrived later would stay in the store.
    /// After an error, the caller may try again.
    pub(super) async fn abort(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts).into_iter();
        self.parts = parts.filter_map(UploadRequest::cancelled).collect();
        while self.parts.next().await.is_some() {}
        // An upload that failed to begin needs no abort.
        let _ = self.take_begun().await;
        if let Some(upload) = &mut self.upload {
            upload.abort().await?;
        }
        self.upload = None;
        Ok(())
    }
}
