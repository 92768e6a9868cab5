//! Unions before version 1.0 of the format (metadata version V4), which have their own nulls.

use super::invalid;
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
    use DataType as T;
    let Some(node) = nodes.next() else {
        return false;
    };
    match field.data_type() {
        T::Union(variants, _) => {
            let mut found = node.null_count() > 0;
            for (_, variant) in variants.iter() {
                found |= has_null_union(variant, nodes);
            }
            found
        }
        T::Struct(members) => {
            let mut found = false;
            for member in members {
                found |= has_null_union(member, nodes);
            }
            found
        }
        T::RunEndEncoded(ends, values) => {
            has_null_union(ends, nodes) | has_null_union(values, nodes)
        }
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _)
        | T::Map(item, _) => has_null_union(item, nodes),
        _ => false,
    }
}
