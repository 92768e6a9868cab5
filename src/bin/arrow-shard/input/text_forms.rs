//! Text in the forms in which values of some types are written: hexadecimal bytes, durations of ISO 8601, whole numbers
//! with a point.

use arrow_array::{ArrayRef, BinaryArray, Int64Array, StringArray};
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

/// Returns the values of text of a type that arrow does not read in the form in which it is written, `None` for other
/// types. The values have a type that is cast to the type without loss, or fail to be.
///
/// # Errors
/// Returns what is wrong with a text.
pub(super) fn values(text: &StringArray, ty: &DataType) -> Option<Result<ArrayRef, String>> {
    use DataType as T;
    Some(match ty {
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => bytes(text, ty),
        T::Duration(unit) => ticks(text, *unit),
        ty if ty.is_integer() => Ok(Arc::new(
            text.iter()
                .map(|text| text.map(without_zeros))
                .collect::<StringArray>(),
        )),
        _ => return None,
    })
}

/// Decodes hexadecimal digits, as bytes are written in CSV and JSON.
fn bytes(text: &StringArray, ty: &DataType) -> Result<ArrayRef, String> {
    let decoded = |text: &str| {
        let digit = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|it| u8::try_from(it).ok())
        };
        let pairs = text.as_bytes().chunks(2).map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        });
        pairs.collect::<Option<Vec<u8>>>().ok_or_else(|| {
            format!(
                "expected bytes as pairs of hexadecimal digits, such as 00ff, for {ty}; the bytes of the text itself \
                 are the type utf8"
            )
        })
    };
    let values = text.iter().map(|text| text.map(decoded).transpose());
    let values = values.collect::<Result<Vec<Option<Vec<u8>>>, String>>()?;
    Ok(Arc::new(BinaryArray::from_iter(values)))
}

/// Parses durations such as `PT1.5S` and `-P1DT2H` into numbers of units.
fn ticks(text: &StringArray, unit: TimeUnit) -> Result<ArrayRef, String> {
    let parsed = |text: &str| {
        duration(text.trim(), unit).ok_or_else(|| {
            format!("expected a duration such as PT1.5S, in units of {unit:?} at the finest")
        })
    };
    let values = text.iter().map(|text| text.map(parsed).transpose());
    let values = values.collect::<Result<Vec<Option<i64>>, String>>()?;
    Ok(Arc::new(Int64Array::from(values)))
}

/// Returns a duration in units; `None` if it has months or years, or is no whole number of units.
fn duration(text: &str, unit: TimeUnit) -> Option<i64> {
    let per_second: i128 = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let (text, sign) = match text.strip_prefix('-') {
        Some(rest) => (rest, -1),
        None => (text, 1),
    };
    let (date, clock) = match text.strip_prefix('P')?.split_once('T') {
        Some((date, clock)) => (date, Some(clock)),
        None => (text.strip_prefix('P')?, None),
    };
    if date.is_empty() && clock.is_none_or(str::is_empty) {
        return None;
    }
    let mut total = 0i128;
    let parts = [
        (date, &[('D', 86_400)][..]),
        (
            clock.unwrap_or_default(),
            &[('H', 3_600), ('M', 60), ('S', 1)],
        ),
    ];
    for (mut rest, units) in parts {
        for &(letter, seconds) in units {
            let Some((number, after)) = rest.split_once(letter) else {
                continue;
            };
            rest = after;
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if whole.is_empty() || !digits(whole) || !digits(fraction) || whole.len() > 20 {
                return None;
            }
            total += whole.parse::<i128>().ok()? * seconds * per_second;
            let fraction = fraction.trim_end_matches('0');
            if !fraction.is_empty() {
                let power = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
                let part = fraction.parse::<i128>().ok()? * seconds * per_second;
                if part % power != 0 {
                    return None;
                }
                total += part / power;
            }
        }
        if !rest.is_empty() {
            return None;
        }
    }
    i64::try_from(total * sign).ok()
}

/// Removes a fraction of zeros, which other programs write after integers of columns with nulls.
fn without_zeros(text: &str) -> &str {
    match text.trim().split_once('.') {
        Some((whole, zeros))
            if whole.ends_with(|c: char| c.is_ascii_digit())
                && zeros.bytes().all(|byte| byte == b'0') =>
        {
            whole
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_numbers_of_units() {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        for (text, unit, expected) in [
            ("PT5S", Second, Some(5)),
            ("-PT5S", Millisecond, Some(-5_000)),
            ("PT0S", Nanosecond, Some(0)),
            ("P1DT2H3M4.5S", Millisecond, Some(93_784_500)),
            ("PT0.000001S", Microsecond, Some(1)),
            ("PT1.500S", Millisecond, Some(1_500)),
            ("PT86400S", Second, Some(86_400)),
            ("PT0.5H", Second, Some(1_800)),
            ("-PT9223372036854775808S", Second, Some(i64::MIN)),
            ("PT9223372036854775808S", Second, None),
            ("PT1.5S", Second, None),
            ("P1Y", Second, None),
            ("P1M", Second, None),
            ("PT", Second, None),
            ("P", Second, None),
            ("PTS", Second, None),
            ("PT5", Second, None),
            ("5", Second, None),
            ("PT5S ", Second, None),
            ("PT1S1M", Second, None),
        ] {
            assert_eq!(duration(text, unit), expected, "{text} in {unit:?}");
        }
    }

    #[test]
    fn only_fractions_of_zeros_are_removed() {
        for (text, expected) in [
            ("1.0", "1"),
            ("-12.000", "-12"),
            ("7.", "7"),
            ("1.5", "1.5"),
            (".0", ".0"),
            ("1.0e3", "1.0e3"),
            ("x.0", "x.0"),
        ] {
            assert_eq!(without_zeros(text), expected);
        }
    }
}
