//! The session of DataFusion that runs statements.

use crate::args::Args;
use crate::failure::Failure;
use crate::files::FileTables;
use crate::pool::OperatorPool;
use crate::stores::Stores;
use datafusion::catalog::{DynamicFileCatalog, UrlTableFactory};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

/// Memory that a sort keeps for merging its temporary files, unless the limit is low.
const MERGE_BYTES: usize = 10 << 20;

/// Memory below which a partition of a sort is not worth a thread of its own.
const PARTITION_BYTES: usize = 32 << 20;

/// Returns the number of threads.
pub(crate) fn threads(args: &Args) -> usize {
    let default = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    args.threads.map_or_else(default, NonZeroUsize::get)
}

/// Creates a session in which names of files are tables.
pub(crate) fn create(args: &Args) -> Result<(SessionContext, Arc<FileTables>), Failure> {
    let threads = threads(args);
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        .with_target_partitions(threads)
        .set_str("datafusion.explain.physical_plan_only", "true")
        .set_str("datafusion.explain.analyze_level", "summary");
    let options = config.options_mut();
    // A folder is a table with its subfolders.
    options.execution.listing_table_ignore_subdirectory = false;
    // Files may change between two statements.
    let mut runtime = RuntimeEnvBuilder::new()
        .with_object_list_cache_limit(0)
        .with_object_store_registry(Arc::new(Stores::default()));
    if let Some(limit) = args.memory_limit {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // Every partition sorts on its own, and needs about as much again to sort as to merge.
        let partitions = (limit / PARTITION_BYTES).clamp(1, threads);
        options.execution.target_partitions = partitions;
        options.execution.sort_spill_reservation_bytes =
            (limit / partitions.saturating_mul(4)).min(MERGE_BYTES);
        let pool = OperatorPool::new(limit);
        runtime = runtime.with_memory_pool(Arc::new(pool));
    }
    let mut state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime.build_arc()?)
        .with_default_features()
        .build();
    arrow_shard_datafusion::register_state(&mut state)?;
    let files = Arc::new(FileTables::new(args.infer_rows));
    let catalogs = Arc::clone(state.catalog_list());
    let factory = Arc::clone(&files) as Arc<dyn UrlTableFactory>;
    let state = SessionStateBuilder::new_from_existing(state)
        .with_catalog_list(Arc::new(DynamicFileCatalog::new(catalogs, factory)))
        .build();
    let ctx = SessionContext::new_with_state(state);
    let state = ctx.state_weak_ref();
    files.set_state(Box::new(move || Some(state.upgrade()?.read().clone())));
    Ok((ctx, files))
}
