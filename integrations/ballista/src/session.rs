//! Sessions of clients, and the parts that they share with schedulers and executors.

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

/// Returns the configuration of a session over shards: Ballista's settings, the options `shard.*`, and both codecs.
///
/// Text is read as strings instead of views, because Arrow Flight may send many times the bytes for views. The
/// planner is Ballista's static one, because the adaptive planner of version 55.0 plans the stages of some anti joins
/// again and again forever.
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

/// Creates a runtime that finds files in `stores`.
///
/// It caches the metadata of shards, and validates them against the store's properties of the file. It caches neither
/// lists of files nor statistics, because other processes write files without notifying it.
///
/// # Errors
/// Returns an error if the folder for temporary files cannot be created.
pub fn runtime_env(stores: Arc<dyn ObjectStoreRegistry>) -> Result<Arc<RuntimeEnv>> {
    let caches = CacheManagerConfig::default()
        .with_list_files_cache_limit(0)
        .with_file_statistics_cache_limit(0);
    RuntimeEnvBuilder::new()
        .with_object_store_registry(stores)
        .with_cache_manager(caches)
        .build_arc()
}

/// Creates the state of a session over shards that is not connected to a cluster yet.
///
/// # Errors
/// Returns the errors of [`register_state`](arrow_shard_datafusion::register_state).
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

/// Creates a session that runs queries on the cluster of the scheduler at `url`, such as `df://localhost:50050`.
///
/// # Errors
/// Returns an error if `url` names no host.
pub async fn remote(url: &str) -> Result<SessionContext> {
    remote_with_state(url, default_state()?).await
}

/// Creates a session like [`remote`], with a given state. Make the state from [`session_config`] with
/// [`session_state`].
///
/// # Errors
/// Returns an error if `url` names no host.
pub async fn remote_with_state(url: &str, state: SessionState) -> Result<SessionContext> {
    let context = SessionContext::remote_with_state(url, state).await?;
    Ok(sending(&context))
}

/// Creates a session with a scheduler and an executor in this process, which end with it.
///
/// # Errors
/// Returns an error if the scheduler or the executor cannot start.
pub async fn standalone() -> Result<SessionContext> {
    standalone_with_state(default_state()?).await
}

/// Creates a session like [`standalone`], with a given state. Make the state from [`session_config`] with
/// [`session_state`]. The option `ballista.standalone.parallelism` sets the number of the executor's slots.
///
/// # Errors
/// Returns an error if the scheduler or the executor cannot start.
pub async fn standalone_with_state(state: SessionState) -> Result<SessionContext> {
    let external = |error: BallistaError| DataFusionError::External(Box::new(error));
    let (built, config) = (state.clone(), state.config().clone());
    let codec = BallistaCodec::new(
        config.ballista_logical_extension_codec(),
        config.ballista_physical_extension_codec(),
    );
    let slots = config.ballista_standalone_parallelism();
    // A session of the scheduler takes its settings from the client's query.
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
    let scheduler = SchedulerGrpcClient::connect(url.clone())
        .await
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    let executor = new_standalone_executor_from_state(scheduler, slots, &state);
    executor.await.map_err(external)?;
    remote_with_state(&url, state).await
}

/// Returns the session with a planner that prepares plans for sending.
fn sending(context: &SessionContext) -> SessionContext {
    let state = context.state();
    let planner = SendingPlanner::new(Arc::clone(state.query_planner()));
    let sending =
        SessionStateBuilder::new_from_existing(state).with_query_planner(Arc::new(planner));
    SessionContext::new_with_state(sending.build())
}
