//! Spec: docs/format.md, "Arrow types": schemas of Arrow and of shards, both ways.

mod complete;
mod label;
mod leaf;
mod native;
mod packed_columns;
mod to_arrow;
mod to_shard;

pub use complete::complete_labels;
pub(crate) use label::UUID as UUID_LABEL;
pub use native::NativeTypes;
pub(crate) use packed_columns::{
    ColumnPlace, column_places, has_packed_columns, packed_columns_label, packed_columns_name,
};
pub use to_arrow::to_arrow;
pub use to_shard::{SchemaOptions, TypeMapping, to_shard};

pub(super) use label::check_decimal;
pub(super) use leaf::natural_leaf;
pub(super) use native::NativeType;
pub(super) use to_arrow::check_children;

use crate::error::Result;
use crate::limits::{Limits, exceeded};

/// Returns the depth of the next level of a nested type.
///
/// # Errors
/// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) below the depth that readers allow by default.
pub(super) fn deeper(depth: u32) -> Result<u32> {
    let limit = Limits::default().max_schema_depth();
    if depth >= limit {
        return Err(exceeded(
            "max_schema_depth",
            limit.into(),
            "types are nested more levels deep",
        ));
    }
    Ok(depth + 1)
}

#[cfg(test)]
mod tests;
