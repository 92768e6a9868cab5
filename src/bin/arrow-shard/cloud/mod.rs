//! Objects of S3, Azure, Google Cloud Storage and HTTP, by their URLs.

mod reader;

use crate::failure::Failure;
use crate::listed::{Found, Listed};
use crate::progress::bar;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::io::{AsyncSink, Location, ObjectFolder, ObjectReader, ObjectSink, RelativeUrl};
use arrow_shard::ops::list_shards_async;
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{AsyncShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use reader::{Waiting, WaitingFolder};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use tokio::runtime::{Builder, Runtime};

/// Ranges at most this many bytes apart share a request.
const GAP_BYTES: u64 = 1 << 20;
/// Number of shards opened concurrently, and the number of bytes read from the end of each, which suffices for the
/// metadata of most.
const AT_ONCE: usize = 32;
const TAIL_BYTES: u64 = 64 << 10;

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

/// An object of a store.
#[derive(Clone)]
pub(crate) struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// The URL as the user wrote it.
    url: String,
    location: Location,
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
            location: location.clone(),
        })
    }

    /// Opens the shard with this object as its directory file.
    pub(crate) fn open_shard(&self, options: ShardOptions) -> Result<Shard> {
        let reader = ObjectReader::new(self.store.clone(), self.path.clone());
        let folder = ObjectFolder::of_object(self.store.clone(), &self.path);
        let options = options.with_coalesce_gap(GAP_BYTES);
        let reader = Waiting::open(Arc::new(reader), Some(self.url.clone()))?;
        Shard::from_reader(Arc::new(reader), Arc::new(WaitingFolder(folder)), options)
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
        let folder = ObjectFolder::of_object(self.store.clone(), &self.path);
        let folder = folder.with_overwrite(overwrite);
        let sink = wait(folder.create_object(&self.path))?;
        Ok(ObjectOutput { sink })
    }

    /// Opens the shards of the folder, several at a time, and returns their figures.
    pub(crate) fn list_shards(&self) -> Result<Vec<Listed>> {
        let sizes = wait(async {
            let listed = self.store.list_with_delimiter(Some(&self.path)).await;
            let listed = listed.map_err(|e| {
                let message = format!("the store failed to list `{}`", self.path);
                Error::new(ErrorKind::Io, message).caused_by(e)
            })?;
            let objects = listed.objects.into_iter();
            Ok(objects
                .map(|o| (o.location, o.size))
                .collect::<HashMap<_, _>>())
        })?;
        let is_there = async |file: &RelativeUrl| {
            let names = file.segments();
            let object = names.fold(self.path.clone(), |path, name| path.join(name));
            if file.segments().count() == 1 {
                return Ok(sizes.contains_key(&object));
            }
            match self.store.head(&object).await {
                Ok(_) => Ok(true),
                Err(object_store::Error::NotFound { .. }) => Ok(false),
                Err(error) => {
                    let message = format!("the store failed to look for `{object}`");
                    Err(Error::new(ErrorKind::Io, message).caused_by(error))
                }
            }
        };
        let is_there = &is_there;
        let look = |(path, bytes): (Path, u64)| async move {
            let options = ShardOptions::default().with_tail_bytes(TAIL_BYTES);
            let opened = Shard::open_object(self.store.clone(), &path, options);
            Listed {
                name: path.filename().unwrap_or_default().to_owned(),
                bytes,
                found: match opened.await {
                    Ok(shard) => Found::of_object(shard, is_there).await,
                    Err(error) => Err(error),
                },
            }
        };
        wait(async {
            let shards = list_shards_async(self.location.clone()).await?;
            let paths = shards.iter().filter_map(|shard| Some(shard.object()?.1));
            let objects: Vec<(Path, u64)> = paths
                .map(|path| {
                    let size = sizes.get(&path).copied().unwrap_or(0);
                    (path, size)
                })
                .collect();
            let bar = bar(objects.len() as u64, "shards");
            let listed = stream::iter(objects)
                .map(look)
                .buffered(AT_ONCE)
                .inspect(|_| bar.inc(1))
                .collect()
                .await;
            bar.finish_and_clear();
            Ok(listed)
        })
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
