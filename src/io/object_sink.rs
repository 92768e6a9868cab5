//! Objects that are written in parts and become visible when they are complete.

use super::multipart::Multipart;
use super::{AsyncSink, BoxFuture};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutMode};
use std::fmt;
use std::mem::take;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Options for writing objects.
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

/// An object of a store, written from front to back.
///
/// An object that fits into one part is written by a single request at the commit. A larger object is a multipart
/// upload, which the commit completes. In a tokio runtime, tasks send the parts in the background; otherwise they are
/// sent during calls of the sink. The sink copies the bytes into parts, so its memory is bounded by the parts in flight
/// and the part that is being filled.
///
/// If the object exists, the sink fails with [`AlreadyExists`](ErrorKind::AlreadyExists), unless the folder allows
/// replacing objects: see [`with_overwrite`](super::ObjectFolder::with_overwrite). It checks before the first part and
/// after the last one. A store with conditional writes also checks in the single request; a multipart upload has no
/// condition, so another writer may create the object between the last check and the commit.
///
/// [`abort`](AsyncSink::abort) cancels the upload, also after a call that was not awaited. A sink that is dropped
/// before its commit does the same if it is dropped in a tokio runtime.
pub struct ObjectSink {
    store: Arc<dyn ObjectStore>,
    path: Path,
    options: UploadOptions,
    /// The bytes of the next part.
    pending: Vec<u8>,
    multipart: Multipart,
    state: State,
    /// Whether the store has received a request that makes the object visible.
    is_asked: bool,
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
            .field("pending", &self.pending.len())
            .field("parts", &self.multipart.parts())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl ObjectSink {
    /// Creates a sink for the object at `path`. Fails if the object exists, unless it may be replaced.
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
            multipart: Multipart::default(),
            state: State::Open,
            is_asked: false,
        })
    }

    /// Sends the pending bytes as a part, after waiting until there is room for one more.
    async fn send_part(&mut self) -> object_store::Result<()> {
        let part = take(&mut self.pending).into();
        let others = self.options.parts_at_once - 1;
        let (store, path) = (&self.store, &self.path);
        self.multipart.send(store, path, part, others).await
    }

    async fn append(&mut self, mut bytes: Bytes) -> object_store::Result<()> {
        let most = self.options.part_bytes;
        while !bytes.is_empty() {
            // Not earlier: an object that fits into one part is written by a single request.
            if self.pending.len() == most {
                self.send_part().await?;
            }
            // All parts except for the last have the same size, which some stores require.
            let room = most - self.pending.len();
            let now = bytes.split_to(bytes.len().min(room));
            let needed = self.pending.len() + now.len();
            if needed > self.pending.capacity() {
                let wanted = needed.max(2 * self.pending.capacity()).min(most);
                self.pending.reserve_exact(wanted - self.pending.len());
            }
            self.pending.extend_from_slice(&now);
        }
        self.multipart.go_on().await
    }

    async fn put_all(&mut self) -> object_store::Result<()> {
        let payload = Bytes::from(take(&mut self.pending));
        if !self.options.overwrite {
            let create = PutMode::Create.into();
            self.is_asked = true;
            let put = self
                .store
                .put_opts(&self.path, payload.clone().into(), create);
            match put.await {
                Err(StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }) => {}
                done => return done.map(drop),
            }
            self.is_asked = false;
            check_free(&*self.store, &self.path, self.options).await?;
        }
        self.is_asked = true;
        self.store.put(&self.path, payload.into()).await?;
        Ok(())
    }

    async fn complete(&mut self) -> object_store::Result<()> {
        if self.multipart.is_empty() {
            return self.put_all().await;
        }
        if !self.pending.is_empty() {
            self.send_part().await?;
        }
        self.multipart.arrived().await?;
        check_free(&*self.store, &self.path, self.options).await?;
        self.is_asked = true;
        self.multipart.complete().await
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

    /// Converts an error of the store about the object.
    fn failure(&self, error: StoreError) -> Error {
        failure(&self.path, error)
    }
}

/// Converts an error of the store about an object that is being written.
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

/// Fails if the object exists and must not be replaced.
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
            self.pending = Vec::new();
            self.multipart.abort().await.map_err(|e| self.failure(e))
        })
    }

    fn may_be_visible(&self) -> bool {
        self.is_asked
    }

    fn memory_size(&self) -> usize {
        self.pending.capacity() + self.multipart.parts() * self.options.part_bytes
    }
}

impl Drop for ObjectSink {
    fn drop(&mut self) {
        if !self.multipart.is_empty()
            && let Ok(runtime) = Handle::try_current()
        {
            let mut multipart = take(&mut self.multipart);
            runtime.spawn(async move { multipart.abort().await });
        }
    }
}
