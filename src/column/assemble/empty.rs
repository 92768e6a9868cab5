//! Checks of a requested type before rows are read.

use super::{Casts, assemble_as};
use crate::buffer::Selection;
use crate::column::{
    ByteLayout, ByteValues, Chunk, DecodedDictionary, DecodedLists, DecodedUnions, ListOffsets,
    NodeSource, OffsetWidth,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::DataType;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::Field;

/// Refuses a field if no values of the node can be converted to it.
///
/// # Errors
/// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch), or the errors of the node.
pub fn check_cast(field: &Field, node: &DataType, casts: &Casts) -> Result<()> {
    match assemble_as(field, node, casts, &Selection::default(), &mut NoRows) {
        Ok(_) => Ok(()),
        // There are no values, so the error is about the types.
        Err(e) if matches!(e.kind(), ErrorKind::ValueOutOfRange | ErrorKind::Arrow) => {
            let mismatch = Error::new(ErrorKind::SchemaMismatch, e.message());
            Err(mismatch.within(e.element()).caused_by(e))
        }
        Err(e) => Err(e),
    }
}

/// A source without rows.
struct NoRows;

fn none<V>(values: V) -> Chunk<V> {
    Chunk {
        len: 0,
        nulls: None,
        values,
    }
}

impl NodeSource for NoRows {
    fn check_bytes(&self, _: u64) -> Result<()> {
        Ok(())
    }

    fn bits(&mut self, _: &DataType, _: &Selection) -> Result<Chunk<BooleanBuffer>> {
        Ok(none(BooleanBuffer::new_unset(0)))
    }

    fn fixed(&mut self, _: &DataType, _: usize, _: &Selection) -> Result<Chunk<Buffer>> {
        Ok(none(Buffer::from_vec(Vec::<u8>::new())))
    }

    fn bytes(&mut self, _: &DataType, _: ByteLayout, _: &Selection) -> Result<Chunk<ByteValues>> {
        let values = Buffer::from_vec(Vec::<u8>::new());
        Ok(none(ByteValues::Offsets64(
            OffsetBuffer::new_empty(),
            values,
        )))
    }

    fn dictionary(&mut self, _: &DataType, _: &Selection) -> Result<Option<DecodedDictionary>> {
        Ok(None)
    }

    fn presence(&mut self, _: &DataType, _: &Selection) -> Result<Option<NullBuffer>> {
        Ok(None)
    }

    fn lists(&mut self, _: &DataType, width: OffsetWidth, _: &Selection) -> Result<DecodedLists> {
        Ok(DecodedLists {
            offsets: match width {
                OffsetWidth::Bits32 => ListOffsets::Bits32(OffsetBuffer::new_empty()),
                OffsetWidth::Bits64 => ListOffsets::Bits64(OffsetBuffer::new_empty()),
            },
            nulls: None,
            children: Selection::default(),
        })
    }

    fn unions(&mut self, node: &DataType, _: &Selection) -> Result<DecodedUnions> {
        Ok(DecodedUnions {
            ordinals: Vec::new(),
            offsets: None,
            children: vec![Selection::default(); node.children.len()],
        })
    }
}
