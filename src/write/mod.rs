//! Writing shards.
//!
//! A [`ShardWriter`] writes RecordBatches to a shard, with [`WriterOptions`]. [`AsyncShardWriter`] writes to
//! asynchronous stores. [`explain`] shows the encodings that it considers for a batch.

mod async_shard;
mod batch;
mod bits_shard;
mod choose;
mod column_options;
mod explain;
mod field;
mod internal_values;
mod layout;
#[cfg(not(target_family = "wasm"))]
mod local;
mod options;
#[cfg(feature = "parquet")]
mod page_index;
mod schema;
mod shard;
mod shard_columns;
mod shard_properties;
mod summary;

pub(crate) use crate::buffer::BUFFER_ALIGNMENT;
#[cfg(feature = "parquet")]
pub(crate) use crate::buffer::StoredIndex;
pub(crate) use bits_shard::{StripeBits, bits_shard};
pub(crate) use field::bits::{BitPiece, WINDOW_BITS};
#[cfg(feature = "parquet")]
pub(crate) use field::bounds::range_of;
#[cfg(feature = "parquet")]
pub(crate) use field::page_index::{IndexedPages, PageNulls};
#[cfg(feature = "parquet")]
pub(crate) use field::united_filter::united_filter;
#[cfg(feature = "parquet")]
pub(crate) use internal_values::now;
pub(crate) use layout::directory::{StripeRecord, StripesMetadata};
pub(crate) use layout::positioned_sink::PositionedSink;
#[cfg(feature = "parquet")]
pub(crate) use page_index::{may_have_index, page_index};
pub(crate) use schema::{check_storable, stored_schema};
pub(crate) use shard_properties::{check_property, is_reserved_property, shard_properties};

pub use crate::format::WRITERS_PROPERTY;
pub use crate::sorting::SORTING_COLUMNS_PROPERTY;
pub use async_shard::AsyncShardWriter;
pub use choose::candidate::{Candidate, FieldCandidates};
pub use choose::profile::Profile;
pub use column_options::{ColumnOptions, PresenceLayout};
pub use explain::explain;
pub use internal_values::InternalValues;
pub use options::{Layout, WriterOptions};
pub use shard::ShardWriter;
pub use shard_properties::ARROW_SCHEMA_PROPERTY;
pub use summary::ShardSummary;
