//! Writing shards.
//!
//! A [`ShardWriter`] takes RecordBatches and makes a shard of them as [`WriterOptions`] say. [`explain`]
//! shows which encodings it weighs for a batch.

mod batch;
mod bits;
mod choose;
mod codes;
mod dictionary;
mod directory;
mod explain;
mod field;
mod finish;
mod growth;
mod interner;
mod lane;
#[cfg(not(target_family = "wasm"))]
mod local;
mod nesting;
mod number;
mod options;
mod output;
mod plan;
mod raw;
#[cfg(not(target_family = "wasm"))]
mod replaced;
mod room;
mod schema;
mod settings;
mod shard;
mod strings;
mod stripe;
mod stripe_files;
mod summary;
mod trial;
mod workers;

pub use crate::column::TypeMapping;
pub use crate::format::{AnyValue, DataRef, NameValuePair, ValueKind, Wire};
pub use crate::sorting::{SORTING_COLUMNS_PROPERTY, SortingColumn};
pub use explain::{Candidate, FieldCandidates, explain};
pub use options::{ColumnOptions, Layout, PresenceLayout, Profile, WriterOptions};
pub use shard::{ARROW_SCHEMA_PROPERTY, ShardWriter};
pub use summary::ShardSummary;
