//! An upload in parts, and what of it is on its way.

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

/// A request on its way: sent by a task of the runtime, or by whoever polls it.
enum Request<T> {
    Spawned(JoinHandle<Result<T>>),
    Polled(BoxFuture<'static, Result<T>>),
}

impl<T: Send + 'static> Request<T> {
    /// Begins to send.
    fn start(request: BoxFuture<'static, Result<T>>) -> Self {
        match Handle::try_current() {
            Ok(runtime) => Self::Spawned(runtime.spawn(request)),
            Err(_) => Self::Polled(request),
        }
    }
}

impl Request<()> {
    /// Ends it; whoever waits for it knows when it has ended.
    fn cancel(&mut self) {
        match self {
            Self::Spawned(task) => task.abort(),
            Self::Polled(request) => *request = Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl<T> Future for Request<T> {
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

/// The task of a request panicked, or its runtime ended.
fn stopped(error: JoinError) -> Error {
    Error::Generic {
        store: "runtime",
        source: error.into(),
    }
}

/// The parts of an object, from the first one on.
#[derive(Default)]
pub(super) struct Multipart {
    /// The request that begins the upload, whose answer nobody has taken yet.
    begun: Option<Request<Box<dyn MultipartUpload>>>,
    upload: Option<Box<dyn MultipartUpload>>,
    /// Parts on their way.
    parts: FuturesUnordered<Request<()>>,
}

impl Multipart {
    /// Whether there is nothing to complete and nothing to abort.
    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_none() && self.upload.is_none()
    }

    /// Parts on their way.
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Sends one more part of the object at `path`, once no more than `others` are on their way.
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
            self.begun = Some(Request::start(begin));
        }
        self.take_begun().await?;
        if let Some(upload) = &mut self.upload {
            let part = Request::start(upload.put_part(part.into()));
            self.parts.push(part);
        }
        Ok(())
    }

    /// Waits for the answer to the request that began the upload.
    async fn take_begun(&mut self) -> Result<()> {
        if let Some(begun) = &mut self.begun {
            // If nobody waits any more, the request is still there for whoever aborts.
            let upload = begun.await;
            self.begun = None;
            self.upload = Some(upload?);
        }
        Ok(())
    }

    /// Lets the parts that are on their way go on, without waiting for them.
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

    /// Waits until all parts have arrived.
    pub(super) async fn arrived(&mut self) -> Result<()> {
        while let Some(part) = self.parts.next().await {
            part?;
        }
        Ok(())
    }

    /// Asks the store to make an object of the parts.
    pub(super) async fn complete(&mut self) -> Result<()> {
        if let Some(upload) = &mut self.upload {
            upload.complete().await?;
        }
        self.upload = None;
        Ok(())
    }

    /// Asks the store to forget the parts, once none is on its way: one that came later would stay. May
    /// be tried again.
    pub(super) async fn abort(&mut self) -> Result<()> {
        self.parts.iter_mut().for_each(Request::cancel);
        while self.parts.next().await.is_some() {}
        // An upload that did not begin needs no abort.
        let _ = self.take_begun().await;
        if let Some(upload) = &mut self.upload {
            upload.abort().await?;
        }
        self.upload = None;
        Ok(())
    }
}
