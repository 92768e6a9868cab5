//! Reading shards: open, scan, take.

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
mod row_selection;
mod rows;
mod scan;
mod shard;
mod source;
mod statistics;
mod stripe;
mod take;
#[cfg(feature = "threads")]
mod threads;
mod verify;
mod windows;

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
