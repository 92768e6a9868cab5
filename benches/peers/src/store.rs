//! An object store that simulates one in the cloud, with a latency for each request, a limited bandwidth, and a limited
//! number of concurrent requests.

use crate::counted::Reads;
use crate::mapped::map;
use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

/// Time until the first byte of an answer.
const LATENCY: Duration = Duration::from_millis(30);
/// Bytes per second of an answer.
const BANDWIDTH: u64 = 200_000_000;
/// Most concurrent requests; others wait.
const REQUESTS: usize = 16;

/// A store of objects in memory.
#[derive(Debug)]
pub(crate) struct SlowStore {
    objects: InMemory,
    turns: Semaphore,
    reads: Arc<Reads>,
}

/// An object, its store, and a runtime that runs readers on the calling thread.
pub(crate) struct Remote {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    pub(crate) runtime: Arc<Runtime>,
}

impl Remote {
    /// Creates a store with a file as its object.
    pub(crate) fn of(file: &std::path::Path, reads: &Arc<Reads>) -> anyhow::Result<Self> {
        Self::of_files(&[("object", file)], "object", reads)
    }

    /// Creates a store with files as its objects, by name, and chooses the object `read`.
    pub(crate) fn of_files(
        files: &[(&str, &std::path::Path)],
        read: &str,
        reads: &Arc<Reads>,
    ) -> anyhow::Result<Self> {
        let runtime = Arc::new(Builder::new_current_thread().enable_time().build()?);
        let objects = InMemory::new();
        for (name, file) in files {
            let bytes = PutPayload::from_bytes(map(file)?);
            runtime.block_on(objects.put(&Path::from(*name), bytes))?;
        }
        let path = Path::from(read);
        let store = SlowStore {
            objects,
            turns: Semaphore::new(REQUESTS),
            reads: reads.clone(),
        };
        Ok(Self {
            store: Arc::new(store),
            path,
            runtime,
        })
    }
}

impl fmt::Display for SlowStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlowStore")
    }
}

#[async_trait]
impl ObjectStore for SlowStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let _turn = self.turns.acquire().await.expect("nobody closes it");
        let request = self.reads.begin();
        let head = options.head;
        let answer = self.objects.get_opts(location, options).await?;
        let bytes = if head {
            0
        } else {
            answer.range.end - answer.range.start
        };
        let transfer = Duration::from_nanos(bytes * 1_000_000_000 / BANDWIDTH);
        tokio::time::sleep(LATENCY + transfer).await;
        self.reads.end(request, bytes);
        Ok(answer)
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.objects.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}
