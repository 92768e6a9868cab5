//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding".

use super::super::schema::{NativeType, NativeTypes, natural_leaf};
use super::super::{Chunk, decimal, fixed_width, has_dictionary, mismatch};
use super::{
    Assembler, cast, check_chunk, check_len, check_nulls, decimal128, from_values, invalid, ticks,
};
use crate::buffer::Selection;
use crate::error::Result;
use crate::format::{BasicType, DataType};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;

impl Assembler<'_> {
    pub(super) fn bits(
        &mut self,
        wanted: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let chunk = self.source.bits(node, rows)?;
        check_chunk(&chunk, rows)?;
        check_len(chunk.len, chunk.values.len())?;
        cast::number(
            Arc::new(BooleanArray::new(chunk.values, chunk.nulls)),
            wanted,
            node,
        )
    }

    pub(super) fn fixed(
        &mut self,
        wanted: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let Some(width) = fixed_width(node) else {
            return Err(mismatch(wanted, node));
        };
        if has_dictionary(node.basic_type)
            && let Some(stored) = self.source.dictionary(node, rows)?
        {
            return stored.gather(wanted, node, rows, self.source);
        }
        let chunk = self.source.fixed(node, width, rows)?;
        check_chunk(&chunk, rows)?;
        fixed(chunk, width, wanted, node)
    }
}

/// The array of values of `width` bytes.
pub(super) fn fixed(
    chunk: Chunk<Buffer>,
    width: usize,
    wanted: &ArrowType,
    node: &DataType,
) -> Result<ArrayRef> {
    let expected = chunk.len.checked_mul(width);
    check_len(expected.unwrap_or(usize::MAX), chunk.values.len())?;
    check_nulls(chunk.len, chunk.nulls.as_ref())?;
    let native = NativeType::of(node);
    match native {
        Some(NativeType::DateTime) => return ticks::date_times(chunk, wanted, node),
        Some(NativeType::TimeSpan) => return ticks::time_spans(chunk, wanted, node),
        _ => {}
    }
    if let ArrowType::FixedSizeBinary(size) = wanted {
        let is_binary = matches!(
            node.basic_type,
            BasicType::FixedSizeBinary | BasicType::Guid
        );
        if !is_binary || usize::try_from(*size).ok() != Some(width) {
            return Err(mismatch(wanted, node));
        }
        let Chunk { len, nulls, values } = chunk;
        let array = FixedSizeBinaryArray::try_new_with_len(*size, values, nulls, len);
        return Ok(Arc::new(array.map_err(invalid)?));
    }
    if native == Some(NativeType::Decimal) {
        return decimal128::decimals(chunk, wanted, node);
    }
    let natural = natural_leaf(node, &NativeTypes::default())?;
    if !natural.is_primitive() {
        return Err(mismatch(wanted, node));
    }
    let values = match decimal::arrow_width(&natural) {
        Some(wide) if wide != width => {
            decimal::resize(&chunk.values, width, wide, chunk.nulls.as_ref())?
        }
        _ => chunk.values,
    };
    let array = from_values(natural, chunk.len, values, chunk.nulls)?;
    cast::number(array, wanted, node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_copied_only_if_they_are_not_aligned() {
        let node = DataType {
            signed: true,
            ..DataType::new(BasicType::Int64, "c")
        };
        let bytes = Buffer::from_vec((0..=64).collect::<Vec<u8>>());
        let shift = bytes.as_ptr().align_offset(8);
        for (start, aligned) in [(shift, true), (shift + 1, false)] {
            let values = bytes.slice_with_length(start, 48);
            let chunk = Chunk {
                len: 6,
                nulls: None,
                values: values.clone(),
            };
            let read = fixed(chunk, 8, &ArrowType::Int64, &node).unwrap();
            let data = read.to_data();
            assert_eq!(data.buffers()[0].as_slice(), values.as_slice());
            assert_eq!(data.buffers()[0].as_ptr() == values.as_ptr(), aligned);
        }
    }
}
