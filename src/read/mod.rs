//! Reading shards.
//!
//! [`Shard`] opens a shard. [`ScanBuilder`] reads its rows in order, narrowed by a [`Projection`], a [`Predicate`] or a
//! [`RowSelection`]; [`Shard::take`] reads single rows by their numbers. [`Shard::statistics`] reports facts that are
//! known without reading data, and [`Shard::verify`] checks whether a shard is sound. The module [`inspect`] has the
//! types that describe the structure of a shard.

mod batches;
mod blob;
mod copy_checks;
mod decoder;
mod filter;
pub mod inspect;
mod offset_limit;
mod open_shard;
mod polled_reader;
mod reader;
mod report;
mod row_filter;
mod scan;
mod scan_builder;
mod shard;
mod shard_properties;
mod stored_form;
mod stream;
mod stripe;
#[cfg(feature = "threads")]
mod threads;
mod widened_field;

pub(crate) use copy_checks::CopyChecks;
pub(crate) use row_filter::{ColumnRange, RowFilter};
pub(crate) use scan::row_selection::check_rows;
pub(crate) use shard::projection::unknown_column;
pub(crate) use shard::stored_types::StoredTypes;
pub(crate) use shard::waiting::{ready_now, ready_now_or};
pub(crate) use widened_field::widen_field;

pub use blob::{AsyncBlob, Blob};
pub use decoder::{Request, ScanDecoder, ShardDecoder, Step};
pub use filter::predicate::{ColumnRef, Literal, Predicate, col, col_at, lit};
pub use filter::{DynamicPredicate, ScanMetrics, Skipped};
pub use open_shard::Shard;
pub use reader::ShardReader;
pub use report::verify::{Problem, VerifyOptions, VerifyReport};
pub use scan::row_selection::RowSelection;
pub use scan_builder::ScanBuilder;
pub use shard::blob_form::BlobForm;
pub use shard::options::ShardOptions;
pub use shard::projection::Projection;
pub use stream::ShardStream;
pub use stripe::Stripe;
