//! Spec: docs/format.md, "Arrow types" (`KustoDecimal`): IEEE 754 decimal128 in the densely packed
//! form, little-endian. Needs the feature `decimal`.

use crate::error::{Error, Result};
use std::cmp::Ordering;

/// Label of schema nodes that hold decimal128, and annotation of such values.
pub(crate) const LABEL: &str = "KustoDecimal";

/// Decimal digits of the coefficient.
pub(crate) const DIGITS: u32 = 34;

/// Range of the exponent of a finite value's last digit.
#[cfg(feature = "decimal")]
const EXPONENTS: std::ops::RangeInclusive<i32> = -6176..=6111;

/// The finite number `coefficient * 10^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scaled {
    /// At most [`DIGITS`] digits and a sign.
    pub(crate) coefficient: i128,
    /// Power of ten of the last digit.
    pub(crate) exponent: i32,
}

/// Sign of a value.
#[cfg_attr(
    not(feature = "decimal"),
    allow(dead_code, reason = "only the feature tells signs")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Below zero, including negative infinity.
    Negative,
    /// Either zero.
    Zero,
    /// Above zero, including infinity.
    Positive,
    /// Not a number.
    Nan,
}

/// Checks that this build can convert decimals.
///
/// # Errors
/// [`Unsupported`](crate::ErrorKind::Unsupported) if it cannot.
pub(crate) fn check_supported() -> Result<()> {
    if cfg!(feature = "decimal") {
        Ok(())
    } else {
        Err(Error::unsupported(
            "decimals of type KustoDecimal need the feature \"decimal\" of this build",
        ))
    }
}

/// Encodes a number with its exponent. Returns `None` if it does not fit, or if this build lacks
/// the feature.
pub(crate) fn encode(number: Scaled) -> Option<[u8; 16]> {
    #[cfg(feature = "decimal")]
    {
        let fits = number.coefficient.unsigned_abs() < 10u128.pow(DIGITS);
        if !fits || !EXPONENTS.contains(&number.exponent) {
            return None;
        }
        let mut context = dec::Context::<dec::Decimal128>::default();
        let mut value = context.from_i128(number.coefficient);
        context.set_exponent(&mut value, number.exponent);
        Some(value.to_le_bytes())
    }
    #[cfg(not(feature = "decimal"))]
    {
        let _ = number;
        None
    }
}

/// Decodes a number. Returns `None` for infinities and NaN, and if this build lacks the
/// feature. A negative zero becomes zero.
pub(crate) fn decode(bytes: [u8; 16]) -> Option<Scaled> {
    #[cfg(feature = "decimal")]
    {
        let value = dec::Decimal128::from_le_bytes(bytes);
        value.is_finite().then(|| Scaled {
            coefficient: value.coefficient(),
            exponent: value.exponent(),
        })
    }
    #[cfg(not(feature = "decimal"))]
    {
        let _ = bytes;
        None
    }
}

/// Compares two values as numbers. Returns `None` if one is NaN, or if this build lacks the feature.
pub(crate) fn compare(a: [u8; 16], b: [u8; 16]) -> Option<Ordering> {
    #[cfg(feature = "decimal")]
    {
        let [a, b] = [a, b].map(dec::Decimal128::from_le_bytes);
        a.partial_cmp(&b)
    }
    #[cfg(not(feature = "decimal"))]
    {
        let _ = (a, b);
        None
    }
}

/// Returns the sign of a value, or `None` if this build lacks the feature.
pub(crate) fn sign(bytes: [u8; 16]) -> Option<Sign> {
    #[cfg(feature = "decimal")]
    {
        let value = dec::Decimal128::from_le_bytes(bytes);
        Some(match () {
            () if value.is_nan() => Sign::Nan,
            () if value.is_zero() => Sign::Zero,
            () if value.is_negative() => Sign::Negative,
            () => Sign::Positive,
        })
    }
    #[cfg(not(feature = "decimal"))]
    {
        let _ = bytes;
        None
    }
}

/// Returns the value as text, with an exponent if it is long. Without the feature `decimal`, returns its bytes in
/// hexadecimal.
pub fn decimal128_text(bytes: [u8; 16]) -> String {
    #[cfg(feature = "decimal")]
    {
        dec::Decimal128::from_le_bytes(bytes).to_string()
    }
    #[cfg(not(feature = "decimal"))]
    {
        let digits = bytes.iter().map(|b| format!("{b:02x}"));
        digits.collect()
    }
}

#[cfg(all(test, feature = "decimal"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUS_ONE_AND_A_HALF: [u8; 16] =
        [0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0, 0x07, 0xA2];
    const HUNDRED_AND_23: [u8; 16] = [0xA3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x22];

    fn scaled(coefficient: i128, exponent: i32) -> Scaled {
        Scaled {
            coefficient,
            exponent,
        }
    }

    #[test]
    fn numbers_have_the_bytes_of_the_format() {
        assert_eq!(encode(scaled(-15, -1)), Some(MINUS_ONE_AND_A_HALF));
        assert_eq!(encode(scaled(123, 0)), Some(HUNDRED_AND_23));
        assert_eq!(decode(MINUS_ONE_AND_A_HALF), Some(scaled(-15, -1)));
        assert_eq!(decode(HUNDRED_AND_23), Some(scaled(123, 0)));
        assert_eq!(decimal128_text(MINUS_ONE_AND_A_HALF), "-1.5");
    }

    #[test]
    fn numbers_compare_whatever_their_exponents() {
        let bytes = |c, e| encode(scaled(c, e)).unwrap();
        assert_eq!(compare(bytes(10, -1), bytes(1, 0)), Some(Ordering::Equal));
        assert_eq!(compare(bytes(-2, 3), bytes(-19, 2)), Some(Ordering::Less));
        let nan = dec::Decimal128::NAN.to_le_bytes();
        assert_eq!(compare(nan, bytes(1, 0)), None);
        assert_eq!(
            [nan, bytes(0, -3), bytes(-1, 0), bytes(1, 9)].map(sign),
            [Sign::Nan, Sign::Zero, Sign::Negative, Sign::Positive].map(Some)
        );
        let infinity = "Infinity".parse::<dec::Decimal128>().unwrap().to_le_bytes();
        assert_eq!((decode(nan), decode(infinity)), (None, None));
        assert_eq!(sign(infinity), Some(Sign::Positive));
    }

    #[test]
    fn a_coefficient_of_35_digits_does_not_fit() {
        let most = 10i128.pow(DIGITS) - 1;
        assert_eq!(
            decode(encode(scaled(-most, -34)).unwrap()),
            Some(scaled(-most, -34))
        );
        assert_eq!(encode(scaled(most + 1, 0)), None);
        assert_eq!(encode(scaled(i128::MIN, 0)), None);
    }

    proptest! {
        #[test]
        fn any_number_is_decoded_as_it_was_encoded(
            coefficient in -(10i128.pow(34) - 1)..10i128.pow(34),
            digits in 0u32..34,
            exponent in -6176..=6111i32,
        ) {
            let number = scaled(coefficient / 10i128.pow(digits), exponent);
            prop_assert_eq!(decode(encode(number).unwrap()), Some(number));
        }

        #[test]
        fn any_bytes_are_a_number_or_none_and_never_panic(bytes in any::<[u8; 16]>(), other in any::<[u8; 16]>()) {
            if let Some(number) = decode(bytes) {
                // The same number may have other bytes, too.
                let again = encode(number).unwrap();
                prop_assert_eq!(decode(again), Some(number));
                prop_assert_eq!(compare(again, bytes), Some(Ordering::Equal));
            }
            let nan = [bytes, other].map(sign).contains(&Some(Sign::Nan));
            prop_assert_eq!(compare(bytes, other).is_none(), nan);
            prop_assert!(!decimal128_text(bytes).is_empty());
        }
    }
}
