//! An object store that records requests, fails at a chosen call, and delays the upload of parts.

#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use super::support::polls::polls;
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// The recorded requests.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Calls that write, read, abort or delete.
    pub(crate) count: usize,
    /// The number of the call that fails; it may fail after the store has executed it.
    pub(crate) fails_at: Option<usize>,
    pub(crate) fails_after: bool,
    /// Number of calls after it that fail, too.
    pub(crate) fails_more: usize,
    /// The number of a call that is sent again if it is a put, as after a lost answer.
    pub(crate) sent_again: Option<usize>,
    /// Bytes of each answer to a read.
    pub(crate) reads: Vec<u64>,
    /// Reads that wait for their answer.
    waiting: usize,
    /// Number of reads that were sent while no other was waiting.
    pub(crate) rounds: usize,
    /// Parts in flight.
    pub(crate) parts: usize,
    pub(crate) most_parts: usize,
    /// Uploads that are neither completed nor aborted.
    pub(crate) uploads: usize,
}

/// A wrapper of another store.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) store: Arc<dyn ObjectStore>,
    calls: Arc<Mutex<Calls>>,
    /// Polls for a part.
    polls: usize,
    /// Whether parts never arrive.
    parts_hang: bool,
}

impl Default for Watched {
    fn default() -> Self {
        Self::new(Arc::new(InMemory::new()))
    }
}

impl Watched {
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            store,
            calls: Arc::default(),
            polls: 0,
            parts_hang: false,
        }
    }

    pub(crate) fn with_polls(mut self, polls: usize) -> Self {
        self.polls = polls;
        self
    }

    /// Lets no part arrive. Nothing wakes a part, as if its store worked on other threads.
    pub(crate) fn with_hanging_parts(mut self) -> Self {
        self.parts_hang = true;
        self
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap()
    }

    /// Clears the recorded requests.
    pub(crate) fn forget(&self) {
        *self.calls() = Calls::default();
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched")
    }
}

/// Executes and counts a call; it may fail before or after.
async fn counted<T>(calls: &Mutex<Calls>, call: impl Future<Output = Result<T>>) -> Result<T> {
    let (fails, after) = {
        let mut calls = calls.lock().unwrap();
        calls.count += 1;
        let call = calls.count - 1;
        let fails = |first| (first..=first + calls.fails_more).contains(&call);
        (calls.fails_at.is_some_and(fails), calls.fails_after)
    };
    let gone = || Error::Generic {
        store: "Watched",
        source: "the network is gone".into(),
    };
    if fails && !after {
        return Err(gone());
    }
    let done = call.await;
    if fails { Err(gone()) } else { done }
}

#[async_trait]
impl ObjectStore for Watched {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let is_lost = {
            let calls = self.calls();
            calls.sent_again == Some(calls.count)
        };
        if is_lost {
            let first = (payload.clone(), options.clone());
            self.store.put_opts(location, first.0, first.1).await?;
        }
        let put = self.store.put_opts(location, payload, options);
        counted(&self.calls, put).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let begin = self.store.put_multipart_opts(location, options);
        let upload = counted(&self.calls, begin).await?;
        self.calls().uploads += 1;
        // The answer is delayed.
        polls(self.polls).await;
        Ok(Box::new(WatchedUpload {
            upload,
            calls: self.calls.clone(),
            polls: self.polls,
            parts_hang: self.parts_hang,
            is_open: true,
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        {
            let mut calls = self.calls();
            calls.rounds += usize::from(calls.waiting == 0);
            calls.waiting += 1;
        }
        let get = self.store.get_opts(location, options);
        let answer = counted(&self.calls, get).await;
        let mut calls = self.calls();
        calls.waiting -= 1;
        let answer = answer?;
        calls.reads.push(answer.range.end - answer.range.start);
        Ok(answer)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let (store, calls) = (self.store.clone(), self.calls.clone());
        let delete = move |location: Result<Path>| {
            let (store, calls) = (store.clone(), calls.clone());
            async move {
                let location = location?;
                counted(&calls, store.delete(&location)).await?;
                Ok(location)
            }
        };
        locations.then(delete).boxed()
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
struct WatchedUpload {
    upload: Box<dyn MultipartUpload>,
    calls: Arc<Mutex<Calls>>,
    polls: usize,
    parts_hang: bool,
    /// Whether the upload is neither completed nor aborted.
    is_open: bool,
}

impl WatchedUpload {
    fn end(&mut self) {
        let open = usize::from(std::mem::take(&mut self.is_open));
        self.calls.lock().unwrap().uploads -= open;
    }
}

/// A part in flight, until it has arrived or was dropped.
struct OnItsWay<'a>(&'a Mutex<Calls>);

impl<'a> OnItsWay<'a> {
    fn new(calls: &'a Mutex<Calls>) -> Self {
        let mut counted = calls.lock().unwrap();
        counted.parts += 1;
        counted.most_parts = counted.most_parts.max(counted.parts);
        Self(calls)
    }
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().parts -= 1;
    }
}

#[async_trait]
impl MultipartUpload for WatchedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (part, calls, waits) = (
            self.upload.put_part(data),
            self.calls.clone(),
            polls(self.polls),
        );
        let hangs = self.parts_hang;
        Box::pin(async move {
            let _on_its_way = OnItsWay::new(&calls);
            waits.await;
            if hangs {
                std::future::pending::<()>().await;
            }
            counted(&calls, part).await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let done = counted(&self.calls, self.upload.complete()).await?;
        self.end();
        Ok(done)
    }

    async fn abort(&mut self) -> Result<()> {
        {
            let calls = self.calls.lock().unwrap();
            assert_eq!(
                calls.parts, 0,
                "parts are on their way to an upload that is aborted"
            );
        }
        counted(&self.calls, self.upload.abort()).await?;
        self.end();
        Ok(())
    }
}
