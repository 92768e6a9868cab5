//! Spec: docs/format.md, "Arrow types" (`KustoDecimal`).

use super::super::convert::convert;
use super::super::schema::check_decimal;
use super::super::{Chunk, mismatch};
use super::from_values;
use crate::error::{Error, Result};
use crate::format::DataType;
use crate::format::decimal128::{check_supported, decimal128_text, decode};
use arrow_array::ArrayRef;
use arrow_buffer::{Buffer, i256};
use arrow_schema::DataType as ArrowType;

/// The largest power of ten to multiply by: beyond it, any number exceeds every Arrow decimal.
const MAX_DIGITS: u32 = 76;

/// Returns an array of decimals of any width, precision and scale.
///
/// # Errors
/// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange), which names a row that the type cannot represent
/// exactly, [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if Arrow forbids the type, and
/// [`Unsupported`](crate::ErrorKind::Unsupported) without the feature `decimal`.
pub(super) fn decimals(
    chunk: Chunk<Buffer>,
    wanted: &ArrowType,
    node: &DataType,
) -> Result<ArrayRef> {
    if !wanted.is_decimal() {
        return Err(mismatch(wanted, node));
    }
    check_supported()?;
    check_decimal(wanted).map_err(|e| Error::invalid(e.to_string()))?;
    let values = chunk.values.as_chunks::<16>().0.iter().copied();
    let nulls = chunk.nulls.as_ref();
    let complaint = |bytes: [u8; 16]| {
        format!(
            "{wanted} does not hold the KustoDecimal {} exactly; ask for another precision and \
             scale, or for FixedSizeBinary(16)",
            decimal128_text(bytes)
        )
    };
    macro_rules! converted {
        ($precision:expr, $scale:expr, $narrow:expr) => {{
            let value = |v| unscaled(v, *$precision, *$scale).and_then($narrow);
            convert(values, nulls, value, complaint)?
        }};
    }
    let out = match wanted {
        ArrowType::Decimal32(p, s) => converted!(p, s, |v| i32::try_from(v.to_i128()?).ok()),
        ArrowType::Decimal64(p, s) => converted!(p, s, |v| i64::try_from(v.to_i128()?).ok()),
        ArrowType::Decimal128(p, s) => converted!(p, s, i256::to_i128),
        ArrowType::Decimal256(p, s) => converted!(p, s, Some),
        _ => return Err(mismatch(wanted, node)),
    };
    from_values(wanted.clone(), chunk.len, out, chunk.nulls)
}

/// Returns the unscaled integer of at most `precision` digits, or `None` if the number has no such form.
fn unscaled(bytes: [u8; 16], precision: u8, scale: i8) -> Option<i256> {
    let number = decode(bytes)?;
    if number.coefficient == 0 {
        return Some(i256::ZERO);
    }
    let shift = number.exponent + i32::from(scale);
    let unscaled = match u32::try_from(shift) {
        Ok(up @ 0..=MAX_DIGITS) => {
            // Most results fit into 128 bits.
            let short = 10i128.checked_pow(up);
            match short.and_then(|power| number.coefficient.checked_mul(power)) {
                Some(short) => i256::from_i128(short),
                None => i256::from_i128(number.coefficient).checked_mul(ten_to(up)?)?,
            }
        }
        Ok(_) => return None,
        Err(_) => {
            let power = 10i128.checked_pow(shift.unsigned_abs())?;
            (number.coefficient % power == 0)
                .then(|| i256::from_i128(number.coefficient / power))?
        }
    };
    let limit = ten_to(precision.into())?;
    (unscaled < limit && unscaled.checked_neg()? < limit).then_some(unscaled)
}

fn ten_to(power: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(power)
}
