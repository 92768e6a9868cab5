//! Numbers in the text of a predicate.

use super::literal::LiteralForm;
use super::{Literal, lit};
use crate::error::{Error, Result};
use arrow_array::types::Decimal256Type;
use arrow_array::{PrimitiveArray, Scalar};
use arrow_buffer::i256;
use arrow_schema::DECIMAL256_MAX_PRECISION;

/// Most decimal digits of a number, and most places after its point.
const MAX_DIGITS: usize = DECIMAL256_MAX_PRECISION as usize;

/// Parses a number as `value * 10^-scale` without needless digits; `None` if it has more digits than the widest
/// decimal.
pub(super) fn decimal(text: &str) -> Option<(i256, i8)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_end_matches('0');
    let zeros = all.len() - digits.len();
    let mut digits = digits.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Some((i256::ZERO, 0));
    }
    let places = i64::try_from(fraction.len()).ok()? - i64::try_from(zeros).ok()?;
    let scale = places - i64::from(exponent);
    let missing = usize::try_from(-scale.min(0)).ok()?;
    if digits.len().checked_add(missing)? > MAX_DIGITS {
        return None;
    }
    digits.push_str(&"0".repeat(missing));
    let scale = usize::try_from(scale.max(0)).ok()?;
    let scale = i8::try_from(scale).ok().filter(|_| scale <= MAX_DIGITS)?;
    Some((i256::from_string(&format!("{sign}{digits}"))?, scale))
}

/// Returns the literal of a number, which takes the type of the column that it is compared with.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for text that is not a finite number, and for a number with
/// too many digits for an exact comparison.
pub(super) fn number(text: &str) -> Result<Literal> {
    let double: f64 = match text.parse() {
        Ok(double) if f64::is_finite(double) && !text.contains(['n', 'N']) => double,
        _ => return Err(Error::invalid(format!("expected a number, found `{text}`"))),
    };
    let is_integer = |text: &str| text.parse::<i128>().is_ok();
    let literal = match decimal(text) {
        // Floats have a negative zero.
        Some((i256::ZERO, _)) if text.starts_with('-') && !is_integer(text) => lit(-0.0),
        Some((value, 0)) => {
            let short = value.to_i128();
            let signed = short.and_then(|value| i64::try_from(value).ok()).map(lit);
            let unsigned = || short.and_then(|value| u64::try_from(value).ok()).map(lit);
            match signed.or_else(unsigned) {
                Some(literal) => literal,
                None => decimal_literal(value, 0)?,
            }
        }
        Some((value, scale)) => decimal_literal(value, scale)?,
        // No integer and no decimal is near such a double, so rounding cannot change a comparison.
        None if double.abs() >= 1e77 || (double != 0.0 && double.abs() < 1e-76) => lit(double),
        None => {
            return Err(Error::invalid(format!(
                "expected a number of at most {MAX_DIGITS} digits, found `{text}`"
            )));
        }
    };
    Ok(literal.with_written(LiteralForm::Number))
}

fn decimal_literal(value: i256, scale: i8) -> Result<Literal> {
    let array = PrimitiveArray::<Decimal256Type>::from_value(value, 1);
    let array = array.with_precision_and_scale(DECIMAL256_MAX_PRECISION, scale)?;
    Ok(Scalar::new(array).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_cast::display::array_value_to_string;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_read_exactly_without_needless_digits() {
        for (text, value, scale) in [
            ("9007199254740993.0", "9007199254740993", 0),
            ("-12.50", "-125", 1),
            ("+0.007e3", "7", 0),
            ("1e5", "100000", 0),
            ("000", "0", 0),
            ("5e-3", "5", 3),
        ] {
            let expected = Some((i256::from_string(value).unwrap(), scale));
            assert_eq!(decimal(text), expected, "{text}");
        }
        for text in ["", ".", "-", "1e", "1-2", "0x1", "1e77", "1e-77", "١", " 1"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_that_no_literal_equals_are_refused_except_vast_and_tiny_ones() {
        let one = "1".repeat(80);
        for text in ["nan", "inf", "1e999", "1e-999", &format!("0.{one}"), "1..2"] {
            assert!(number(text).is_err(), "{text}");
        }
        for text in ["1e300", "-1e300", "1e-300", one.as_str()] {
            assert!(number(text).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_number_shows_as_itself(value in any::<i128>(), scale in 0usize..60) {
            let digits = format!("{:0>1$}", value.unsigned_abs(), scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            let sign = if value < 0 { "-" } else { "" };
            let literal = number(&format!("{sign}{whole}.{fraction}1")).unwrap();
            let shown = array_value_to_string(literal.array(), 0).unwrap();
            prop_assert_eq!(shown, format!("{sign}{whole}.{fraction}1"));
        }
    }
}
