//! Spec: docs/format.md, "Arrow types": Arrow arrays to the values of schema nodes.

mod bytes;
mod decimal128;
mod dictionary_array;
mod fixed;
mod list;
mod run;
mod slots;
mod ticks;
mod union;

use super::schema::{check_children, deeper};
use super::{Chunk, Values, mismatch};
use crate::error::{Result, Within};
use crate::format::{BasicType, DataType};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, Field};
use slots::Slots;

/// Shreds an array into one chunk per schema node of a column, parents first. `emit` receives the id of the node and
/// its chunk.
///
/// A position below a null struct, union or fixed-size list is null itself. The elements of a null list or map are
/// dropped.
///
/// # Errors
/// Returns [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if the node cannot store the type of the array, and the
/// errors of `emit`. Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange), which names the row, for a decimal
/// above its declared precision or a value that the node cannot store unchanged.
pub fn shred(
    field: &Field,
    array: &dyn Array,
    node: &DataType,
    emit: &mut dyn FnMut(u32, Chunk<Values>) -> Result<()>,
) -> Result<()> {
    let mut shredder = Shredder { emit, depth: 0 };
    shredder
        .node(array, &Slots::all(array.len()), node)
        .within(|| format!("field `{}`", field.name()))
}

struct Shredder<'a> {
    emit: &'a mut dyn FnMut(u32, Chunk<Values>) -> Result<()>,
    depth: u32,
}

impl Shredder<'_> {
    fn node(&mut self, array: &dyn Array, slots: &Slots, node: &DataType) -> Result<()> {
        let above = self.depth;
        self.depth = deeper(above)?;
        check_children(node)?;
        let result = match (array.data_type(), node.basic_type) {
            (ArrowType::Dictionary(..), _) => self.dictionary(array, slots, node),
            (ArrowType::RunEndEncoded(..), _) => self.runs(array, slots, node),
            (
                ArrowType::List(_)
                | ArrowType::LargeList(_)
                | ArrowType::ListView(_)
                | ArrowType::LargeListView(_),
                BasicType::List,
            ) => self.list(array, slots, node),
            (ArrowType::Map(..), BasicType::Map) => self.map(array, slots, node),
            (ArrowType::FixedSizeList(..), BasicType::FixedSizeList) => {
                self.fixed_size_list(array, slots, node)
            }
            (ArrowType::Struct(_), BasicType::Struct) => self.members(array, slots, node),
            (ArrowType::Union(..), BasicType::Union) => self.union(array, slots, node),
            _ => leaf(array, slots, node).and_then(|chunk| (self.emit)(node.schema_id, chunk)),
        };
        self.depth = above;
        result
    }

    fn emit(
        &mut self,
        node: &DataType,
        len: usize,
        nulls: Option<NullBuffer>,
        values: Values,
    ) -> Result<()> {
        (self.emit)(node.schema_id, Chunk { len, nulls, values })
    }

    fn members(&mut self, array: &dyn Array, slots: &Slots, node: &DataType) -> Result<()> {
        let members = array.as_struct();
        if members.num_columns() != node.children.len() {
            return Err(mismatch(array.data_type(), node));
        }
        let nulls = slots.nulls(array.nulls());
        self.emit(node, slots.len(), nulls.clone(), Values::None)?;
        let slots = slots.with_mask(nulls);
        for (column, child) in members.columns().iter().zip(&node.children) {
            self.node(column, &slots, child)
                .within(|| format!("member `{}`", child.name))?;
        }
        Ok(())
    }
}

/// Returns the chunk of a leaf array that is not dictionary-encoded.
fn leaf(array: &dyn Array, slots: &Slots, node: &DataType) -> Result<Chunk<Values>> {
    match (array.data_type(), node.basic_type) {
        (ArrowType::Null, BasicType::Unit) => Ok(Chunk {
            len: slots.len(),
            nulls: Some(NullBuffer::new_null(slots.len())).filter(|n| !n.is_empty()),
            values: Values::None,
        }),
        (ArrowType::Boolean, BasicType::Boolean) => fixed::bits(array, slots),
        (
            ArrowType::Utf8
            | ArrowType::LargeUtf8
            | ArrowType::Utf8View
            | ArrowType::Binary
            | ArrowType::LargeBinary
            | ArrowType::BinaryView,
            BasicType::String | BasicType::Binary,
        ) => bytes::bytes(array, slots, node),
        _ => fixed::fixed(array, slots, node),
    }
}

/// Returns the values of an array, `width` bytes each, without copying.
fn raw_values(array: &ArrayRef, width: usize) -> Buffer {
    let data = array.to_data();
    data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width)
}
