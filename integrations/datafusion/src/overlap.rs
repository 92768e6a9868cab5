//! Finds shards of a table that another shard of the table contains: a scan would return their rows twice.

use crate::error::external;
use crate::metadata::{self, OpenShard};
use arrow_shard::io::{Location, Store};
use datafusion_common::stats::Precision;
use datafusion_common::{DataFusionError, Result};
use datafusion_datasource::PartitionedFile;
use datafusion_datasource::compute_all_files_statistics;
use datafusion_datasource::file_groups::FileGroup;
use datafusion_datasource::file_scan_config::{FileScanConfig, FileScanConfigBuilder};
use datafusion_session::Session;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::HashSet;
use std::sync::Arc;

/// Removes files from a scan if another file holds all of their data: a merged shard refers to the data of its parts.
/// Logs the name of each removed file.
///
/// # Errors
/// Returns an error if two shards share only some of their data, and the errors of reading metadata.
pub(crate) async fn without_held(
    state: &dyn Session,
    conf: FileScanConfig,
) -> Result<FileScanConfig> {
    let mut seen = HashSet::new();
    let parts = conf.file_groups.iter().flat_map(FileGroup::iter);
    // A large file may be cut into several parts.
    let files: Vec<&PartitionedFile> = parts
        .filter(|part| seen.insert(&part.object_meta.location))
        .collect();
    if files.len() < 2 {
        return Ok(conf);
    }
    let store = &state.runtime_env().object_store(&conf.object_store_url)?;
    let cache = &state.runtime_env().cache_manager.get_file_metadata_cache();
    let at_once = state.config_options().execution.meta_fetch_concurrency;
    let opening = futures::stream::iter(files).map(|file| async move {
        let object = &file.object_meta;
        let open = metadata::open(store, object, Some(cache.as_ref())).await?;
        Ok::<_, DataFusionError>((object.location.clone(), open))
    });
    let opened = opening.boxed().buffered(at_once.get());
    let shards: Vec<(Path, OpenShard)> = opened.try_collect().await?;
    // Shards that refer to no other files share no data.
    if !shards.iter().any(|(_, open)| open.has_other_files) {
        return Ok(conf);
    }
    let held = held_among(store, &shards).await?;
    if held.is_empty() {
        return Ok(conf);
    }
    let mut left_out = HashSet::new();
    for (shard, by) in held {
        if let (Some((shard, _)), Some((by, _))) = (shards.get(shard), shards.get(by)) {
            log::warn!("`{shard}` is left out, because `{by}` refers to all of its data");
            left_out.insert(shard);
        }
    }
    let is_counted = matches!(conf.statistics().num_rows, Precision::Exact(_));
    let groups = conf.file_groups.iter().map(|group| {
        let files = group.iter().cloned();
        files
            .filter(|file| !left_out.contains(&file.object_meta.location))
            .collect()
    });
    let schema = conf.file_source().table_schema().table_schema().clone();
    let (groups, statistics) = compute_all_files_statistics(
        groups.collect(),
        schema,
        state.config().collect_statistics(),
        !is_counted,
    )?;
    let conf = FileScanConfigBuilder::from(conf)
        .with_file_groups(groups)
        .with_statistics(statistics);
    Ok(conf.build())
}

/// Returns pairs of ordinals: a shard, and another shard that holds all of its data.
async fn held_among(
    store: &Arc<dyn ObjectStore>,
    shards: &[(Path, OpenShard)],
) -> Result<Vec<(usize, usize)>> {
    let store = Store::object(Arc::clone(store));
    let are_local = shards.iter().all(|(_, open)| open.path.is_some());
    let shards = shards.iter().map(|(path, open)| {
        let location = match &open.path {
            Some(path) if are_local => Location::from(path),
            _ => store.at(path.to_string()),
        };
        (location, open.shard.clone())
    });
    let held = arrow_shard::ops::held_shards_async(shards).await;
    held.map_err(external)
}
