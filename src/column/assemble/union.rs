//! Spec: Chapter 6, "Union Encoding"; docs/format.md, "Other layouts".

use super::super::mismatch;
use super::{Assembler, check_len, invalid};
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::format::DataType;
use arrow_array::{ArrayRef, UnionArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType as ArrowType, UnionFields, UnionMode};
use std::sync::Arc;

impl Assembler<'_> {
    /// Returns a dense or sparse union array. A union that is stored dense cannot become sparse.
    pub(super) fn union(
        &mut self,
        variants: &UnionFields,
        mode: UnionMode,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        if variants.len() != node.children.len() {
            return Err(mismatch(&ArrowType::Union(variants.clone(), mode), node));
        }
        let decoded = self.source.unions(node, rows)?;
        let len = to_usize(rows.len())?;
        check_len(len, decoded.ordinals.len())?;
        check_len(variants.len(), decoded.children.len())?;
        let offsets = match (decoded.offsets, mode) {
            (Some(offsets), UnionMode::Dense) => {
                check_len(len, offsets.len())?;
                Some(offsets)
            }
            // Each position of the union is the same position of its child.
            (None, UnionMode::Dense) => Some(positions(len)?),
            (None, UnionMode::Sparse) => None,
            (Some(_), UnionMode::Sparse) => {
                return Err(Error::new(
                    ErrorKind::SchemaMismatch,
                    format!(
                        "the union `{}` is stored dense; ask for a dense union",
                        node.name
                    ),
                ));
            }
        };
        let ids: Vec<i8> = variants.iter().map(|(id, _)| id).collect();
        let type_ids = decoded.ordinals.iter().map(|ordinal| {
            ids.get(usize::from(*ordinal)).copied().ok_or_else(|| {
                Error::corrupt(format!(
                    "expected a variant below {}, found {ordinal}",
                    ids.len()
                ))
            })
        });
        let type_ids: ScalarBuffer<i8> = type_ids.collect::<Result<Vec<_>>>()?.into();
        let mut children = Vec::with_capacity(variants.len());
        for (((_, field), child), rows) in
            variants.iter().zip(&node.children).zip(&decoded.children)
        {
            let array = self.node(field.data_type(), child, rows);
            children.push(array.within(|| format!("variant `{}`", field.name()))?);
        }
        let offsets = offsets.map(ScalarBuffer::from);
        let array = UnionArray::try_new(variants.clone(), type_ids, offsets, children);
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

/// Returns the offsets 0, 1, ... of a dense union with children as long as the union.
fn positions(len: usize) -> Result<Vec<i32>> {
    let end = i32::try_from(len).map_err(|_| {
        Error::new(
            ErrorKind::OffsetOverflow,
            format!("{len} rows exceed the offsets of a dense union"),
        )
    })?;
    Ok((0..end).collect())
}
