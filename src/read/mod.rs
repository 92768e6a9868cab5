//! Reading shards.
//!
//! [`Shard`] opens a shard. [`ScanBuilder`] reads its rows in order, narrowed by a [`Projection`], a [`Predicate`] or a
//! [`RowSelection`]; [`Shard::take`] reads single rows by their numbers. [`Shard::statistics`] reports facts that are
//! known without reading data, and [`Shard::verify`] checks whether a shard is sound.

mod batches;
mod blob;
mod copied;
mod cut;
mod decoder;
mod filter;
mod open_shard;
mod polled;
mod reader;
mod referenced;
mod report;
mod row_filter;
mod scan;
mod scan_builder;
mod shard;
#[cfg(feature = "async")]
mod stream;
mod stripe;
#[cfg(feature = "threads")]
mod threads;

pub(crate) use copied::CopyChecks;
pub(crate) use row_filter::{ColumnRange, RowFilter};
pub(crate) use scan::row_selection::check_rows;
pub(crate) use shard::projection::unknown_column;
pub(crate) use shard::waiting::ready_now;

pub use crate::column::TypeMapping;
pub use crate::encoding::presence::PresenceKind;
pub use crate::encoding::{DictionaryKind, EncodingCode, EncodingTree};
pub use crate::format::{
    AnyValue, BufferKind, CardinalityInfo, DataRef, HllSketch, INGESTION_TIMESTAMP, LengthStats,
    NameValuePair, RECORD_IDENTITY, RangeStats, ShardProperties, SignStats, Sketch,
    SplitBlockBloomFilter, StripeProperties, TypeStats, ValueKind, Wire,
};
pub use crate::sorting::SortingColumn;
pub use blob::{AsyncBlob, Blob};
pub use decoder::{Request, ScanDecoder, ShardDecoder, Step};
pub use filter::predicate::{ColumnRef, Literal, Predicate, col, col_at, lit};
pub use filter::{DynamicPredicate, ScanMetrics, Skipped};
pub use open_shard::Shard;
pub use reader::ShardReader;
pub use report::inspect::{
    BlockInfo, BlocksInfo, BufferInfo, CompressorInfo, EncodingCount, FieldInfo, FileInfo,
    InspectOptions, RangeIndexInfo, ShardInfo, StripeInfo,
};
pub use report::nodes::NodeInfo;
pub use report::verify::{Problem, VerifyOptions, VerifyProgress, VerifyReport};
pub use scan::row_selection::RowSelection;
pub use scan_builder::ScanBuilder;
pub use shard::blob_form::BlobForm;
pub use shard::options::ShardOptions;
pub use shard::projection::Projection;
#[cfg(feature = "async")]
pub use stream::ShardStream;
pub use stripe::Stripe;
