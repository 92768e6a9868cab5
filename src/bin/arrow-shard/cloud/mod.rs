//! Objects of S3, Azure, Google Cloud Storage and HTTP, by their URLs.

mod folder;
mod reader;

pub(crate) use folder::FolderObjects;

use crate::failure::Failure;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::io::{
    AsyncSink, Container, Location, ObjectFolder, ObjectReader, ObjectSink, ReadAt,
};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{AsyncShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use reader::{BlockingFolder, BlockingReader};
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use tokio::runtime::{Builder, Runtime};

/// Ranges at most this many bytes apart share a request.
const GAP_BYTES: u64 = 1 << 20;

/// Returns the runtime that sends requests, shared by all objects.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let build = || {
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
    };
    RUNTIME.get_or_init(build).as_ref().map_err(|e| {
        Error::new(
            ErrorKind::Io,
            format!("threads for requests cannot be started: {e}"),
        )
    })
}

/// Blocks until a store has answered.
pub(crate) fn wait<T>(answer: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(answer)
}

/// Returns the objects of a folder, read by blocking requests; `None` if it is local.
pub(crate) fn objects_of(folder: &Location) -> Option<Arc<dyn Container>> {
    let (store, prefix) = folder.object()?;
    Some(Arc::new(BlockingFolder(ObjectFolder::new(store, prefix))))
}

/// An object of a store.
#[derive(Clone)]
pub(crate) struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// The URL as the user wrote it.
    url: String,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("url", &self.url).finish()
    }
}

impl Object {
    /// Returns the object at a location, unless that is a local file.
    pub(crate) fn new(location: &Location, url: &std::path::Path) -> Option<Self> {
        let (store, path) = location.object()?;
        Some(Self {
            store,
            path,
            url: url.display().to_string(),
        })
    }

    /// Returns another object of the same folder.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let mut parts: Vec<_> = self.path.parts().collect();
        parts.pop();
        let own = self.path.filename().unwrap_or_default();
        let url = match (self.url.strip_suffix(own), self.url.rsplit_once('/')) {
            (Some(folder), _) => format!("{folder}{name}"),
            // The name is escaped in the URL.
            (None, Some((folder, _))) => format!("{folder}/{name}"),
            (None, None) => name.to_owned(),
        };
        Self {
            store: self.store.clone(),
            path: Path::from_iter(parts).join(name),
            url,
        }
    }

    /// Returns a writer for a shard in this object alone, whatever its name.
    pub(crate) fn part_writer(
        &self,
        schema: &SchemaRef,
        options: WriterOptions,
    ) -> Result<ShardOutput> {
        let folder = ObjectFolder::of_object(self.store.clone(), &self.path);
        let sink = wait(folder.create_object(&self.path))?;
        let writer = AsyncShardWriter::try_new(sink, schema.clone(), options)?;
        Ok(ShardOutput(Some(writer)))
    }

    /// Whether the object exists, as far as the store tells.
    pub(crate) fn exists(&self) -> Result<bool> {
        let found = runtime()?.block_on(self.store.head(&self.path));
        Ok(!matches!(found, Err(object_store::Error::NotFound { .. })))
    }

    /// Returns the URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Removes the object.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        let removed = runtime()?.block_on(self.store.delete(&self.path));
        removed.map_err(|e| self.failure(&e))
    }

    /// Returns a reader of the object.
    pub(crate) fn reader(&self) -> Result<Arc<dyn ReadAt>> {
        let object = ObjectReader::new(self.store.clone(), self.path.clone());
        let reader = BlockingReader::open(Arc::new(object), Some(self.url.clone()))?;
        Ok(Arc::new(reader))
    }

    /// Opens the shard with this object as its directory file.
    pub(crate) fn open_shard(&self, options: ShardOptions) -> Result<Shard> {
        let folder = ObjectFolder::of_object(self.store.clone(), &self.path);
        Shard::from_reader(
            self.reader()?,
            Arc::new(BlockingFolder(folder)),
            options.with_coalesce_gap(GAP_BYTES),
        )
    }

    /// Passes all bytes of the object to `take`, in order.
    pub(crate) fn download(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        runtime()?.block_on(async {
            let answer = self.store.get(&self.path).await;
            let mut bytes = answer.map_err(|e| self.failure(&e))?.into_stream();
            while let Some(some) = bytes.try_next().await.map_err(|e| self.failure(&e))? {
                take(&some)?;
            }
            Ok(())
        })
    }

    fn failure(&self, error: &object_store::Error) -> Failure {
        match error {
            object_store::Error::NotFound { .. } => Failure::new("there is no such object"),
            other => Failure::new(other.to_string()),
        }
        .within(&self.url)
    }

    /// Returns a sink for the object. The object appears when it is complete.
    pub(crate) fn sink(&self, overwrite: bool) -> Result<ObjectOutput> {
        let folder =
            ObjectFolder::of_object(self.store.clone(), &self.path).with_overwrite(overwrite);
        let sink = wait(folder.create_object(&self.path))?;
        Ok(ObjectOutput { sink })
    }

    /// Returns a writer for a shard with this object as its directory file.
    pub(crate) fn shard_writer(
        &self,
        schema: &SchemaRef,
        options: WriterOptions,
    ) -> Result<ShardOutput> {
        let (store, schema) = (self.store.clone(), schema.clone());
        let writer = AsyncShardWriter::create_object(store, &self.path, schema, options);
        Ok(ShardOutput(Some(wait(writer)?)))
    }
}

/// An object that is written from front to back.
pub(crate) struct ObjectOutput {
    sink: ObjectSink,
}

impl ObjectOutput {
    pub(crate) fn commit(&mut self) -> Result<()> {
        wait(self.sink.commit())
    }
}

impl Write for ObjectOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = wait(self.sink.write_all(Bytes::copy_from_slice(bytes)));
        written.map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ObjectOutput {
    fn drop(&mut self) {
        // Does nothing after a commit. An earlier error has been reported, and a remaining upload is not visible.
        drop(wait(self.sink.abort()));
    }
}

/// A shard that is written to a store, and discarded if it is not finished.
pub(crate) struct ShardOutput(Option<AsyncShardWriter>);

impl ShardOutput {
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.0 {
            Some(writer) => wait(writer.write(batch)),
            None => Ok(()),
        }
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        match self.0.take() {
            Some(writer) => wait(writer.finish()).map(drop),
            None => Ok(()),
        }
    }
}

impl Drop for ShardOutput {
    fn drop(&mut self) {
        if let Some(writer) = self.0.take() {
            // An earlier error has been reported, and a remaining upload is not visible.
            drop(wait(writer.abort()));
        }
    }
}
