//! One call that makes a session know shards.

use crate::format::ShardFormatFactory;
use crate::options::TableShardOptions;
use datafusion::catalog::TableProviderFactory;
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::execution::context::SessionContext;
use datafusion::execution::session_state::SessionState;
use datafusion_common::Result;
use std::sync::Arc;

/// Lets a session create tables `STORED AS SHARD`, `COPY` to shards, and set options with the prefix
/// `shard`.
///
/// # Errors
/// If the session cannot take another format.
pub fn register(ctx: &SessionContext) -> Result<()> {
    register_state(&mut ctx.state_ref().write())
}

/// As [`register`], for a state that no session has yet.
///
/// # Errors
/// Those of [`register`].
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
