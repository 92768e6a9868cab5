//! Reading shards.
//!
//! [`Shard`] opens one. [`ScanBuilder`] gives its rows in order, narrowed by a [`Projection`], a
//! [`Predicate`] or a [`RowSelection`]; [`Shard::take`] gives single rows by their numbers.
//! [`Shard::statistics`] says what is known without reading data, [`Shard::verify`] whether a shard is
//! sound.

mod artifacts;
mod batches;
mod cache;
mod columns;
mod constant;
mod dictionary;
mod fetch;
mod filter;
mod fit;
mod inspect;
mod join;
mod metadata;
mod options;
mod plan;
mod predicate;
mod projection;
mod prune;
mod repeat;
mod row_selection;
mod rows;
mod scan;
mod shard;
mod source;
mod statistics;
#[cfg(any(test, feature = "experimental"))]
mod stored;
mod stripe;
mod take;
#[cfg(feature = "threads")]
mod threads;
mod verify;
mod windows;

pub use crate::column::TypeMapping;
pub use crate::encoding::presence::PresenceKind;
pub use crate::encoding::{EncodingCode, EncodingTree};
pub use crate::format::{
    AnyValue, BufferKind, CardinalityInfo, DataRef, HllSketch, LengthStats, NameValuePair,
    RangeStats, ShardProperties, SignStats, Sketch, SplitBlockBloomFilter, StripeProperties,
    TypeStats, ValueKind, Wire,
};
pub use crate::sorting::SortingColumn;
pub use filter::{ScanMetrics, Skipped};
pub use inspect::{
    BlockInfo, BlocksInfo, BufferInfo, EncodingCount, FieldInfo, FileInfo, InspectOptions,
    RangeIndexInfo, ShardInfo, StripeInfo,
};
pub use options::ShardOptions;
pub use predicate::{ColumnRef, Literal, Predicate, col, lit};
pub use projection::Projection;
pub use row_selection::RowSelection;
pub use scan::{ScanBuilder, ShardReader};
pub use shard::Shard;
pub use stripe::Stripe;
pub use verify::{Problem, VerifyOptions, VerifyProgress, VerifyReport};
