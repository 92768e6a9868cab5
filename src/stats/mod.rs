//! Statistics of fields: collected while values are staged, merged over stripes.

mod merge;
mod number;
mod wide;

pub(crate) use merge::ShardStats;
pub(crate) use number::{NumberDomain, NumberStats};
pub(crate) use wide::{ByteStats, DecimalForm};
