//! Shards in object stores as one object.

use super::{PackOptions, Target, copy};
use crate::Shard;
use crate::error::{Result, Within};
use crate::io::{AsyncSink, ObjectFolder, ObjectSink, check_output_name};
use crate::ops::commit::EditSummary;
use bytes::Bytes;
use object_store::ObjectStore;
use object_store::path::Path;
use std::sync::Arc;

/// Writes the shard with the object at `path` as its directory file as one object, `target`: `pack` for object stores.
///
/// # Errors
/// Returns the errors of [`Shard::open_object`]; [`AlreadyExists`](crate::ErrorKind::AlreadyExists),
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a reserved name,
/// [`NotFound`](crate::ErrorKind::NotFound) if an object of the shard is missing,
/// [`Unsupported`](crate::ErrorKind::Unsupported) for columns in Parquet files, or errors of the store.
pub async fn pack_object(
    store: Arc<dyn ObjectStore>,
    path: &Path,
    target: &Path,
    options: &PackOptions,
) -> Result<EditSummary> {
    check_output_name(target.filename().unwrap_or_default()).within(|| target.to_string())?;
    let shard = Shard::open_object(store.clone(), path, options.shard_options()).await?;
    let folder = ObjectFolder::of_object(store, target).with_overwrite(options.overwrite);
    let mut sink = folder.create_object(target).await?;
    match copy(&shard, options, &mut sink).await {
        Ok(done) => {
            sink.commit().await?;
            Ok(done)
        }
        Err(error) => {
            // The first error is reported; the parts are invisible.
            let _ = sink.abort().await;
            Err(error.within(path.to_string()))
        }
    }
}

impl Target for ObjectSink {
    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.write_all(bytes).await
    }
}
