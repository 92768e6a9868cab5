//! Objects of S3, Azure, Google Cloud Storage and HTTP, by their URLs.

mod address;
mod reader;

pub(crate) use address::Address;

use crate::failure::Failure;
use crate::listed::{Found, Listed};
use crate::progress::bar;
use address::invalid;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::io::{AsyncSink, ObjectFolder, ObjectReader, ObjectSink, RelativeUrl};
use arrow_shard::ops::{
    CompactOptions, EditSummary, LeftOut, PackOptions, ShardEditor, VacuumOptions, compact_object,
    compact_object_to, compaction_object, list_shard_objects, objects_held_by_others, pack_object,
    vacuum_objects,
};
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{AsyncShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use reader::{Waiting, WaitingFolder};
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
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
    /// The part of the URL before the path in the store: in some URLs, it includes a bucket.
    root: String,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("url", &self.url).finish()
    }
}

/// Prefixes of the environment variables that configure stores, as in `from_env` of each store.
const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

impl Object {
    /// Returns the object at a URL. The environment variables of the stores' own tools, such as `AWS_ACCESS_KEY_ID`,
    /// configure the store.
    pub(crate) fn at(address: Address) -> Result<Self> {
        let object = Self::below(address)?;
        match object.path.filename() {
            Some(_) => Ok(object),
            None => Err(invalid(format!("{} names no object", object.url))),
        }
    }

    /// Returns the object or folder at a URL, which may also be the root of a store.
    pub(crate) fn below(address: Address) -> Result<Self> {
        let Address { url, text } = address;
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let is_known = VARIABLES.iter().any(|prefix| name.starts_with(prefix));
            is_known.then_some((name.to_ascii_lowercase(), value.into_string().ok()?))
        });
        // A URL with `http` is an explicit request for an unencrypted connection.
        let plain = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
        let (store, path) = object_store::parse_url_opts(&url, variables.chain(plain))
            .map_err(|e| invalid(format!("{text} leads to no store")).caused_by(e))?;
        let names: Vec<&str> = url.path().split('/').filter(|n| !n.is_empty()).collect();
        let before = names.len().saturating_sub(path.parts().count());
        let root = [url.scheme(), "://", url.authority(), "/"].concat();
        Ok(Self {
            root: root + &names[..before].join("/"),
            store: store.into(),
            path,
            url: text,
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

    /// Opens an editor for the shard with this object as its directory file.
    pub(crate) fn open_editor(&self, options: ShardOptions) -> Result<ShardEditor> {
        wait(ShardEditor::open_object_with(
            self.store.clone(),
            &self.path,
            options,
        ))
    }

    /// Fails if the other object is in another store: shards cannot refer to it.
    fn check_same_store(&self, other: &Self) -> Result<()> {
        if self.root == other.root {
            Ok(())
        } else {
            Err(invalid(format!(
                "{} and {} are not in the same store, and a shard refers to no other",
                self.url, other.url
            )))
        }
    }

    /// Appends the stripes of another shard to an editor of this object.
    pub(crate) fn append(&self, editor: &mut ShardEditor, other: &Self) -> Result<()> {
        self.check_same_store(other)?;
        wait(editor.append_object(self.store.clone(), &other.path))
    }

    /// Commits an editor of this object in place.
    pub(crate) fn commit(&self, editor: ShardEditor) -> Result<EditSummary> {
        wait(editor.commit_object(self.store.clone()))
    }

    /// Commits an editor of this object to another object.
    pub(crate) fn commit_to(&self, editor: ShardEditor, other: &Self) -> Result<EditSummary> {
        self.check_same_store(other)?;
        wait(editor.commit_object_to(self.store.clone(), &other.path))
    }

    /// Returns the stripes that a compaction would rewrite.
    pub(crate) fn compaction(&self, options: &CompactOptions) -> Result<Vec<Range<u64>>> {
        wait(compaction_object(self.store.clone(), &self.path, options))
    }

    /// Compacts the shard. The new directory replaces this object, or is the object `target`.
    pub(crate) fn compact(
        &self,
        target: Option<&Self>,
        options: &CompactOptions,
    ) -> Result<Option<EditSummary>> {
        let store = self.store.clone();
        let Some(target) = target else {
            return wait(compact_object(store, &self.path, options));
        };
        self.check_same_store(target)?;
        wait(compact_object_to(store, &self.path, &target.path, options)).map(Some)
    }

    /// Writes the shard as one object.
    pub(crate) fn pack(&self, target: &Self, options: &PackOptions) -> Result<EditSummary> {
        self.check_same_store(target)?;
        let store = self.store.clone();
        wait(pack_object(store, &self.path, &target.path, options))
    }

    /// Opens the shards of the folder, several at a time, and returns their figures.
    pub(crate) fn list_shards(&self) -> Result<Vec<Listed>> {
        let names_there = wait(async {
            let listed = self.store.list_with_delimiter(Some(&self.path)).await;
            let listed = listed.map_err(|e| {
                let message = format!("the store failed to list `{}`", self.path);
                Error::new(ErrorKind::Io, message).caused_by(e)
            })?;
            let objects = listed.objects.into_iter();
            Ok(objects.map(|o| o.location).collect::<HashSet<_>>())
        })?;
        let is_there = async |file: &RelativeUrl| {
            let names = file.segments();
            let object = names.fold(self.path.clone(), |path, name| path.join(name));
            if file.segments().count() == 1 {
                return Ok(names_there.contains(&object));
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
        let look = |object: ObjectMeta| async move {
            let options = ShardOptions::default().with_tail_bytes(TAIL_BYTES);
            let opened = Shard::open_object(self.store.clone(), &object.location, options);
            Listed {
                name: object.location.filename().unwrap_or_default().to_owned(),
                bytes: object.size,
                found: match opened.await {
                    Ok(shard) => Found::of_object(shard, is_there).await,
                    Err(error) => Err(error),
                },
            }
        };
        wait(async {
            let objects = list_shard_objects(self.store.clone(), Some(&self.path)).await?;
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

    /// Lists the shards of the folder that are contained in other shards.
    pub(crate) fn held_by_others(&self) -> Result<Vec<LeftOut>> {
        wait(objects_held_by_others(self.store.clone(), Some(&self.path)))
    }

    /// Lists or removes the stripes below this prefix that no directory refers to. Returns their paths and sizes.
    pub(crate) fn vacuum(&self, options: &VacuumOptions) -> Result<Vec<(String, u64)>> {
        let unused = wait(vacuum_objects(
            self.store.clone(),
            Some(&self.path),
            options,
        ))?;
        let unused = unused.into_iter();
        Ok(unused.map(|o| (o.path.to_string(), o.bytes)).collect())
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
