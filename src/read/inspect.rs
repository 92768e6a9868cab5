//! The structure of a shard, as [`Shard::inspect`](super::Shard::inspect) and
//! [`Shard::schema_nodes`](super::Shard::schema_nodes) describe it: files, stripes, fields, buffers, blocks, and the
//! statistics that are stored with them.

pub use super::report::inspect::{
    BlockInfo, BlocksInfo, BufferInfo, CompressorInfo, EncodingCount, FieldInfo, FileInfo,
    InspectOptions, ParquetChunkInfo, RangeIndexInfo, ShardInfo, StripeInfo,
};
pub use super::report::nodes::NodeInfo;
pub use crate::encoding::presence::PresenceKind;
pub use crate::encoding::{DictionaryKind, EncodingCode, EncodingTree};
pub use crate::format::{
    BufferKind, CardinalityInfo, HllSketch, LengthStats, RangeStats, SignStats, Sketch,
    SplitBlockBloomFilter, TypeStats,
};
