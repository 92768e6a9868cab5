//! A store that shows new objects once a statement has succeeded. The writers of DataFusion complete their files even
//! if the query fails in between, and a file with some of the rows looks like any other.

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
    UploadPart,
};
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Number of objects that are published at the same time.
const AT_ONCE: usize = 8;

/// The stores that keep back objects now, to find the store below one of them.
static CURRENT: Mutex<Vec<Weak<Withheld>>> = Mutex::new(Vec::new());

/// A store that keeps back complete objects.
#[derive(Debug)]
pub(crate) struct Withheld {
    store: Arc<dyn ObjectStore>,
    complete: Arc<Mutex<Vec<Complete>>>,
}

/// A complete object that does not appear yet.
#[derive(Debug)]
struct Complete {
    path: Path,
    data: Data,
}

#[derive(Debug)]
enum Data {
    /// A small object, which no request has sent.
    Whole(PutPayload, PutOptions),
    /// An object that has been sent in parts.
    Parts(Box<dyn MultipartUpload>),
}

impl Withheld {
    /// Returns a store over `store` that keeps back new objects. If that keeps back objects of another statement, which
    /// has been interrupted and still runs, the new one is over the store below it.
    pub(crate) fn over(store: Arc<dyn ObjectStore>) -> Arc<Self> {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        let others: Vec<Arc<Self>> = current.iter().filter_map(Weak::upgrade).collect();
        let below = others.iter().find(|other| is_same(&store, other));
        let withheld = Arc::new(Self {
            store: below.map_or(store, |other| Arc::clone(&other.store)),
            complete: Arc::default(),
        });
        current.retain(|other| other.strong_count() > 0);
        current.push(Arc::downgrade(&withheld));
        withheld
    }

    /// Returns the store itself.
    pub(crate) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Lets the complete objects appear. If one of them fails, those that have appeared are removed.
    pub(crate) async fn publish(&self) -> Result<()> {
        let is_failed = AtomicBool::new(false);
        let sent = stream::iter(self.taken()).map(|object| self.send(object, &is_failed));
        let mut sent = sent.buffer_unordered(AT_ONCE);
        let (mut published, mut failed) = (Vec::new(), None);
        while let Some(object) = sent.next().await {
            match object {
                Ok(path) => published.extend(path),
                Err(error) => {
                    is_failed.store(true, Ordering::Relaxed);
                    failed.get_or_insert(error);
                }
            }
        }
        let Some(error) = failed else {
            return Ok(());
        };
        for path in published {
            // The error of the object that has failed is reported.
            let _ = self.store.delete(&path).await;
        }
        Err(error)
    }

    /// Lets an object appear, and returns its path. After another one has failed, removes its parts.
    async fn send(&self, object: Complete, is_failed: &AtomicBool) -> Result<Option<Path>> {
        let Complete { path, data } = object;
        if is_failed.load(Ordering::Relaxed) {
            data.discard().await;
            return Ok(None);
        }
        match data {
            Data::Whole(payload, options) => {
                self.store.put_opts(&path, payload, options).await?;
            }
            Data::Parts(mut upload) => {
                if let Err(error) = upload.complete().await {
                    Data::Parts(upload).discard().await;
                    return Err(error);
                }
            }
        }
        Ok(Some(path))
    }

    /// Removes the parts of complete objects.
    pub(crate) async fn discard(&self) {
        for object in self.taken() {
            object.data.discard().await;
        }
    }

    fn taken(&self) -> Vec<Complete> {
        mem::take(&mut *self.complete.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Data {
    /// Removes the parts that have been sent.
    async fn discard(self) {
        if let Self::Parts(mut upload) = self {
            // The statement has failed; parts that stay are not visible.
            let _ = upload.abort().await;
        }
    }
}

/// Whether a store is one that keeps back objects.
pub(crate) fn is_same(store: &Arc<dyn ObjectStore>, withheld: &Arc<Withheld>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(store), Arc::as_ptr(withheld))
}

/// Keeps back a complete object, and returns the answer that its writer expects.
fn keep(complete: &Mutex<Vec<Complete>>, object: Complete) -> PutResult {
    let mut complete = complete.lock().unwrap_or_else(PoisonError::into_inner);
    complete.push(object);
    PutResult {
        e_tag: None,
        version: None,
    }
}

/// An upload that is not completed in the store when its writer completes it.
#[derive(Debug)]
struct WithheldUpload {
    path: Path,
    /// `None` once it is complete.
    upload: Option<Box<dyn MultipartUpload>>,
    complete: Arc<Mutex<Vec<Complete>>>,
}

fn ended() -> object_store::Error {
    object_store::Error::Generic {
        store: "Withheld",
        source: "the upload is complete".into(),
    }
}

#[async_trait]
impl MultipartUpload for WithheldUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        match &mut self.upload {
            Some(upload) => upload.put_part(data),
            None => Box::pin(async { Err(ended()) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let upload = self.upload.take().ok_or_else(ended)?;
        let (path, data) = (self.path.clone(), Data::Parts(upload));
        Ok(keep(&self.complete, Complete { path, data }))
    }

    async fn abort(&mut self) -> Result<()> {
        match &mut self.upload {
            Some(upload) => upload.abort().await,
            None => Err(ended()),
        }
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Withheld {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let (path, data) = (location.clone(), Data::Whole(payload, options));
        Ok(keep(&self.complete, Complete { path, data }))
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.store.put_multipart_opts(location, options).await?;
        Ok(Box::new(WithheldUpload {
            path: location.clone(),
            upload: Some(upload),
            complete: Arc::clone(&self.complete),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.store.get_opts(location, options).await
    }

    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[std::ops::Range<u64>],
    ) -> Result<Vec<bytes::Bytes>> {
        self.store.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.store.rename_opts(from, to, options).await
    }
}
