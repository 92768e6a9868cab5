//! A store whose new objects appear once a statement has succeeded. The writers of DataFusion complete their files even
//! if the query fails in between, and a file with some of the rows looks like any other.

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// A store that keeps back complete objects.
#[derive(Debug)]
pub(crate) struct Withheld {
    store: Arc<dyn ObjectStore>,
    complete: Arc<Mutex<Vec<Complete>>>,
}

/// A complete object that does not appear yet.
#[derive(Debug)]
enum Complete {
    /// A small object, which no request has sent.
    Whole(Path, PutPayload, PutOptions),
    /// An object whose parts have been sent.
    Parts(Box<dyn MultipartUpload>),
}

impl Withheld {
    /// Returns a store over `store` that keeps back new objects.
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            store,
            complete: Arc::default(),
        }
    }

    /// Returns the store itself.
    pub(crate) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Lets the complete objects appear, in the order in which they were completed.
    pub(crate) async fn publish(&self) -> Result<()> {
        for object in self.taken() {
            match object {
                Complete::Whole(path, payload, options) => {
                    self.store.put_opts(&path, payload, options).await?;
                }
                Complete::Parts(mut upload) => {
                    upload.complete().await?;
                }
            }
        }
        Ok(())
    }

    /// Removes the parts of complete objects.
    pub(crate) async fn discard(&self) {
        for object in self.taken() {
            if let Complete::Parts(mut upload) = object {
                // The query has failed; parts that stay are not visible.
                let _ = upload.abort().await;
            }
        }
    }

    fn taken(&self) -> Vec<Complete> {
        mem::take(&mut *self.complete.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
        Ok(keep(&self.complete, Complete::Parts(upload)))
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
        let object = Complete::Whole(location.clone(), payload, options);
        Ok(keep(&self.complete, object))
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.store.put_multipart_opts(location, options).await?;
        Ok(Box::new(WithheldUpload {
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
