//! Writing shards.
//!
//! A [`ShardWriter`] writes RecordBatches to a shard, with [`WriterOptions`]. [`AsyncShardWriter`] writes to asynchronous
//! stores. [`explain`] shows the encodings that it considers for a batch.

mod async_shard;
mod batch;
mod bits;
mod bits_shard;
mod byte_run;
mod bytes_encoder;
mod candidate;
mod choose;
mod coded;
mod codes;
mod column_options;
mod dictionary_encoder;
mod directory;
mod explain;
mod field;
mod finish;
mod finished;
mod growth;
mod internal_values;
mod interner;
mod lane;
#[cfg(not(target_family = "wasm"))]
mod local;
mod nesting;
mod nulls;
mod number;
mod options;
mod order;
mod outbox;
mod output;
mod own_properties;
mod packed_group;
mod plain_numbers;
mod plan;
mod profile;
mod raw;
mod room;
mod schema;
mod settings;
mod shard;
mod stored_columns;
mod strings;
mod stripe;
mod stripe_files;
mod summary;
mod trial;
mod values;
mod workers;

pub(crate) use crate::buffer::BUFFER_ALIGNMENT;
pub(crate) use bits::{BitPiece, WINDOW_BITS};
pub(crate) use bits_shard::{StripeBits, bits_shard};
pub(crate) use directory::{StripeRecord, StripesMetadata};
pub(crate) use output::Output;
pub(crate) use own_properties::own_properties;
pub(crate) use schema::{check_storable, stored_schema};

pub use crate::sorting::SORTING_COLUMNS_PROPERTY;
pub use async_shard::AsyncShardWriter;
pub use candidate::{Candidate, FieldCandidates};
pub use column_options::{ColumnOptions, PresenceLayout};
pub use explain::explain;
pub use internal_values::InternalValues;
pub use options::{ARROW_SCHEMA_PROPERTY, Layout, WriterOptions};
pub use profile::Profile;
pub use shard::ShardWriter;
pub use summary::ShardSummary;
