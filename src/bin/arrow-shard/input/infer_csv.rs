//! The Arrow schema of CSV: for every column the type that holds all of its values, as they are
//! parsed and not as they look. A date that no calendar has makes a column of text.

use crate::failure::Failure;
use arrow_array::timezone::Tz;
use arrow_array::types::{Date32Type, Float64Type};
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use csv::{ByteRecord, ErrorKind, Reader};
use std::io::Read;

/// What the values of a column met so far are.
#[derive(Debug, Default)]
struct Column {
    boolean: bool,
    /// Integers that an i64 holds.
    integer: bool,
    /// Integers above those.
    large: bool,
    negative: bool,
    /// Integers that a Float64 may not hold.
    precise: bool,
    float: bool,
    date: bool,
    /// The finest unit of times without a zone, and of those with one.
    local: Option<TimeUnit>,
    zoned: Option<TimeUnit>,
    text: bool,
}

/// The schema of at most `rows` rows; of all if `None`. Without rows, all columns are text.
pub(super) fn infer(
    reader: &mut Reader<impl Read>,
    null: &str,
    rows: Option<usize>,
) -> Result<Schema, Failure> {
    let mut columns: Vec<Column> = Vec::new();
    let mut record = ByteRecord::new();
    let headers = match reader.has_headers() {
        true => Some(reader.byte_headers().map_err(failure)?.clone()),
        false => None,
    };
    let mut seen = 0;
    while rows.is_none_or(|rows| seen < rows)
        && reader.read_byte_record(&mut record).map_err(failure)?
    {
        seen += 1;
        columns.resize_with(record.len().max(columns.len()), Column::default);
        for (column, value) in columns.iter_mut().zip(&record) {
            let value = std::str::from_utf8(value).map_err(|_| not_text(&record))?;
            if !value.is_empty() && value != null {
                column.meet(value);
            }
        }
    }
    if headers.is_none()
        && columns.is_empty()
        && reader.read_byte_record(&mut record).map_err(failure)?
    {
        columns.resize_with(record.len(), Column::default);
    }
    let count = headers.as_ref().map_or(columns.len(), ByteRecord::len);
    columns.resize_with(count, Column::default);
    let name = |i: usize| match headers.as_ref().and_then(|names| names.get(i)) {
        Some(name) => match std::str::from_utf8(name) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(Failure::new("line 1: the names of columns are no UTF-8")),
        },
        None => Ok(format!("column_{}", i + 1)),
    };
    let fields = columns.iter().enumerate();
    let fields = fields.map(|(i, column)| Ok(Field::new(name(i)?, column.data_type(), true)));
    Ok(Schema::new(fields.collect::<Result<Vec<_>, Failure>>()?))
}

fn line(record: &ByteRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

fn not_text(record: &ByteRecord) -> Failure {
    let line = line(record);
    Failure::new(format!(
        "line {line}: expected UTF-8; convert the file to it first (iconv -t UTF-8)"
    ))
}

fn failure(error: csv::Error) -> Failure {
    match error.kind() {
        ErrorKind::UnequalLengths {
            pos: Some(place),
            expected_len,
            len,
        } => Failure::new(format!(
            "line {}: expected {expected_len} values as in the lines above, found {len}",
            place.line()
        )),
        _ => Failure::new(error.to_string()),
    }
}

/// All integers up to this are floats, too.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

impl Column {
    fn meet(&mut self, value: &str) {
        if self.text {
            return;
        }
        if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") {
            self.boolean = true;
        } else if is_integer(value) {
            self.meet_integer(value);
        } else if is_float(value) {
            self.float = true;
        } else if let Some(time) = time(value) {
            match time {
                Time::Date => self.date = true,
                Time::Local(unit) => self.local = self.local.max(Some(unit)),
                Time::Zoned(unit) => self.zoned = self.zoned.max(Some(unit)),
            }
        } else {
            self.text = true;
        }
    }

    fn meet_integer(&mut self, value: &str) {
        let negative = value.starts_with('-');
        match (value.parse::<i64>(), value.parse::<u64>()) {
            (Ok(number), _) => {
                self.integer = true;
                self.negative |= negative;
                self.precise |= number.unsigned_abs() > EXACT;
            }
            (_, Ok(_)) => (self.large, self.precise) = (true, true),
            _ => self.text = true,
        }
    }

    fn data_type(&self) -> DataType {
        let number = self.integer || self.large || self.float;
        let kinds = [
            self.boolean,
            number,
            self.date,
            self.local.is_some(),
            self.zoned.is_some(),
        ];
        if self.text || kinds.iter().filter(|&&kind| kind).count() != 1 {
            return DataType::Utf8;
        }
        match (self.local, self.zoned) {
            (Some(unit), _) => return DataType::Timestamp(unit, None),
            (_, Some(unit)) => return DataType::Timestamp(unit, Some("UTC".into())),
            _ => {}
        }
        if number {
            return match (self.float, self.large) {
                (true, _) if self.precise => DataType::Utf8,
                (true, _) => DataType::Float64,
                (_, true) if self.negative => DataType::Utf8,
                (_, true) => DataType::UInt64,
                _ => DataType::Int64,
            };
        }
        match self.date {
            true => DataType::Date32,
            false => DataType::Boolean,
        }
    }
}

fn is_integer(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    !digits.is_empty() && !is_padded(digits) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether zeros lead, which no number keeps: codes, telephone numbers.
fn is_padded(digits: &str) -> bool {
    matches!(digits.as_bytes(), [b'0', b'0'..=b'9', ..])
}

/// Digits with a point or an exponent, and what floats that are no numbers are written as.
fn is_float(value: &str) -> bool {
    if matches!(value, "NaN" | "inf" | "-inf") {
        return true;
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !is_padded(digits)
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
        && Float64Type::parse(value).is_some_and(f64::is_finite)
}

enum Time {
    Date,
    Local(TimeUnit),
    Zoned(TimeUnit),
}

/// A date, or a date and a time as in ISO 8601 with `T` or a blank between them.
fn time(value: &str) -> Option<Time> {
    let bytes = value.as_bytes();
    let is_date = |date: &[u8]| {
        date.iter().enumerate().all(|(i, byte)| match i {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    };
    let (date, rest) = bytes.split_at_checked(10)?;
    if !is_date(date) {
        return None;
    }
    let [b'T' | b' ', clock @ ..] = rest else {
        return (rest.is_empty() && Date32Type::parse(value).is_some()).then_some(Time::Date);
    };
    let zone = clock
        .iter()
        .position(|byte| !byte.is_ascii_digit() && !b":.".contains(byte));
    let (clock, zone) = clock.split_at(zone.unwrap_or(clock.len()));
    let is_zone = |zone: &[u8]| zone == b"Z" || matches!(zone.first(), Some(b'+' | b'-'));
    let digits = clock.rsplit(|byte| *byte == b'.').next()?;
    let fraction = match clock.contains(&b'.') {
        true => digits.len(),
        false => 0,
    };
    let unit = match fraction {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        7..=9 => TimeUnit::Nanosecond,
        _ => return None,
    };
    let utc: Tz = "UTC".parse().ok()?;
    let instant = string_to_datetime(&utc, value).ok()?;
    if unit == TimeUnit::Nanosecond {
        instant.timestamp_nanos_opt()?;
    }
    match zone {
        [] => Some(Time::Local(unit)),
        zone if is_zone(zone) => Some(Time::Zoned(unit)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(values: &[&str]) -> String {
        let mut column = Column::default();
        values.iter().for_each(|value| column.meet(value));
        column.data_type().to_string()
    }

    #[test]
    fn a_column_has_the_type_that_holds_all_values() {
        for (values, want) in [
            (&["true", "FALSE"][..], "Boolean"),
            (&["1", "-7", "0"], "Int64"),
            (&["007", "8"], "Utf8"),
            (&["1.5", "00.5"], "Utf8"),
            (&["1", "18446744073709551615"], "UInt64"),
            (&["-1", "18446744073709551615"], "Utf8"),
            (&["1", "18446744073709551616"], "Utf8"),
            (&["1", "2.5", "1e3", ".5", "5.", "NaN"], "Float64"),
            (&["9007199254740993", "2.5"], "Utf8"),
            (&["1e999"], "Utf8"),
            (&["1.2.3"], "Utf8"),
            (&["e5"], "Utf8"),
            (&["2024-02-29"], "Date32"),
            (&["2023-02-29"], "Utf8"),
            (&["2024-02-29", "2024-13-01"], "Utf8"),
            (&["2024-02-29", "7"], "Utf8"),
            (
                &["2024-02-29 12:00:00", "2024-02-29T12:00:00.5"],
                "Timestamp(ms)",
            ),
            (&["2024-02-29T12:00:00.000001Z"], "Timestamp(µs, \"UTC\")"),
            (
                &["2024-02-29T12:00:00+02:00", "2024-02-29T12:00:00Z"],
                "Timestamp(s, \"UTC\")",
            ),
            (
                &["2024-02-29T12:00:00+02:00", "2024-02-29T12:00:00"],
                "Utf8",
            ),
            (&["2024-02-29T25:00:00"], "Utf8"),
            (&["1500-01-01T00:00:00.000000001"], "Utf8"),
            (&["1500-01-01T00:00:00.000001"], "Timestamp(µs)"),
            (&["2024-02-29T12:00:00 America/Lima"], "Utf8"),
            (&[], "Utf8"),
        ] {
            assert_eq!(types(values), want, "{values:?}");
        }
    }
}
