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
    /// Conversion of the stored values to the field's type, if the types differ.
    pub(in crate::read) casts: Casts,
    /// Whether the field contains descriptions of the column's values instead of the values.
    pub(in crate::read) described: bool,
}

impl Column {
    /// Creates a column of the field's type.
    pub(in crate::read) fn new(field: Field, node: DataType, casts: Casts) -> Self {
        Self {
            field,
            node,
            casts,
            described: false,
        }
    }

    /// Returns the column with strict casts: a value that its own type does not hold exactly is an error.
    pub(in crate::read) fn strict(&self) -> Self {
        Self {
            casts: Casts::new(true, None, &self.node),
            ..self.clone()
        }
    }
}

/// Columns and their Arrow schema.
pub(in crate::read) type ProjectedColumns = (Arc<[Column]>, SchemaRef);
