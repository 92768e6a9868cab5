//! Keeps open shards in DataFusion's cache of file metadata.

use crate::adapt::is_read_as;
use crate::by_name::ByName;
use crate::error::Context;
use crate::widening::union_type;
use arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use arrow_shard::Shard;
use arrow_shard::io::{Location, Store};
use arrow_shard::ops::{ShardSet, ShardSetOptions, Unify};
use arrow_shard::read::ShardOptions;
use datafusion_common::{HashMap, Result};
use datafusion_execution::cache::cache_manager::{
    CachedFileMetadataEntry, FileMetadata, FileMetadataCache,
};
use object_store::{GetOptions, GetResultPayload, ObjectMeta, ObjectStore};
use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// An open shard, with its directory and schema already read. The shard reads other metadata when a query needs them,
/// and keeps them.
#[derive(Debug, Clone)]
pub(crate) struct OpenShard {
    pub(crate) shard: Shard,
    /// The Arrow schema of all columns.
    pub(crate) schema: SchemaRef,
    /// The path of its directory file, if the store is the local file system.
    pub(crate) path: Option<PathBuf>,
    /// Whether it refers to other files.
    pub(crate) has_other_files: bool,
    /// The shard with the types of the last table that widened them.
    widened: Arc<Mutex<Option<Widened>>>,
}

/// A shard with the types of a table.
#[derive(Debug, Clone)]
struct Widened {
    table: SchemaRef,
    shard: Shard,
    schema: SchemaRef,
}

impl OpenShard {
    /// Returns the shard with the types that its columns have in a table. Its rows are cast when they are read.
    ///
    /// # Errors
    /// Returns the errors of [`ShardSet::open_with_async`], with the name of the object.
    pub(crate) async fn widened(
        self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        table: &SchemaRef,
    ) -> Result<Self> {
        let Some(table) = wider_columns(&self.schema, table) else {
            return Ok(self);
        };
        let table = &Arc::new(table);
        let known = || self.widened.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().clone().filter(|known| known.table == *table);
        let widened = match found {
            Some(found) => found,
            None => {
                let place = || format!("shard `{}`", object.location);
                let location = match &self.path {
                    Some(path) => Location::from(path),
                    None => Store::object(store.clone()).at(object.location.as_ref()),
                };
                let options = ShardSetOptions::default()
                    .with_unify(Unify::Widen)
                    .with_schema(table.clone());
                let set = ShardSet::open_with_async([location], options).await;
                let shard = set.context(place())?.shard().clone();
                let schema = shard.schema_async().await.context(place())?;
                let table = table.clone();
                let widened = Widened {
                    table,
                    shard,
                    schema,
                };
                *known() = Some(widened.clone());
                widened
            }
        };
        Ok(Self {
            shard: widened.shard,
            schema: widened.schema,
            ..self
        })
    }
}

/// Returns the columns of a table that have a wider type than in a file: the library widens them. DataFusion casts the
/// other columns, or returns an error.
fn wider_columns(file: &Schema, table: &Schema) -> Option<Schema> {
    let file = ByName::new(file.fields());
    let is_wider = |wanted: &&FieldRef| {
        file.find(wanted.name()).is_some_and(|(_, own)| {
            let (own, wanted) = (own.data_type(), wanted.data_type());
            let union = union_type(vec![own, wanted]);
            !is_read_as(own, wanted) && union.is_some_and(|union| is_read_as(&union, wanted))
        })
    };
    let fields: Fields = table.fields().iter().filter(is_wider).cloned().collect();
    (!fields.is_empty()).then(|| Schema::new(fields))
}

/// The entry of a file in the cache.
#[derive(Debug)]
struct Cached {
    open: OpenShard,
    /// The store that the file was read from, because names are unique only within a store.
    store: Arc<dyn ObjectStore>,
    e_tag: Option<String>,
    size: u64,
}

impl FileMetadata for Cached {
    fn as_any(&self) -> &dyn Any {
        self
    }

    /// Estimates the metadata that queries will eventually have parsed: a hundredth of the file.
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

/// Opens the shard at `object`, or takes it from the cache if the object is unchanged.
///
/// # Errors
/// Returns the errors of the store and of [`Shard::open_object`], with the name of the object.
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
    let opened = match &path {
        // A table may have more files than a process may keep open.
        Some(path) => Shard::open_pooled(path, ShardOptions::default()),
        None => Shard::open_object(store.clone(), &object.location, ShardOptions::default()).await,
    };
    let shard = opened.context(place())?;
    let others = shard.referenced_files_async().await.context(place())?;
    let open = OpenShard {
        schema: shard.schema_async().await.context(place())?,
        has_other_files: !others.is_empty(),
        widened: Arc::default(),
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

/// Returns the path of an object in the local file system, if its store returns one. A local file is read without a
/// task and a file handle for every request.
async fn local_path(store: &Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<Option<PathBuf>> {
    // Only the displayed name identifies a local store inside wrappers. Without this check, each object of a remote
    // store would cost an extra request.
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
