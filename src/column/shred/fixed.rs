//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding".

use super::super::{Chunk, Values, decimal, fixed_width, mismatch};
use super::slots::Slots;
use crate::column::schema::natural_leaf;
use crate::error::Result;
use crate::format::DataType;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::{Buffer, NullBuffer};

pub(super) fn bits(array: &dyn Array, slots: &Slots) -> Result<Chunk<Values>> {
    let (taken, nulls) = slots.take(array)?;
    Ok(Chunk {
        len: slots.len(),
        nulls,
        values: Values::Bits(taken.as_boolean().values().clone()),
    })
}

/// The values of a number, decimal, interval or fixed-size binary; no copy if all are wanted.
pub(super) fn fixed(array: &dyn Array, slots: &Slots, node: &DataType) -> Result<Chunk<Values>> {
    let arrow = array.data_type();
    let width = fixed_width(node).filter(|_| natural_leaf(node).is_ok_and(|n| n == *arrow));
    let Some(width) = width else {
        return Err(mismatch(arrow, node));
    };
    let arrow_width = arrow.primitive_width().unwrap_or(width);
    let (data, nulls) = if arrow_width == 0 {
        (
            Buffer::from_vec(Vec::<u8>::new()),
            slots.nulls(array.nulls()),
        )
    } else {
        let (taken, nulls) = slots.take(array)?;
        decimal::check_precision(&taken, nulls.as_ref())?;
        let data = taken.to_data();
        let start = data.offset() * arrow_width;
        let values = data.buffers()[0].slice_with_length(start, slots.len() * arrow_width);
        (narrowed(values, arrow_width, width, nulls.as_ref())?, nulls)
    };
    Ok(Chunk {
        len: slots.len(),
        nulls,
        values: Values::Fixed { width, data },
    })
}

fn narrowed(values: Buffer, from: usize, to: usize, nulls: Option<&NullBuffer>) -> Result<Buffer> {
    if from == to {
        return Ok(values);
    }
    decimal::resize(&values, from, to, nulls)
}
