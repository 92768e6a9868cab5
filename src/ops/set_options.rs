//! The options of tables of several shards.

use super::unify::Unify;
use crate::read::ShardOptions;
use crate::settings::settings;
use arrow_schema::SchemaRef;

/// Options of a [`ShardSet`](super::ShardSet). [`ShardOptions`] alone are options, too: the methods that open a table
/// accept both.
///
/// ```no_run
/// use arrow_shard::ops::{ShardSet, ShardSetOptions, Unify};
/// let options = ShardSetOptions::default().with_unify(Unify::Widen);
/// let table = ShardSet::open_folder_with("days", options)?;
/// # Ok::<(), arrow_shard::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardSetOptions {
    shards: ShardOptions,
    unify: Unify,
    schema: Option<SchemaRef>,
}

settings! {
    ShardSetOptions {
        /// How columns of one name are united if their types differ between the shards; by default, that is an error.
        unify, with_unify: Unify;
    }
}

impl ShardSetOptions {
    /// Returns the types that columns are widened to; `None` if only the types of the shards count.
    pub fn schema(&self) -> Option<&SchemaRef> {
        self.schema.as_ref()
    }

    /// With [`Unify::Widen`], also widens columns to the types that they have in `schema`: for example, in a larger
    /// table that these shards are a part of. Columns of other names have no effect.
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Returns the options of each shard, and of the whole table.
    pub fn shard_options(&self) -> &ShardOptions {
        &self.shards
    }

    /// Sets the options of each shard, and of the whole table.
    #[must_use]
    pub fn with_shard_options(mut self, shards: ShardOptions) -> Self {
        self.shards = shards;
        self
    }
}

impl From<ShardOptions> for ShardSetOptions {
    fn from(shards: ShardOptions) -> Self {
        Self::default().with_shard_options(shards)
    }
}
