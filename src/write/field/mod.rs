//! From the chunks of one stripe field to its encoded buffers and its descriptor.

pub(in crate::write) mod bits;
#[cfg(feature = "parquet")]
pub(in crate::write) mod bounds;
mod byte_run;
mod byte_strings;
pub(in crate::write) mod codes;
mod dictionary_buffers;
mod dictionary_encoder;
mod encoded_entries;
pub(in crate::write) mod encoder;
mod entry_growth;
mod finished_leaf;
mod finished_values;
mod index_plans;
mod interner;
mod leaf_encoder;
mod nulls;
mod number_blocks;
mod numbers;
#[cfg(feature = "parquet")]
pub(in crate::write) mod page_index;
pub(in crate::write) mod plan;
mod raw;
mod recent_bytes;
mod trial;
#[cfg(feature = "parquet")]
pub(in crate::write) mod united_filter;
pub(in crate::write) mod values;
