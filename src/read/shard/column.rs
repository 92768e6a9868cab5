//! Columns that are read.

use crate::column::Casts;
use crate::format::DataType;
use arrow_schema::{Field, SchemaRef};
use std::sync::Arc;

/// A column of a shard, or the part of it that is read.
#[derive(Debug, Clone)]
pub(in crate::read) struct Column {
    pub(in crate::read) field: Field,
    pub(in crate::read) node: DataType,
    /// How values become those of the field's type, if it is not the column's own.
    pub(in crate::read) casts: Casts,
    /// Whether the field has descriptions of the column's values, and not the values.
    pub(in crate::read) described: bool,
}

impl Column {
    /// A column of the field's type.
    pub(in crate::read) fn new(field: Field, node: DataType, casts: Casts) -> Self {
        Self {
            field,
            node,
            casts,
            described: false,
        }
    }

    /// The column, but values that its own type does not hold exactly are errors.
    pub(in crate::read) fn strict(&self) -> Self {
        Self {
            casts: Casts::new(true, None, &self.node),
            ..self.clone()
        }
    }
}

/// Columns and their Arrow schema.
pub(in crate::read) type ProjectedColumns = (Arc<[Column]>, SchemaRef);
