//! Spec: docs/format.md, "Arrow types": decimals are stored in the narrowest width of their precision.

use crate::error::{Error, ErrorKind, Result};
use arrow_array::ArrowPrimitiveType;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, MutableBuffer, NullBuffer};
use arrow_schema::DataType as ArrowType;

/// Checks that every value that is present in a decimal array has no more digits than declared.
///
/// # Errors
/// [`ErrorKind::ValueOutOfRange`] naming the first row that does.
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
                "row {row}: the unscaled value {value:?} has more digits than {} declares",
                array.data_type()
            ),
        )),
    }
}

/// Changes the width of little-endian two's complement integers from `from` to `to` bytes; both are
/// 4, 8, 16 or 32. Null positions become whatever their low bytes are.
///
/// # Errors
/// [`ErrorKind::ValueOutOfRange`] naming the first row whose value is too large.
pub(super) fn resize(
    data: &Buffer,
    from: usize,
    to: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Buffer> {
    macro_rules! dispatch {
        ($(($from:literal, $to:literal)),*) => {
            match (from, to) {
                $(($from, $to) => resize_const::<$from, $to>(data, nulls),)*
                _ if from == to => Ok(data.clone()),
                _ => Err(Error::new(
                    ErrorKind::SchemaMismatch,
                    format!("decimals of {from} bytes cannot become decimals of {to} bytes"),
                )),
            }
        };
    }
    dispatch!(
        (4, 8),
        (4, 16),
        (4, 32),
        (8, 4),
        (8, 16),
        (8, 32),
        (16, 4),
        (16, 8),
        (16, 32),
        (32, 4),
        (32, 8),
        (32, 16)
    )
}

fn resize_const<const FROM: usize, const TO: usize>(
    data: &[u8],
    nulls: Option<&NullBuffer>,
) -> Result<Buffer> {
    let (values, _) = data.as_chunks::<FROM>();
    let mut out = MutableBuffer::with_capacity(values.len().saturating_mul(TO));
    let both = FROM.min(TO);
    for (row, value) in values.iter().enumerate() {
        // The byte that repeats the sign of the lower bytes.
        let fill = if value[both - 1] & 0x80 == 0 { 0 } else { 0xFF };
        let fits = value[both..].iter().all(|b| *b == fill);
        if !fits && nulls.is_none_or(|n| n.is_valid(row)) {
            return Err(Error::new(
                ErrorKind::ValueOutOfRange,
                format!("row {row}: the decimal does not fit in {TO} bytes"),
            ));
        }
        let mut resized = [fill; TO];
        resized[..both].copy_from_slice(&value[..both]);
        out.extend_from_slice(&resized);
    }
    Ok(out.into())
}

/// Bytes of the values of an Arrow decimal type.
pub(super) fn arrow_width(arrow: &ArrowType) -> Option<usize> {
    match arrow {
        ArrowType::Decimal32(..) => Some(i32::get_byte_width()),
        ArrowType::Decimal64(..) => Some(i64::get_byte_width()),
        ArrowType::Decimal128(..) => Some(i128::get_byte_width()),
        ArrowType::Decimal256(..) => Some(arrow_buffer::i256::get_byte_width()),
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
        assert!(e.message().contains("row 2"), "{e}");
        let nulls = NullBuffer::from(vec![true, true, false]);
        assert!(resize(&data, 8, 4, Some(&nulls)).is_ok());
    }
}
