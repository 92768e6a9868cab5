//! Writing shards.

mod choose;
mod dictionary;
mod directory;
mod field;
mod number;
mod options;
mod output;
mod schema;
mod shard;
mod strings;
mod stripe;

pub use crate::sorting::{SORTING_COLUMNS_PROPERTY, SortingColumn};
pub use options::{ColumnOptions, Layout, PresenceLayout, Profile, WriterOptions};
pub use shard::{ARROW_SCHEMA_PROPERTY, ShardSummary, ShardWriter};
