//! Spec: Chapter 6, "Primitive Fixed-Size Types Encoding".

use super::super::{Chunk, Values, decimal, fixed_width, mismatch};
use super::slots::Slots;
use super::{decimal128, raw_values, ticks};
use crate::column::schema::{NativeType, NativeTypes, natural_leaf};
use crate::error::Result;
use crate::format::DataType;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::DataType as ArrowType;

/// Returns the values of a Boolean array.
pub(super) fn bits(array: &dyn Array, slots: &Slots) -> Result<Chunk<Values>> {
    let (taken, nulls) = slots.take(array)?;
    Ok(Chunk {
        len: slots.len(),
        nulls,
        values: Values::Bits(taken.as_boolean().values().clone()),
    })
}

/// Returns the values of a number, decimal, interval or fixed-size binary; without a copy if all are selected.
pub(super) fn fixed(array: &dyn Array, slots: &Slots, node: &DataType) -> Result<Chunk<Values>> {
    let arrow = array.data_type();
    if let Some(native) = NativeType::of(node) {
        return converted(array, slots, node, native);
    }
    let meaning = natural_leaf(node, &NativeTypes::default());
    let width = fixed_width(node).filter(|_| meaning.is_ok_and(|m| m == *arrow));
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
        let values = raw_values(&taken, arrow_width);
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

/// Converts the values of an Arrow type to a native type.
fn converted(
    array: &dyn Array,
    slots: &Slots,
    node: &DataType,
    native: NativeType,
) -> Result<Chunk<Values>> {
    let arrow = array.data_type();
    let is_fixed = arrow.is_primitive() || matches!(arrow, ArrowType::FixedSizeBinary(16));
    let Some(width) = fixed_width(node).filter(|_| is_fixed) else {
        return Err(mismatch(arrow, node));
    };
    let (taken, nulls) = slots.take(array)?;
    let data = match native {
        NativeType::DateTime => ticks::date_times(&taken, nulls.as_ref(), node)?,
        NativeType::TimeSpan => ticks::time_spans(&taken, nulls.as_ref(), node)?,
        NativeType::Decimal => decimal128::decimals(&taken, nulls.as_ref(), node)?,
        NativeType::Dynamic => return Err(mismatch(arrow, node)),
    };
    Ok(Chunk {
        len: slots.len(),
        nulls,
        values: Values::Fixed { width, data },
    })
}
