//! Spec: docs/format.md, "Arrow types" (`KustoDecimal`).

use super::super::convert::convert;
use super::super::{decimal, mismatch};
use super::raw_values;
use crate::error::Result;
use crate::format::DataType;
use crate::format::decimal128::{DIGITS, Scaled, check_supported, encode};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::{Buffer, NullBuffer, i256};
use arrow_schema::DataType as ArrowType;

/// Converts decimals of any width to decimal128; bytes of decimal128 stay as they are.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange), which names the row, for a decimal that exceeds its
/// own precision or 34 digits, and [`Unsupported`](crate::ErrorKind::Unsupported) without the feature `decimal`.
pub(super) fn decimals(
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    node: &DataType,
) -> Result<Buffer> {
    if let ArrowType::FixedSizeBinary(16) = array.data_type() {
        return Ok(raw_values(array, 16));
    }
    check_supported()?;
    decimal::check_precision(array, nulls)?;
    match array.data_type() {
        ArrowType::Decimal32(_, scale) => encoded::<Decimal32Type>(array, *scale, nulls),
        ArrowType::Decimal64(_, scale) => encoded::<Decimal64Type>(array, *scale, nulls),
        ArrowType::Decimal128(_, scale) => encoded::<Decimal128Type>(array, *scale, nulls),
        ArrowType::Decimal256(_, scale) => encoded::<Decimal256Type>(array, *scale, nulls),
        other => Err(mismatch(other, node)),
    }
}

fn encoded<T: DecimalType + ArrowPrimitiveType<Native: Into<i256>>>(
    array: &ArrayRef,
    scale: i8,
    nulls: Option<&NullBuffer>,
) -> Result<Buffer> {
    let values = array.as_primitive::<T>().values();
    let value = |unscaled: T::Native| {
        let number = shortened(unscaled.into(), -i32::from(scale))?;
        encode(number).map(u128::from_le_bytes)
    };
    convert(values.iter().copied(), nulls, value, |unscaled| {
        format!(
            "the unscaled value {unscaled:?} of {} has more than the {DIGITS} digits of a \
             KustoDecimal; round it, or write the column with the lossless mapping",
            array.data_type()
        )
    })
}

/// Removes trailing zeros until the number has at most [`DIGITS`] digits. Returns `None` if it has too many other
/// digits.
fn shortened(unscaled: i256, mut exponent: i32) -> Option<Scaled> {
    let ten = i256::from_i128(10);
    let mut rest = unscaled;
    loop {
        if let Some(coefficient) = rest.to_i128()
            && coefficient.unsigned_abs() < 10u128.pow(DIGITS)
        {
            return Some(Scaled {
                coefficient,
                exponent,
            });
        }
        if rest.checked_rem(ten)? != i256::ZERO {
            return None;
        }
        rest = rest.checked_div(ten)?;
        exponent += 1;
    }
}
