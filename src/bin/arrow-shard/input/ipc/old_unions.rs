//! Unions before version 1.0 of the format (metadata version V4), which have their own nulls.

use super::invalid;
use crate::leaves::children;
use arrow_ipc::{FieldNode, Message, MetadataVersion};
use arrow_schema::{DataType, Field, SchemaRef};
use std::io;

/// Finds nulls that `arrow-ipc` would read as values.
pub(super) struct OldUnions {
    schema: SchemaRef,
}

impl OldUnions {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema }
    }

    /// Fails if a batch has a null in a union itself.
    pub(super) fn check(&self, message: &Message<'_>) -> io::Result<()> {
        let batch = message.header_as_record_batch();
        let Some(nodes) = batch.and_then(|batch| batch.nodes()) else {
            return Ok(());
        };
        if message.version() >= MetadataVersion::V5 {
            return Ok(());
        }
        let mut nodes = nodes.iter();
        for field in self.schema.fields() {
            if has_null_union(field, &mut nodes) {
                return Err(invalid(format!(
                    "column `{}` is {} with nulls of its own, as before Arrow 1.0, which is not supported",
                    field.name(),
                    field.data_type()
                )));
            }
        }
        Ok(())
    }
}

/// Whether a union in the field has nulls. Takes the nodes of the field from `nodes`.
fn has_null_union<'a>(field: &Field, nodes: &mut impl Iterator<Item = &'a FieldNode>) -> bool {
    let Some(node) = nodes.next() else {
        return false;
    };
    let is_union = matches!(field.data_type(), DataType::Union(..));
    let mut found = is_union && node.null_count() > 0;
    for child in children(field.data_type()) {
        found |= has_null_union(child, nodes);
    }
    found
}
