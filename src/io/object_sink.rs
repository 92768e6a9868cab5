//! Objects that are written in parts, and appear whole.

use super::objects::failure;
use super::{AsyncSink, AsyncSinkFactory, BoxFuture, ObjectFolder, RelativeUrl};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use object_store::path::Path;
use object_store::{
    Error as StoreError, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
    UploadPart,
};
use std::fmt;
use std::mem::take;
use std::sync::Arc;
use std::task::Poll;

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
/// multipart upload, whose parts are sent while more bytes come, and which the store completes at the
/// commit. Memory is bounded by the parts that are sent at once and the one that is being filled.
///
/// An object that exists is an error, [`AlreadyExists`](ErrorKind::AlreadyExists), unless the folder
/// was told [`with_overwrite`](ObjectFolder::with_overwrite). Putting in one request tells for sure
/// where the store has conditional writes; no store of the crate `object_store` completes an upload of
/// several parts on a condition, so that is looked up before the first and after the last part.
///
/// A sink that is dropped before its commit aborts the upload if that happens in a tokio runtime.
pub struct ObjectSink {
    store: Arc<dyn ObjectStore>,
    path: Path,
    options: UploadOptions,
    /// Bytes of the next part.
    pending: Vec<Bytes>,
    pending_bytes: usize,
    upload: Option<Box<dyn MultipartUpload>>,
    /// Parts on their way.
    parts: FuturesUnordered<UploadPart>,
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
        self.parts.push(upload.put_part(payload));
        // A part begins when it is polled; how far it gets now does not matter.
        let parts = &mut self.parts;
        std::future::poll_fn(|cx| match parts.poll_next_unpin(cx) {
            Poll::Ready(Some(Err(e))) => Poll::Ready(Err(e)),
            _ => Poll::Ready(Ok(())),
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
        Ok(())
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

    /// The upload, if there is one to abort.
    fn unfinished(&mut self) -> Option<Box<dyn MultipartUpload>> {
        self.parts = FuturesUnordered::new();
        self.pending = Vec::new();
        self.pending_bytes = 0;
        self.upload.take()
    }
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
            self.complete().await.map_err(|e| failure(&self.path, e))?;
            self.state = State::Committed;
            Ok(())
        })
    }

    fn abort(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if self.state != State::Committed {
                self.state = State::Lost;
            }
            match self.unfinished() {
                Some(mut upload) => {
                    let aborted = upload.abort().await;
                    aborted.map_err(|e| failure(&self.path, e))
                }
                None => Ok(()),
            }
        })
    }

    fn memory_size(&self) -> usize {
        self.pending_bytes + self.parts.len() * self.options.part_bytes
    }
}

impl Drop for ObjectSink {
    fn drop(&mut self) {
        if let Some(mut upload) = self.unfinished()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { upload.abort().await });
        }
    }
}

impl ObjectFolder {
    /// Whether objects may be replaced; off by default.
    #[must_use]
    pub fn with_overwrite(mut self, overwrite: bool) -> Self {
        self.uploads.overwrite = overwrite;
        self
    }

    /// Bytes of a part of an upload; 8 MiB by default. Most stores want 5 MiB at least, and S3 takes no
    /// more than 10,000 parts.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: usize) -> Self {
        self.uploads.part_bytes = bytes.max(1);
        self
    }

    /// Parts of one object that are sent at once; 4 by default.
    #[must_use]
    pub fn with_parts_at_once(mut self, parts: usize) -> Self {
        self.uploads.parts_at_once = parts.max(1);
        self
    }

    /// A sink for the object at `path`, wherever it is in the store.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists), unless objects may be replaced, else those of the
    /// store.
    pub async fn create_object(&self, path: &Path) -> Result<ObjectSink> {
        ObjectSink::create(self.store.clone(), path.clone(), self.uploads).await
    }
}

impl AsyncSinkFactory for ObjectFolder {
    fn create_async<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>> {
        Box::pin(async move {
            RelativeUrl::from_file_name(name)?;
            let path = self.prefix.clone().join(name);
            Ok(Box::new(self.create_object(&path).await?) as Box<dyn AsyncSink>)
        })
    }

    fn remove_async<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            RelativeUrl::from_file_name(name)?;
            let path = self.prefix.clone().join(name);
            let deleted = self.store.delete(&path).await;
            deleted.map_err(|e| failure(&path, e))
        })
    }
}
