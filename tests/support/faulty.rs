//! An object store that fails at a call of choice, and whose parts take a while.

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// What the store was asked for.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Calls that write, and looks for what is there.
    pub(crate) count: usize,
    /// The call that fails, if one is to.
    pub(crate) fails_at: Option<usize>,
    /// Parts that are on their way.
    pub(crate) parts: usize,
    pub(crate) most_parts: usize,
    /// Uploads that were begun and neither completed nor aborted.
    pub(crate) uploads: usize,
}

/// A store in memory, one call of which fails.
#[derive(Debug, Default)]
pub(crate) struct Faulty {
    pub(crate) store: InMemory,
    pub(crate) calls: Arc<Mutex<Calls>>,
    /// Polls that a part takes.
    pub(crate) polls: usize,
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faulty")
    }
}

fn count(calls: &Mutex<Calls>) -> Result<()> {
    let mut calls = calls.lock().unwrap();
    calls.count += 1;
    match calls.fails_at == Some(calls.count - 1) {
        true => Err(Error::Generic {
            store: "Faulty",
            source: "the network is gone".into(),
        }),
        false => Ok(()),
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        count(&self.calls)?;
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        count(&self.calls)?;
        let upload = self.store.put_multipart_opts(location, options).await?;
        self.calls.lock().unwrap().uploads += 1;
        Ok(Box::new(FaultyUpload {
            upload,
            calls: self.calls.clone(),
            polls: self.polls,
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        count(&self.calls)?;
        self.store.get_opts(location, options).await
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
}

#[derive(Debug)]
struct FaultyUpload {
    upload: Box<dyn MultipartUpload>,
    calls: Arc<Mutex<Calls>>,
    polls: usize,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (part, calls, mut left) = (self.upload.put_part(data), self.calls.clone(), self.polls);
        Box::pin(async move {
            count(&calls)?;
            {
                let mut calls = calls.lock().unwrap();
                calls.parts += 1;
                calls.most_parts = calls.most_parts.max(calls.parts);
            }
            poll_fn(|context| {
                if left == 0 {
                    return Poll::Ready(());
                }
                left -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            calls.lock().unwrap().parts -= 1;
            part.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        count(&self.calls)?;
        let done = self.upload.complete().await?;
        self.calls.lock().unwrap().uploads -= 1;
        Ok(done)
    }

    async fn abort(&mut self) -> Result<()> {
        self.calls.lock().unwrap().uploads -= 1;
        self.upload.abort().await
    }
}
