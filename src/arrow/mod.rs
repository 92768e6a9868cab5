//! Types and arrays of Arrow on their own, without the nodes of a shard: the types inside of a type, sizes of arrays,
//! and joining arrays that the kernels of Arrow cannot join.

mod join;
mod kernels;
mod size;
mod types;

pub(crate) use join::{join, pick};
pub(crate) use kernels::defeats_filter;
pub(crate) use size::{
    Uses, batch_bytes, bytes_of, inner_arrays, repeated_bytes, share, view_bytes,
};
pub(crate) use types::{
    child_fields, contains, is_wrapped, largest_integer, max_entries, type_fields, value_type,
};
