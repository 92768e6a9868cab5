//! Formats numbers and values for people.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayAccessor, ArrayRef, TimestampMicrosecondArray};
use arrow_cast::display::{
    ArrayFormatter, ArrayFormatterFactory, DisplayIndex, FormatOptions, FormatResult,
};
use arrow_schema::{ArrowError, DataType, Field};
use arrow_shard::metadata::{AnyValue, NameValuePair, ValueKind};
use std::fmt::Write;

pub(crate) use crate::safe_text::shown;

/// Formats a number of bytes with a binary unit.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// Returns the ratio of the raw size to the encoded size.
pub(crate) fn ratio(raw: Option<u64>, encoded: u64) -> Option<f64> {
    let raw = raw.filter(|_| encoded > 0)?;
    Some(raw as f64 / encoded as f64)
}

/// Formats texts in tables by [`shown`].
#[derive(Debug)]
pub(crate) struct ShownTexts;

impl ArrayFormatterFactory for ShownTexts {
    fn create_array_formatter<'a>(
        &self,
        array: &'a dyn Array,
        options: &FormatOptions<'a>,
        _: Option<&'a Field>,
    ) -> Result<Option<ArrayFormatter<'a>>, ArrowError> {
        let texts: Box<dyn DisplayIndex + 'a> = match array.data_type() {
            DataType::Utf8 => texts(array.as_string::<i32>(), options),
            DataType::LargeUtf8 => texts(array.as_string::<i64>(), options),
            DataType::Utf8View => texts(array.as_string_view(), options),
            _ => return Ok(None),
        };
        Ok(Some(ArrayFormatter::new(texts, true)))
    }
}

fn texts<'a, A>(array: A, options: &FormatOptions<'a>) -> Box<dyn DisplayIndex + 'a>
where
    A: ArrayAccessor<Item = &'a str> + 'a,
{
    let null = options.null();
    Box::new(Texts { array, null })
}

struct Texts<'a, A> {
    array: A,
    null: &'a str,
}

impl<'a, A: ArrayAccessor<Item = &'a str>> DisplayIndex for Texts<'a, A> {
    fn write(&self, i: usize, out: &mut dyn Write) -> FormatResult {
        let text = if self.array.is_null(i) {
            self.null.into()
        } else {
            shown(self.array.value(i))
        };
        Ok(out.write_str(&text)?)
    }
}

/// Returns this number of blanks, also more than the 65,535 of a format string.
pub(crate) fn blanks(count: usize) -> String {
    " ".repeat(count)
}

/// Formats a count with its unit: `1 row`, `2 rows`.
pub(crate) fn count(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// Formats a time in 100 ns ticks since 0001-01-01.
pub(crate) fn ticks(ticks: u64) -> String {
    const UNIX_EPOCH_MICROS: i64 = 62_135_596_800_000_000;
    let micros = i64::try_from(ticks / 10).unwrap_or(i64::MAX) - UNIX_EPOCH_MICROS;
    let array = TimestampMicrosecondArray::from(vec![micros]).with_timezone("+00:00");
    display(&array).unwrap_or_else(|| format!("{ticks} ticks"))
}

fn display(array: &dyn Array) -> Option<String> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options).ok()?;
    formatter.value(0).try_to_string().ok()
}

/// Maximum number of characters shown of a value in a column.
const MAX_VALUE_CHARS: usize = 40;
/// Maximum number of bytes of a binary value shown as digits.
const MAX_BINARY_BYTES: usize = 32;
/// Maximum number of characters shown of a property's value.
const MAX_PROPERTY_CHARS: usize = 120;

/// Formats a value of a column as one short line. If its Arrow type differs from the stored type, uses the Arrow type.
pub(crate) fn typed(value: &AnyValue, array: Option<&ArrayRef>) -> String {
    match array.and_then(typed_text) {
        Some(text) => cut(text, MAX_VALUE_CHARS),
        None => self::value(value),
    }
}

/// Returns the text of an array with one value, if its type is more specific than the stored value.
pub(crate) fn typed_text(array: &ArrayRef) -> Option<String> {
    use DataType::{
        Date32, Date64, Duration, Float16, Float32, Interval, Time32, Time64, Timestamp,
    };
    let is_typed = match array.data_type() {
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) => true,
        Duration(_) | Interval(_) | Float16 | Float32 => true,
        other => other.is_decimal(),
    };
    is_typed.then(|| display(array)).flatten()
}

/// Formats a property and its value in one line.
pub(crate) fn property(property: &NameValuePair) -> String {
    let value = property.value.as_ref().map(|value| match &value.kind {
        Some(ValueKind::Bytes(bytes)) if bytes.len() > MAX_BINARY_BYTES => {
            count(bytes.len() as u64, "byte")
        }
        _ => whole(value),
    });
    entry(&property.name, value.unwrap_or("(none)".to_owned()))
}

/// Formats a name and its value in one line.
pub(crate) fn entry(name: &str, value: String) -> String {
    format!("{name} = {}", cut(value, MAX_PROPERTY_CHARS))
}

/// Formats a value of the metadata as one short line.
pub(crate) fn value(value: &AnyValue) -> String {
    cut(whole(value), MAX_VALUE_CHARS)
}

fn whole(value: &AnyValue) -> String {
    match &value.kind {
        None => "(none)".to_owned(),
        Some(ValueKind::Null) => "null".to_owned(),
        Some(ValueKind::Bool(v)) => v.to_string(),
        Some(ValueKind::U64(v)) => v.to_string(),
        Some(ValueKind::I64(v)) => v.to_string(),
        Some(ValueKind::Double(v)) => v.to_string(),
        Some(ValueKind::DateTime(v)) => ticks(*v),
        Some(ValueKind::TimeSpan(v)) => format!("{} ticks", v.cast_signed()),
        Some(ValueKind::String(v)) => format!("{v:?}"),
        Some(ValueKind::Bytes(v)) => hex(v),
        Some(ValueKind::Decimal(_)) => value.to_decimal_text().unwrap_or_default(),
        Some(ValueKind::List(v)) => count(v.len() as u64, "item"),
        Some(ValueKind::Struct(v)) => count(v.len() as u64, "member"),
        Some(other) => format!("{other:?}"),
    }
}

/// Returns the text, or its first `most` characters and an ellipsis.
pub(crate) fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes
        .iter()
        .take(MAX_BINARY_BYTES)
        .map(|byte| format!("{byte:02x}"));
    format!("0x{}", digits.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn ticks_count_from_the_year_one() {
        assert_eq!(ticks(621_355_968_000_000_000), "1970-01-01T00:00:00Z");
        assert!(ticks(u64::MAX).ends_with("ticks") || ticks(u64::MAX).ends_with('Z'));
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(value(&"é".repeat(100).into()).chars().count(), 41);
    }
}
