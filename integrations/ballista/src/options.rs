//! Converts options of tables to text and back.

use crate::wire::damaged;
use arrow_shard_datafusion::TableShardOptions;
use datafusion::common::Result;
use std::collections::BTreeMap;

/// Returns the options that have a value.
pub(crate) fn to_map(options: &TableShardOptions) -> BTreeMap<String, String> {
    options.to_options().into_iter().collect()
}

/// Returns the options of a message; options that it does not contain have their defaults.
///
/// # Errors
/// Returns an error for an unknown option or a value that cannot be parsed.
pub(crate) fn from_map(map: &BTreeMap<String, String>) -> Result<TableShardOptions> {
    let mut options = TableShardOptions::default();
    for (key, value) in map {
        let set = options.set_option(key, value);
        set.map_err(|error| damaged(error.strip_backtrace()))?;
    }
    Ok(options)
}
