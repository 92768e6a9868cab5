//! Numbers and values as people read them.

use arrow_array::{Array, TimestampMicrosecondArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_shard::format::{AnyValue, ValueKind, decimal128_text};

/// A number of bytes, with a binary unit.
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

/// How many times smaller the encoded bytes are.
pub(crate) fn ratio(raw: Option<u64>, encoded: u64) -> Option<f64> {
    let raw = raw.filter(|_| encoded > 0)?;
    Some(raw as f64 / encoded as f64)
}

/// `1 row`, `2 rows`.
pub(crate) fn count(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// A time in 100 ns ticks since 0001-01-01.
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

/// A value of the metadata, cut to one short line.
pub(crate) fn value(value: &AnyValue) -> String {
    const MOST: usize = 40;
    let text = match &value.kind {
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
        Some(ValueKind::Decimal(v)) => decimal128_text(*v),
        Some(ValueKind::List(v)) => count(v.len() as u64, "item"),
        Some(ValueKind::Struct(v)) => count(v.len() as u64, "member"),
        Some(other) => format!("{other:?}"),
    };
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().take(32).map(|byte| format!("{byte:02x}"));
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
