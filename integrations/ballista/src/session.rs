//! Sessions of clients, and what they have in common with schedulers and executors.

use crate::logical::ShardLogicalExtensionCodec;
use crate::physical::ShardPhysicalExtensionCodec;
use crate::planner::SendingPlanner;
use crate::stores::EnvironmentStores;
use arrow_shard_datafusion::TableShardOptions;
use ballista::extension::SessionContextExt;
use ballista_core::config::BALLISTA_ADAPTIVE_PLANNER_ENABLED;
use ballista_core::error::BallistaError;
use ballista_core::extension::{
    SessionConfigExt, ballista_aggregate_functions, ballista_scalar_functions,
    ballista_window_functions,
};
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_executor::new_standalone_executor_from_state;
use ballista_scheduler::standalone::new_standalone_scheduler_with_builder;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::cache::cache_manager::CacheManagerConfig;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;

/// The configuration of a session over shards: Ballista's, the options `shard.*`, and both codecs.
///
/// Text is read as strings, not as views: what Arrow Flight sends of views may be many times larger. Ballista's
/// static planner is chosen: its adaptive one, in version 55.0, has planned the stages of an anti join again and again
/// without an end.
pub fn session_config() -> SessionConfig {
    let options = TableShardOptions {
        schema_force_view_types: false,
        ..TableShardOptions::default()
    };
    SessionConfig::new_with_ballista()
        .with_option_extension(options)
        .set_bool(BALLISTA_ADAPTIVE_PLANNER_ENABLED, false)
        .with_ballista_logical_extension_codec(Arc::new(ShardLogicalExtensionCodec::default()))
        .with_ballista_physical_extension_codec(Arc::new(ShardPhysicalExtensionCodec::default()))
}

/// A runtime that finds files in `stores`.
///
/// It keeps the metadata of shards, which are checked against what the store says of the file. It keeps no lists of
/// files and no statistics: files come from other processes, which nobody tells it of.
///
/// # Errors
/// If there is no place for temporary files.
pub fn runtime_env(stores: Arc<dyn ObjectStoreRegistry>) -> Result<Arc<RuntimeEnv>> {
    let caches = CacheManagerConfig::default()
        .with_list_files_cache_limit(0)
        .with_file_statistics_cache_limit(0);
    RuntimeEnvBuilder::new()
        .with_object_store_registry(stores)
        .with_cache_manager(caches)
        .build_arc()
}

/// The state of a session over shards, before it knows of a cluster.
///
/// # Errors
/// If `SHARD` is registered as another format.
pub fn session_state(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> Result<SessionState> {
    let mut state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_scalar_functions(ballista_scalar_functions())
        .with_aggregate_functions(ballista_aggregate_functions())
        .with_window_functions(ballista_window_functions())
        .build();
    arrow_shard_datafusion::register_state(&mut state)?;
    Ok(state)
}

fn default_state() -> Result<SessionState> {
    let stores = Arc::new(EnvironmentStores::default());
    session_state(session_config(), runtime_env(stores)?)
}

/// A session whose queries run on the cluster of the scheduler at `url`, such as `df://localhost:50050`.
///
/// # Errors
/// If `url` names no host.
pub async fn remote(url: &str) -> Result<SessionContext> {
    remote_with_state(url, default_state()?).await
}

/// Like [`remote`], with a state of one's own, made from [`session_config`] by [`session_state`].
///
/// # Errors
/// If `url` names no host.
pub async fn remote_with_state(url: &str, state: SessionState) -> Result<SessionContext> {
    let context = SessionContext::remote_with_state(url, state).await?;
    Ok(sending(&context))
}

/// A session with a scheduler and an executor in this process, which end with it.
///
/// # Errors
/// If they cannot start.
pub async fn standalone() -> Result<SessionContext> {
    standalone_with_state(default_state()?).await
}

/// Like [`standalone`], with a state of one's own, made from [`session_config`] by [`session_state`]. The executor has
/// as many slots as the option `ballista.standalone.parallelism` says.
///
/// # Errors
/// If scheduler or executor cannot start.
pub async fn standalone_with_state(state: SessionState) -> Result<SessionContext> {
    let external = |error: BallistaError| DataFusionError::External(Box::new(error));
    let (built, config) = (state.clone(), state.config().clone());
    let codec = BallistaCodec::new(
        config.ballista_logical_extension_codec(),
        config.ballista_physical_extension_codec(),
    );
    let slots = config.ballista_standalone_parallelism();
    // A session of the scheduler has the settings that a client's query came with.
    let address = new_standalone_scheduler_with_builder(
        Arc::new(move |config| {
            let builder = SessionStateBuilder::new_from_existing(built.clone());
            Ok(builder.with_config(config).build())
        }),
        Arc::new(move || config.clone()),
        codec,
    );
    let url = format!(
        "http://localhost:{}",
        address.await.map_err(external)?.port()
    );
    let scheduler = SchedulerGrpcClient::connect(url.clone()).await;
    let scheduler = scheduler.map_err(|error| DataFusionError::External(Box::new(error)))?;
    let executor = new_standalone_executor_from_state(scheduler, slots, &state);
    executor.await.map_err(external)?;
    remote_with_state(&url, state).await
}

/// The session with plans that are made fit to be sent.
fn sending(context: &SessionContext) -> SessionContext {
    let state = context.state();
    let planner = SendingPlanner::new(Arc::clone(state.query_planner()));
    let state = SessionStateBuilder::new_from_existing(state).with_query_planner(Arc::new(planner));
    SessionContext::new_with_state(state.build())
}
