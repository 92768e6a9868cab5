//! Objects that are written in parts, and appear whole.

use super::{AsyncSink, BoxFuture};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    Error as StoreError, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
    UploadPart,
};
use std::fmt;
use std::future::poll_fn;
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

/// A part on its way: by a task of the runtime, or by whoever polls it.
enum Part {
    Spawned(JoinHandle<object_store::Result<()>>),
    Polled(UploadPart),
}

impl Part {
    /// Begins to send.
    fn start(part: UploadPart) -> Self {
        match Handle::try_current() {
            Ok(runtime) => Self::Spawned(runtime.spawn(part)),
            Err(_) => Self::Polled(part),
        }
    }
}

impl Future for Part {
    type Output = object_store::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Polled(part) => part.poll_unpin(cx),
            Self::Spawned(task) => task
                .poll_unpin(cx)
                .map(|done| done.unwrap_or_else(|e| Err(stopped(e)))),
        }
    }
}

/// The task of a part panicked, or its runtime ended.
fn stopped(error: JoinError) -> StoreError {
    StoreError::Generic {
        store: "runtime",
        source: error.into(),
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Self::Spawned(task) = self {
            task.abort();
        }
    }
}

/// How objects are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct UploadOptions {
    pub(super) overwrite: bool,
    pub(super) part_bytes: usize,
    pub(super) parts_at_once: usize,
}

impl Default for UploadOptions {
    fn default() -> Self {
        Self {
            overwrite: false,
            part_bytes: 8 << 20,
            parts_at_once: 4,
        }
    }
}

/// An object of a store, written front to back.
///
/// One that is no larger than a part is put in one request when it is committed. A larger one is a
/// multipart upload, which the store completes at the commit. In a tokio runtime its parts are sent while
/// the caller does something else; elsewhere, while the sink is written to. Memory is bounded by the parts
/// that are sent at once and the one that is being filled.
///
/// Writing to an object that exists fails with [`AlreadyExists`](ErrorKind::AlreadyExists), unless the
/// folder was told [`with_overwrite`](super::ObjectFolder::with_overwrite). The sink looks before the first part
/// and after the last one. A store with conditional writes also refuses a single put; a multipart upload
/// has no condition, so that somebody else may create the object between the last look and the commit.
///
/// A sink that is dropped before its commit aborts the upload, if that happens in a tokio runtime.
pub struct ObjectSink {
    store: Arc<dyn ObjectStore>,
    path: Path,
    options: UploadOptions,
    /// Bytes of the next part.
    pending: Vec<Bytes>,
    pending_bytes: usize,
    upload: Option<Box<dyn MultipartUpload>>,
    /// Parts on their way.
    parts: FuturesUnordered<Part>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Open,
    Committed,
    Lost,
}

impl fmt::Debug for ObjectSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectSink")
            .field("path", &self.path)
            .field("options", &self.options)
            .field("pending_bytes", &self.pending_bytes)
            .field("parts", &self.parts.len())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl ObjectSink {
    /// An object at `path`. Looks first whether there is one, unless it may be replaced.
    pub(super) async fn create(
        store: Arc<dyn ObjectStore>,
        path: Path,
        options: UploadOptions,
    ) -> Result<Self> {
        let free = check_free(&*store, &path, options).await;
        free.map_err(|e| failure(&path, e))?;
        Ok(Self {
            store,
            path,
            options,
            pending: Vec::new(),
            pending_bytes: 0,
            upload: None,
            parts: FuturesUnordered::new(),
            state: State::Open,
        })
    }

    fn take_pending(&mut self) -> PutPayload {
        self.pending_bytes = 0;
        take(&mut self.pending).into_iter().collect()
    }

    /// Sends the pending bytes as a part, once there is room for one more.
    async fn send_part(&mut self) -> object_store::Result<()> {
        while self.parts.len() >= self.options.parts_at_once {
            self.parts.next().await.transpose()?;
        }
        let payload = self.take_pending();
        let upload = match &mut self.upload {
            Some(upload) => upload,
            None => {
                let upload = self.store.put_multipart(&self.path).await?;
                self.upload.insert(upload)
            }
        };
        self.parts.push(Part::start(upload.put_part(payload)));
        Ok(())
    }

    /// Lets the parts that are on their way go on, without waiting for them.
    async fn go_on(&mut self) -> object_store::Result<()> {
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

    async fn append(&mut self, mut bytes: Bytes) -> object_store::Result<()> {
        while !bytes.is_empty() {
            // All parts but the last have one size, which some stores ask for.
            let room = self.options.part_bytes - self.pending_bytes;
            let now = bytes.split_to(bytes.len().min(room));
            self.pending_bytes += now.len();
            self.pending.push(now);
            if self.pending_bytes == self.options.part_bytes {
                self.send_part().await?;
            }
        }
        self.go_on().await
    }

    async fn put_all(&mut self) -> object_store::Result<()> {
        let payload = self.take_pending();
        if self.options.overwrite {
            self.store.put(&self.path, payload).await?;
            return Ok(());
        }
        let create = PutMode::Create.into();
        match self
            .store
            .put_opts(&self.path, payload.clone(), create)
            .await
        {
            Err(StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }) => {
                check_free(&*self.store, &self.path, self.options).await?;
                self.store.put(&self.path, payload).await?;
                Ok(())
            }
            done => done.map(drop),
        }
    }

    async fn complete(&mut self) -> object_store::Result<()> {
        if self.upload.is_none() {
            return self.put_all().await;
        }
        if self.pending_bytes > 0 {
            self.send_part().await?;
        }
        while let Some(part) = self.parts.next().await {
            part?;
        }
        check_free(&*self.store, &self.path, self.options).await?;
        if let Some(upload) = &mut self.upload {
            upload.complete().await?;
        }
        self.upload = None;
        Ok(())
    }

    fn check_open(&self) -> Result<()> {
        match self.state {
            State::Open => Ok(()),
            State::Committed => Err(Error::invalid("the object is committed and takes no more")),
            State::Lost => Err(Error::new(
                ErrorKind::Poisoned,
                "an earlier write failed or was not waited for, so that the object is lost",
            )),
        }
    }

    /// What a store said of the object that is written.
    fn failure(&self, error: StoreError) -> Error {
        failure(&self.path, error)
    }

    /// Forgets the parts and what is pending.
    fn stop(&mut self) {
        self.parts = FuturesUnordered::new();
        self.pending = Vec::new();
        self.pending_bytes = 0;
    }
}

/// What a store said of an object that is written.
pub(super) fn failure(path: &Path, error: StoreError) -> Error {
    let (kind, message) = match &error {
        StoreError::AlreadyExists { .. } => (
            ErrorKind::AlreadyExists,
            "the object exists; choose another name, delete it, or ask to overwrite it",
        ),
        StoreError::NotFound { .. } => (
            ErrorKind::NotFound,
            "the store has no such place, or has lost the upload",
        ),
        StoreError::NotImplemented { .. } | StoreError::NotSupported { .. } => (
            ErrorKind::Unsupported,
            "the store cannot do what writing needs",
        ),
        _ => (ErrorKind::Io, "the object store failed"),
    };
    Error::new(kind, message)
        .caused_by(error)
        .within(format!("object `{path}`"))
}

/// Refuses an object that must not be replaced.
async fn check_free(
    store: &dyn ObjectStore,
    path: &Path,
    options: UploadOptions,
) -> object_store::Result<()> {
    if options.overwrite {
        return Ok(());
    }
    match store.head(path).await {
        Ok(_) => Err(StoreError::AlreadyExists {
            path: path.to_string(),
            source: "an object of this name exists".into(),
        }),
        Err(StoreError::NotFound { .. }) => Ok(()),
        Err(e) => Err(e),
    }
}

impl AsyncSink for ObjectSink {
    fn write_all(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.check_open()?;
            self.state = State::Lost;
            self.append(bytes)
                .await
                .map_err(|e| failure(&self.path, e))?;
            self.state = State::Open;
            Ok(())
        })
    }

    fn commit(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.check_open()?;
            self.state = State::Lost;
            self.complete().await.map_err(|e| self.failure(e))?;
            self.state = State::Committed;
            Ok(())
        })
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if self.state != State::Committed {
                self.state = State::Lost;
            }
            self.stop();
            if let Some(upload) = &mut self.upload {
                let aborted = upload.abort().await;
                aborted.map_err(|e| self.failure(e))?;
                self.upload = None;
            }
            Ok(())
        })
    }

    fn memory_size(&self) -> usize {
        self.pending_bytes + self.parts.len() * self.options.part_bytes
    }
}

impl Drop for ObjectSink {
    fn drop(&mut self) {
        self.stop();
        if let Some(mut upload) = self.upload.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { upload.abort().await });
        }
    }
}
