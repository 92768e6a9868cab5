//! Values of other types in text. Digits that a type would lose are errors.

use super::text_forms;
use crate::failure::Failure;
use crate::leaves::cast_array;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};

/// Parses a column of text as another type.
///
/// # Errors
/// Fails if a text is not a value of the type, or has more digits than the type holds.
pub(super) fn parsed(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    let value = match to {
        DataType::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    if value.is_string() {
        return cast_array(column, to);
    }
    let text = cast_array(column, &DataType::Utf8)?;
    let texts = text.as_string::<i32>();
    let read = match text_forms::values(texts, value) {
        Some(values) => values.map_err(Failure::new)?,
        None => text.clone(),
    };
    let plain = cast_array(&read, value).map_err(|_| no_value(to))?;
    for text in texts.iter().flatten() {
        check(text.trim(), value)?;
    }
    if plain.data_type().is_floating() {
        check_floats(&plain, texts, value)?;
    }
    cast_array(&plain, to)
}

pub(super) fn no_value(ty: &DataType) -> Failure {
    Failure::new(format!("the text is not a value of {ty}"))
}

/// Fails if arrow parses a text as a value that lacks some of it.
fn check(text: &str, ty: &DataType) -> Result<(), Failure> {
    use DataType as T;
    match ty {
        T::Decimal32(_, scale)
        | T::Decimal64(_, scale)
        | T::Decimal128(_, scale)
        | T::Decimal256(_, scale)
            // A negative scale would drop digits before the point.
            if usize::try_from(*scale).map_or(true, |scale| decimals(text) > scale) =>
        {
            return Err(lost(ty));
        }
        T::Timestamp(unit, zone) => {
            check_fraction(text, *unit, ty)?;
            if zone.is_none() && has_zone(text) {
                return Err(Failure::new(format!(
                    "the time has a zone, and {ty} has none: use a type such as timestamp({}, UTC)",
                    unit_name(*unit)
                )));
            }
        }
        T::Time32(unit) | T::Time64(unit) => {
            // Bare numbers would count units.
            if !text.contains(':') {
                return Err(no_value(ty));
            }
            check_fraction(text, *unit, ty)?;
        }
        T::Date32 | T::Date64 if !is_midnight(text) => return Err(lost(ty)),
        nested if nested.is_nested() => return Err(no_value(ty)),
        _ => {}
    }
    Ok(())
}

/// Whether nothing but zeros follows a date.
fn is_midnight(text: &str) -> bool {
    let clock = text.split_once(['T', ' ']).map_or("", |(_, clock)| clock);
    clock.bytes().all(|byte| matches!(byte, b'0' | b':' | b'.'))
}

/// Part of the errors about digits that a type does not hold.
pub(super) const LOST: &str = "has more digits than";

fn lost(ty: &DataType) -> Failure {
    Failure::new(format!("the text {LOST} {ty} holds"))
}

/// Returns the number of digits after the decimal point that are not zeros at the end. Arrow reads no exponents.
fn decimals(text: &str) -> usize {
    let (_, fraction) = text.split_once('.').unwrap_or((text, ""));
    fraction.trim_end_matches('0').len()
}

/// Fails for fractions of seconds that the unit does not hold, and for leap seconds, which would become the next
/// second.
fn check_fraction(text: &str, unit: TimeUnit, ty: &DataType) -> Result<(), Failure> {
    let held = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let end = fraction.find(|c: char| !c.is_ascii_digit());
    let digits = fraction[..end.unwrap_or(fraction.len())].trim_end_matches('0');
    let is_leap = text
        .match_indices(":60")
        .any(|(at, _)| text[..at].contains(':'));
    if digits.len() > held || is_leap {
        return Err(lost(ty));
    }
    Ok(())
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// Whether anything but a clock reading follows the date.
fn has_zone(text: &str) -> bool {
    let clock = text.get(11..).unwrap_or_default();
    clock.contains(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')
}

/// Fails for numbers with digits that became infinite, and for integers that are not exact. Fractions are read as the
/// nearest float, as everywhere.
fn check_floats(parsed: &ArrayRef, texts: &StringArray, ty: &DataType) -> Result<(), Failure> {
    let wide = cast_array(parsed, &DataType::Float64)?;
    let pairs = wide.as_primitive::<Float64Type>().iter().zip(texts);
    for (float, text) in pairs.filter_map(|(float, text)| float.zip(text)) {
        if float.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
            return Err(no_value(ty));
        }
        if integer_digits(text.trim()).is_some_and(|digits| digits != exact_digits(float)) {
            return Err(lost(ty));
        }
    }
    Ok(())
}

/// Returns the digits of an integer without its sign and leading zeros; `None` for other text.
fn integer_digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_integer = !whole.is_empty()
        && whole.bytes().all(|byte| byte.is_ascii_digit())
        && fraction.bytes().all(|byte| byte == b'0');
    is_integer.then(|| whole.trim_start_matches('0'))
}

/// Returns all digits of a float that is an integer, without its sign; none for zero.
fn exact_digits(float: f64) -> String {
    let digits = format!("{:.0}", float.abs());
    digits.trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn parses(text: &str, to: &str) -> bool {
        let column: ArrayRef = Arc::new(StringArray::from(vec![Some(text), None]));
        parsed(&column, &to.parse().unwrap()).is_ok()
    }

    #[test]
    fn text_is_parsed_if_the_type_holds_all_of_it() {
        for (text, to) in [
            ("12", "Int8"),
            ("1.50", "Decimal128(3, 1)"),
            ("0.1", "Float32"),
            ("inf", "Float64"),
            ("2024-02-29", "Date32"),
            ("2024-02-29", "Timestamp(s)"),
            ("2024-02-29T12:00:00.500", "Timestamp(ms)"),
            ("2024-02-29T12:00:00+02:00", "Timestamp(s, \"UTC\")"),
            ("12:00:00.25", "Time32(ms)"),
            ("true", "Boolean"),
            ("x", "LargeUtf8"),
            ("x", "Dictionary(Int8, Utf8)"),
            ("1", "Dictionary(Int8, Int64)"),
            ("9007199254740992", "Float64"),
            ("-0", "Float64"),
            ("+007.00", "Float32"),
            ("1e23", "Float64"),
            ("9007199254740993.5", "Float64"),
            ("16777216", "Float32"),
            ("2048", "Float16"),
            ("1.0", "Int8"),
            ("-7.", "Dictionary(Int8, Int64)"),
            ("00fF", "Binary"),
            ("", "LargeBinary"),
            ("00ff", "FixedSizeBinary(2)"),
            ("PT1.5S", "Duration(ms)"),
            ("2024-02-29T00:00:00", "Date64"),
            ("2024-02-29 00:00:00.000", "Date32"),
        ] {
            assert!(parses(text, to), "{text} as {to}");
        }
        for (text, to) in [
            ("1.5", "Int64"),
            ("300", "Int8"),
            ("x", "Int8"),
            ("1.55", "Decimal128(3, 1)"),
            ("1.5e1", "Decimal128(3, 1)"),
            ("150", "Decimal128(3, -1)"),
            ("1e999", "Float64"),
            ("1e39", "Float32"),
            ("9007199254740993", "Float64"),
            ("-9007199254740993.0", "Float64"),
            ("18446744073709551615", "Float64"),
            ("16777217", "Float32"),
            ("2049", "Float16"),
            ("9007199254740993", "Dictionary(Int8, Float64)"),
            ("2024-02-30", "Date32"),
            ("2024-02-29T12:00:00", "Date32"),
            ("2024-02-29T12:00:00.5", "Timestamp(s)"),
            ("2024-02-29T23:59:60", "Timestamp(s)"),
            ("2024-02-29T12:00:00Z", "Timestamp(s)"),
            ("12", "Time32(s)"),
            ("12:00:00.5", "Time32(s)"),
            ("1", "List(Int64)"),
            ("1.01", "Int8"),
            ("hi", "Binary"),
            ("00f", "BinaryView"),
            ("00ff", "FixedSizeBinary(3)"),
            ("PT1.5S", "Duration(s)"),
            ("5", "Duration(s)"),
            ("2024-02-29T00:00:01", "Date64"),
            ("2024-02-29T00:00:00Z", "Date32"),
        ] {
            assert!(!parses(text, to), "{text} as {to}");
        }
    }
}
