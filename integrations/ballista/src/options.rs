//! Options of tables as texts.

use crate::wire::damaged;
use arrow_shard_datafusion::TableShardOptions;
use datafusion::common::Result;
use std::collections::BTreeMap;

/// The options that are set.
pub(crate) fn to_map(options: &TableShardOptions) -> BTreeMap<String, String> {
    options.to_options().into_iter().collect()
}

/// The options that texts set; the others have their defaults.
///
/// # Errors
/// If there is no such option, or the value makes no sense.
pub(crate) fn from_map(map: &BTreeMap<String, String>) -> Result<TableShardOptions> {
    let mut options = TableShardOptions::default();
    for (key, value) in map {
        let set = options.set_option(key, value);
        set.map_err(|error| damaged(error.strip_backtrace()))?;
    }
    Ok(options)
}
