//! Open shards, in DataFusion's cache of file metadata.

use crate::error::Context;
use arrow::datatypes::SchemaRef;
use arrow_shard::Shard;
use arrow_shard::read::ShardOptions;
use datafusion_common::{HashMap, Result};
use datafusion_execution::cache::cache_manager::{
    CachedFileMetadataEntry, FileMetadata, FileMetadataCache,
};
use object_store::{GetOptions, GetResultPayload, ObjectMeta, ObjectStore};
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

/// An open shard. Its directory has been read, and its schema; other metadata are read and kept when a
/// query needs them.
#[derive(Debug, Clone)]
pub(crate) struct OpenShard {
    pub(crate) shard: Shard,
    /// The Arrow schema of all columns.
    pub(crate) schema: SchemaRef,
    /// Its directory file, if that is a local one.
    pub(crate) path: Option<PathBuf>,
    /// Whether it refers to other files.
    pub(crate) has_other_files: bool,
}

/// What the cache keeps of a file.
#[derive(Debug)]
struct Cached {
    open: OpenShard,
    /// Where it was read: names are unique within a store only.
    store: Arc<dyn ObjectStore>,
    e_tag: Option<String>,
    size: u64,
}

impl FileMetadata for Cached {
    fn as_any(&self) -> &dyn Any {
        self
    }

    /// An estimate of what queries will have read in the end: a hundredth of the file.
    fn memory_size(&self) -> usize {
        let fields = self.open.schema.flattened_fields().len();
        let parsed = usize::try_from(self.size / 100).unwrap_or(usize::MAX);
        4096 + 256 * fields + parsed
    }

    fn extra_info(&self) -> HashMap<String, String> {
        let shard = &self.open.shard;
        [
            ("rows".to_owned(), shard.num_rows().to_string()),
            ("stripes".to_owned(), shard.num_stripes().to_string()),
        ]
        .into_iter()
        .collect()
    }
}

/// The shard at `object`, as it was when that was listed.
///
/// # Errors
/// Those of the store, or if the object is no shard or damaged; they name it.
pub(crate) async fn open(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    cache: Option<&FileMetadataCache>,
) -> Result<OpenShard> {
    if let Some(entry) = cache.and_then(|cache| cache.get(&object.location))
        && entry.is_valid_for(object)
        && let Some(cached) = entry.file_metadata.as_any().downcast_ref::<Cached>()
        && Arc::ptr_eq(&cached.store, store)
        && cached.e_tag == object.e_tag
    {
        return Ok(cached.open.clone());
    }
    let place = || format!("shard `{}`", object.location);
    let path = local_path(store, object).await?;
    let shard = match &path {
        // A table may have more files than a process may have open.
        Some(path) => Shard::open_pooled(path, ShardOptions::default()),
        None => Shard::open_object(store.clone(), &object.location, ShardOptions::default()).await,
    };
    let shard = shard.context(place())?;
    let others = shard.referenced_files_async().await.context(place())?;
    let open = OpenShard {
        schema: shard.schema_async().await.context(place())?,
        has_other_files: !others.is_empty(),
        path,
        shard,
    };
    if let Some(cache) = cache {
        let cached = Cached {
            open: open.clone(),
            store: store.clone(),
            e_tag: object.e_tag.clone(),
            size: object.size,
        };
        let entry = CachedFileMetadataEntry::new(object.clone(), Arc::new(cached));
        cache.put(&object.location, entry);
    }
    Ok(open)
}

/// Where an object is in the local file system, if its store says so: such files are read without a task
/// and a handle for every request.
async fn local_path(store: &Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<Option<PathBuf>> {
    // Nothing else tells a local store, behind whatever wrapper, from others, for which a request
    // that is only asked this way would cost a round trip.
    if !format!("{store}").contains("LocalFileSystem") {
        return Ok(None);
    }
    let found = store
        .get_opts(&object.location, GetOptions::default())
        .await?;
    Ok(match found.payload {
        GetResultPayload::File(_, path) => Some(path),
        GetResultPayload::Stream(_) => None,
    })
}
