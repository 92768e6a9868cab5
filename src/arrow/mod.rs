//! Types and arrays of Arrow on their own, without the nodes of a shard: the types inside of a type, sizes of arrays,
//! joining arrays that the kernels of Arrow cannot join, and the type that holds the values of two types.

mod join;
mod kernels;
mod size;
mod types;
mod widened_type;

pub(crate) use join::{join, pick};
pub(crate) use kernels::defeats_filter;
pub(crate) use size::{
    Uses, batch_bytes, bytes_of, inner_arrays, repeated_bytes, share, view_bytes,
};
pub(crate) use types::{
    child_fields, contains, is_wrapped, largest_integer, max_entries, type_fields, value_type,
};
pub use widened_type::widened_type;
