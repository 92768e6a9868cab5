//! Registers the format of shards with a session.

use crate::format::ShardFormatFactory;
use crate::options::TableShardOptions;
use datafusion::catalog::TableProviderFactory;
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::execution::context::SessionContext;
use datafusion::execution::session_state::SessionState;
use datafusion_common::Result;
use std::sync::Arc;

/// Registers shards with a session: for tables `STORED AS SHARD`, `COPY` to shards, and options with the prefix
/// `shard`.
///
/// # Errors
/// Returns an error if the session cannot register the format.
pub fn register(ctx: &SessionContext) -> Result<()> {
    register_state(&mut ctx.state_ref().write())
}

/// Registers shards like [`register`], with a state that is not part of a session yet.
///
/// # Errors
/// Returns the errors of [`register`].
pub fn register_state(state: &mut SessionState) -> Result<()> {
    let options = state.config_mut().options_mut();
    if options.extensions.get::<TableShardOptions>().is_none() {
        options.extensions.insert(TableShardOptions::default());
    }
    state.register_file_format(Arc::new(ShardFormatFactory::new()), true)?;
    let factory: Arc<dyn TableProviderFactory> = Arc::new(DefaultTableFactory::new());
    state
        .table_factories_mut()
        .insert("SHARD".to_owned(), factory);
    Ok(())
}
