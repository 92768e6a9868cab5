//! From the chunks of one stripe field to its encoded buffers and its descriptor.

pub(in crate::write) mod bits;
mod byte_run;
mod bytes_encoder;
pub(in crate::write) mod codes;
mod dictionary_buffers;
mod dictionary_encoder;
pub(in crate::write) mod encoder;
mod finished_leaf;
mod finished_values;
mod interner;
mod nulls;
mod number;
mod plain_numbers;
pub(in crate::write) mod plan;
mod raw;
mod strings;
mod trial;
pub(in crate::write) mod values;
