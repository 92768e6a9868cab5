//! Spec: docs/format.md, "Arrow types": decimals are stored in the narrowest width of their precision.

use crate::error::{Error, ErrorKind, Result};
use arrow_array::ArrowPrimitiveType;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow_array::{Array, ArrowNativeTypeOp, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, i256};
use arrow_schema::DataType as ArrowType;

/// Checks that the present values of a decimal array have at most the declared number of digits.
///
/// # Errors
/// Returns [`ErrorKind::ValueOutOfRange`], which names the first row with more.
pub(super) fn check_precision(array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()> {
    match array.data_type() {
        ArrowType::Decimal32(p, _) => check(array.as_primitive::<Decimal32Type>(), *p, nulls),
        ArrowType::Decimal64(p, _) => check(array.as_primitive::<Decimal64Type>(), *p, nulls),
        ArrowType::Decimal128(p, _) => check(array.as_primitive::<Decimal128Type>(), *p, nulls),
        ArrowType::Decimal256(p, _) => check(array.as_primitive::<Decimal256Type>(), *p, nulls),
        _ => Ok(()),
    }
}

fn check<T: DecimalType + ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    precision: u8,
    nulls: Option<&NullBuffer>,
) -> Result<()> {
    let fits = |v: T::Native| T::is_valid_decimal_precision(v, precision);
    if let Some(&most) = T::MAX_FOR_EACH_PRECISION.get(usize::from(precision)) {
        let least = most.neg_wrapping();
        // Checking all values without a branch is faster than stopping at the first that is too large.
        let outside = |v: &T::Native| v.is_lt(least) | v.is_gt(most);
        if !array.values().iter().fold(false, |any, v| any | outside(v)) {
            return Ok(());
        }
    }
    let wrong = array
        .values()
        .iter()
        .enumerate()
        .find(|(i, v)| !fits(**v) && nulls.is_none_or(|n| n.is_valid(*i)));
    match wrong {
        None => Ok(()),
        Some((row, value)) => Err(Error::new(
            ErrorKind::ValueOutOfRange,
            format!(
                "value {row} of these: the unscaled value {value:?} has more digits than {} declares",
                array.data_type()
            ),
        )),
    }
}

/// Changes the width of little-endian two's complement integers from `from` to `to` bytes; both are 4, 8, 16 or 32.
/// Null positions get arbitrary values.
///
/// # Errors
/// Returns [`ErrorKind::ValueOutOfRange`], which names the first row with a value that is too large.
pub(super) fn resize(
    data: &Buffer,
    from: usize,
    to: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Buffer> {
    let i32_of = i32::from_le_bytes;
    let i64_of = i64::from_le_bytes;
    let i128_of = i128::from_le_bytes;
    let i256_of = i256::from_le_bytes;
    let i256_of_i128 = i256::from_i128;
    match (from, to) {
        _ if from == to => Ok(data.clone()),
        (4, 8) => Ok(widen(data, |v| i64::from(i32_of(v)))),
        (4, 16) => Ok(widen(data, |v| i128::from(i32_of(v)))),
        (4, 32) => Ok(widen(data, |v| i256_of_i128(i32_of(v).into()))),
        (8, 16) => Ok(widen(data, |v| i128::from(i64_of(v)))),
        (8, 32) => Ok(widen(data, |v| i256_of_i128(i64_of(v).into()))),
        (16, 32) => Ok(widen(data, |v| i256_of_i128(i128_of(v)))),
        (8, 4) => narrow(data, nulls, |v| low::<i32>(i64_of(v).into())),
        (16, 4) => narrow(data, nulls, |v| low::<i32>(i128_of(v))),
        (16, 8) => narrow(data, nulls, |v| low::<i64>(i128_of(v))),
        (32, 4) => narrow(data, nulls, |v| low_of_256::<i32>(i256_of(v))),
        (32, 8) => narrow(data, nulls, |v| low_of_256::<i64>(i256_of(v))),
        (32, 16) => narrow(data, nulls, |v| {
            let v = i256_of(v);
            (v.as_i128(), v.to_i128().is_some())
        }),
        _ => Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!("decimals of {from} bytes cannot become decimals of {to} bytes"),
        )),
    }
}

fn widen<const FROM: usize, T: ArrowNativeType>(
    data: &[u8],
    wide: impl Fn([u8; FROM]) -> T,
) -> Buffer {
    let (values, _) = data.as_chunks::<FROM>();
    values.iter().map(|v| wide(*v)).collect::<Vec<T>>().into()
}

/// Narrows values. `low` returns the low bits of a value, and whether they represent the whole value.
fn narrow<const FROM: usize, T: ArrowNativeType>(
    data: &[u8],
    nulls: Option<&NullBuffer>,
    low: impl Fn([u8; FROM]) -> (T, bool),
) -> Result<Buffer> {
    let (values, _) = data.as_chunks::<FROM>();
    let mut all = true;
    let narrow = values.iter().map(|v| {
        let (value, fits) = low(*v);
        all &= fits;
        value
    });
    let narrow: Vec<T> = narrow.collect();
    if !all {
        let is_wrong = |row: usize| !low(values[row]).1 && nulls.is_none_or(|n| n.is_valid(row));
        if let Some(row) = (0..values.len()).find(|row| is_wrong(*row)) {
            return Err(Error::new(
                ErrorKind::ValueOutOfRange,
                format!(
                    "value {row} of these: the decimal does not fit in {} bytes",
                    size_of::<T>()
                ),
            ));
        }
    }
    Ok(narrow.into())
}

/// Returns the low bits of an integer, and whether the integer fits into them.
fn low<T: Narrow>(value: i128) -> (T, bool) {
    let low = T::low(value);
    (low, low.into() == value)
}

fn low_of_256<T: Narrow>(value: i256) -> (T, bool) {
    let (narrow, fits) = low(value.as_i128());
    (narrow, fits && value.to_i128().is_some())
}

/// Integers that decimals are narrowed to.
trait Narrow: ArrowNativeType + Into<i128> {
    fn low(value: i128) -> Self;
}

impl Narrow for i32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits are what is meant"
    )]
    fn low(value: i128) -> Self {
        value as Self
    }
}

impl Narrow for i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits are what is meant"
    )]
    fn low(value: i128) -> Self {
        value as Self
    }
}

/// Returns the bytes per value of an Arrow decimal type.
pub(super) fn arrow_width(arrow: &ArrowType) -> Option<usize> {
    match arrow {
        ArrowType::Decimal32(..) => Some(i32::get_byte_width()),
        ArrowType::Decimal64(..) => Some(i64::get_byte_width()),
        ArrowType::Decimal128(..) => Some(i128::get_byte_width()),
        ArrowType::Decimal256(..) => Some(i256::get_byte_width()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_then_narrowing_gives_the_value_back() {
        for v in [0i32, 1, -1, i32::MAX, i32::MIN] {
            let data = Buffer::from_vec(vec![v]);
            for to in [8, 16, 32] {
                let wide = resize(&data, 4, to, None).unwrap();
                assert_eq!(wide.len(), to);
                assert_eq!(resize(&wide, to, 4, None).unwrap(), data);
            }
            let wide = resize(&data, 4, 16, None).unwrap();
            assert_eq!(wide.typed_data::<i128>(), [i128::from(v)]);
        }
    }

    #[test]
    fn narrowing_refuses_a_present_value_that_does_not_fit_and_names_its_row() {
        let data = Buffer::from_vec(vec![1i64, i64::from(i32::MIN), 1 << 31]);
        let e = resize(&data, 8, 4, None).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ValueOutOfRange);
        assert!(e.message().contains("value 2 of these"), "{e}");
        let nulls = NullBuffer::from(vec![true, true, false]);
        assert!(resize(&data, 8, 4, Some(&nulls)).is_ok());
    }
}
