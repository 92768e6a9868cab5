//! Statistics of fields: collected while values are staged, merged across stripes.

mod blocks;
mod bloom;
mod bytes;
mod distinct;
mod hash;
mod hll;
mod lengths;
mod merge;
mod number;
#[cfg(feature = "parquet")]
mod page_ranges;
mod wide_decimals;

pub(crate) use blocks::IndexedRanges;
pub(crate) use bloom::{BloomFilter, FilterSizing};
pub(crate) use bytes::{ByteRun, ByteStats, byte_value};
pub(crate) use distinct::{DistinctStats, FilterPlan};
#[cfg(feature = "parquet")]
pub(crate) use hash::HashFunction;
pub(crate) use hash::is_hashed;
pub(crate) use lengths::Lengths;
pub(crate) use merge::ShardStats;
pub(crate) use number::{NumberDomain, NumberStats};
#[cfg(feature = "parquet")]
pub(crate) use page_ranges::{PageNulls, PageRanges};
pub(crate) use wide_decimals::{DecimalForm, DecimalStats};
