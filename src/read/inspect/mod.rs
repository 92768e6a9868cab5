//! What a shard consists of, for people and for the check of a shard.

mod blocks;
mod field;
mod shard;
mod statistics;
#[cfg(test)]
mod tests;

pub(super) use blocks::{Elements, Part, block_groups};
pub use shard::{
    BlockInfo, BlocksInfo, BufferInfo, EncodingCount, FieldInfo, FileInfo, InspectOptions,
    RangeIndexInfo, ShardInfo, StripeInfo,
};
pub(super) use statistics::contradictions;

use crate::format::{BasicType, DataType};

/// The name of child `ordinal` in paths.
pub(super) fn child_name(parent: &DataType, ordinal: usize, child: &DataType) -> String {
    match (parent.basic_type, ordinal) {
        _ if !child.name.is_empty() => child.name.clone(),
        (BasicType::List | BasicType::FixedSizeList, _) => "item".to_owned(),
        (BasicType::Map, 0) => "key".to_owned(),
        (BasicType::Map, _) => "value".to_owned(),
        _ => ordinal.to_string(),
    }
}
