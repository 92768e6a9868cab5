//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding".

use super::super::schema::{NativeType, NativeTypes, natural_leaf};
use super::super::{Chunk, decimal, fixed_width, has_dictionary, mismatch};
use super::{
    Assembler, Casts, check_chunk, check_len, check_nulls, decimal128, from_values, invalid, ticks,
};
use crate::buffer::Selection;
use crate::error::Result;
use crate::format::DataType;
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;

impl Assembler<'_> {
    /// Returns the Booleans of a leaf, cast to the requested type.
    pub(super) fn bits(
        &mut self,
        wanted: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        if self.source.is_external(node) {
            return self.external(wanted, &ArrowType::Boolean, node, rows);
        }
        let chunk = self.source.bits(node, rows)?;
        check_chunk(&chunk, rows)?;
        check_len(chunk.len, chunk.values.len())?;
        let array = BooleanArray::new(chunk.values, chunk.nulls);
        self.cast(Arc::new(array), wanted, node)
    }

    /// Returns the fixed-width values of a leaf, cast to the requested type.
    pub(super) fn fixed(
        &mut self,
        wanted: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let Some(width) = fixed_width(node) else {
            return Err(mismatch(wanted, node));
        };
        if self.source.is_external(node) {
            let natural = match self.casts.written(node, wanted) {
                Some(own) => own.clone(),
                None => natural_leaf(node, &NativeTypes::default())?,
            };
            return self.external(wanted, &natural, node, rows);
        }
        if has_dictionary(node.basic_type)
            && let Some(stored) = self.source.dictionary(node, rows)?
        {
            return self.gather(stored, wanted, node, rows);
        }
        let chunk = self.source.fixed(node, width, rows)?;
        check_chunk(&chunk, rows)?;
        fixed(chunk, width, wanted, node, self.casts)
    }
}

/// Returns the array of values of `width` bytes.
pub(super) fn fixed(
    chunk: Chunk<Buffer>,
    width: usize,
    wanted: &ArrowType,
    node: &DataType,
    casts: &Casts,
) -> Result<ArrayRef> {
    if let Some(own) = casts.written(node, wanted) {
        let array = fixed(chunk, width, own, node, casts)?;
        return casts.leaf(array, wanted, node);
    }
    let expected = chunk.len.checked_mul(width);
    check_len(expected.unwrap_or(usize::MAX), chunk.values.len())?;
    check_nulls(chunk.len, chunk.nulls.as_ref())?;
    let native = NativeType::of(node);
    match native {
        Some(NativeType::DateTime) => return ticks::date_times(chunk, wanted, node, casts),
        Some(NativeType::TimeSpan) => return ticks::time_spans(chunk, wanted, node, casts),
        _ => {}
    }
    if native == Some(NativeType::Decimal) && *wanted != ArrowType::FixedSizeBinary(16) {
        return decimal128::decimals(chunk, wanted, node);
    }
    let natural = match native {
        Some(NativeType::Decimal) => ArrowType::FixedSizeBinary(16),
        _ => natural_leaf(node, &NativeTypes::default())?,
    };
    if let ArrowType::FixedSizeBinary(size) = natural {
        let Chunk { len, nulls, values } = chunk;
        let array = FixedSizeBinaryArray::try_new_with_len(size, values, nulls, len);
        return casts.leaf(Arc::new(array.map_err(invalid)?), wanted, node);
    }
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
    casts.leaf(array, wanted, node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::BasicType;

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
            let read = fixed(chunk, 8, &ArrowType::Int64, &node, &Casts::default()).unwrap();
            let data = read.to_data();
            assert_eq!(data.buffers()[0].as_slice(), values.as_slice());
            assert_eq!(data.buffers()[0].as_ptr() == values.as_ptr(), aligned);
        }
    }
}
