//! Reading shards: open, scan, take.

mod artifacts;
mod columns;
mod constant;
mod dictionary;
mod fetch;
mod inspect;
mod metadata;
mod options;
mod plan;
mod projection;
mod rows;
mod scan;
mod shard;
mod source;
mod stripe;
mod take;
#[cfg(feature = "threads")]
mod threads;
mod verify;
mod windows;

pub use inspect::{
    BlockInfo, BlocksInfo, BufferInfo, EncodingCount, FieldInfo, FileInfo, InspectOptions,
    ShardInfo, StripeInfo,
};
pub use options::ShardOptions;
pub use projection::Projection;
pub use scan::{ScanBuilder, ShardReader};
pub use shard::Shard;
pub use stripe::Stripe;
pub use verify::{Problem, VerifyProgress, VerifyReport};
