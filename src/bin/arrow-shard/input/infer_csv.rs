//! Infers the Arrow schema of CSV: the type of a column is the one that holds all of its values, as the reader parses
//! them. One impossible date makes the whole column text.

use super::numbers::Numbers;
use super::quotes::other_delimiter;
use super::row_sizes::{Inferred, RowSizes};
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::text;
use arrow_array::timezone::Tz;
use arrow_array::types::Date32Type;
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use csv::{ByteRecord, ErrorKind, Position, Reader};
use std::io::Read;
use std::sync::Arc;

/// The kinds of values seen in a column.
#[derive(Debug, Default)]
struct Column {
    boolean: bool,
    numbers: Numbers,
    date: bool,
    /// The finest unit of times without a time zone, and of times with one.
    local: Option<TimeUnit>,
    zoned: Option<TimeUnit>,
    /// Whether some times are out of the range of nanoseconds.
    far: bool,
    text: bool,
}

/// Infers the schema from the first `rows` rows, or from all rows if `None`. Without rows, all columns are text. `line`
/// returns the number of a line in errors.
pub(super) fn infer(
    reader: &mut Reader<impl Read>,
    style: &CsvStyle,
    rows: Option<usize>,
    line: &dyn Fn(&Position) -> u64,
) -> Result<Inferred, Failure> {
    let mut columns: Vec<Column> = Vec::new();
    let mut record = ByteRecord::new();
    let mut first = ByteRecord::new();
    let headers = if reader.has_headers() {
        Some(
            reader
                .byte_headers()
                .map_err(|e| failure(&e, None, line))?
                .clone(),
        )
    } else {
        None
    };
    let mut sizes = RowSizes::default();
    while rows.is_none_or(|rows| sizes.rows() < rows) {
        let read = reader.read_byte_record(&mut record);
        let first_line = headers.as_ref().unwrap_or(&first);
        if !read.map_err(|e| failure(&e, Some(first_line), line))? {
            break;
        }
        if headers.is_none() && sizes.rows() == 0 {
            first.clone_from(&record);
        }
        sizes.meet(record.as_slice().len());
        columns.resize_with(record.len().max(columns.len()), Column::default);
        for (i, (column, value)) in columns.iter_mut().zip(&record).enumerate() {
            let value = std::str::from_utf8(value).map_err(|_| {
                let name = shown_name(headers.as_ref(), style, i);
                not_text(record.position().map_or(0, line), &name)
            })?;
            if !value.is_empty() && value != style.null {
                column.meet(value);
            }
        }
    }
    if headers.is_none()
        && columns.is_empty()
        && reader
            .read_byte_record(&mut record)
            .map_err(|e| failure(&e, None, line))?
    {
        columns.resize_with(record.len(), Column::default);
    }
    let count = headers.as_ref().map_or(columns.len(), ByteRecord::len);
    if count == 0 {
        return Err(Failure::new("the file holds nothing but blank lines"));
    }
    if !style.names.is_empty() && style.names.len() != count {
        return Err(Failure::Usage(format!(
            "--names has {}, and the lines have {}",
            text::count(style.names.len() as u64, "name"),
            text::count(count as u64, "value")
        )));
    }
    columns.resize_with(count, Column::default);
    let name = |i: usize| match headers.as_ref().and_then(|names| names.get(i)) {
        Some(name) if std::str::from_utf8(name).is_err() => {
            Err(Failure::new("line 1: the names of columns are not UTF-8"))
        }
        _ => Ok(shown_name(headers.as_ref(), style, i)),
    };
    let numbered = columns.iter().enumerate();
    let untyped = numbered.clone().filter(|(_, column)| !column.has_values());
    let untyped = untyped.map(|(i, _)| i).collect();
    let fields = numbered.map(|(i, column)| Ok(Field::new(name(i)?, column.data_type(), true)));
    Ok(Inferred {
        schema: Arc::new(Schema::new(fields.collect::<Result<Vec<_>, Failure>>()?)),
        untyped,
        is_whole: rows.is_none_or(|rows| sizes.rows() < rows),
        sizes,
        values: count,
    })
}

/// Returns the type of a column with these values.
pub(super) fn type_of<'a>(values: impl Iterator<Item = &'a str>) -> DataType {
    let mut column = Column::default();
    values.for_each(|value| column.meet(value));
    column.data_type()
}

/// Returns the error for a value that is not UTF-8.
pub(super) fn not_text(line: u64, column: &str) -> Failure {
    Failure::new(format!(
        "line {line}, column `{column}`: the text is not UTF-8; convert the file first (iconv -t UTF-8)"
    ))
}

/// Returns the name of a column: the one that the header or the user gives it, or a generated one.
fn shown_name(headers: Option<&ByteRecord>, style: &CsvStyle, ordinal: usize) -> String {
    match headers.and_then(|names| names.get(ordinal)) {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => match style.names.get(ordinal) {
            Some(name) => name.clone(),
            None => format!("column_{}", ordinal + 1),
        },
    }
}

/// Converts an error of a record. `first` is the first line of the file, if it is another line.
pub(super) fn failure(
    error: &csv::Error,
    first: Option<&ByteRecord>,
    line: &dyn Fn(&Position) -> u64,
) -> Failure {
    match error.kind() {
        ErrorKind::UnequalLengths {
            pos: Some(place),
            expected_len,
            len,
        } => {
            // If the file uses another delimiter, each line is a single value.
            let alone = first
                .filter(|_| *expected_len == 1)
                .and_then(|it| it.get(0));
            let advice = alone
                .and_then(other_delimiter)
                .map(|advice| format!("; {advice}"));
            Failure::new(format!(
                "line {}: expected {} as in the lines above, found {len}{}",
                line(place),
                text::count(*expected_len, "value"),
                advice.unwrap_or_default()
            ))
        }
        _ => Failure::new(error.to_string()),
    }
}

impl Column {
    fn meet(&mut self, value: &str) {
        if self.text {
            return;
        }
        if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") {
            self.boolean = true;
        } else if self.numbers.meet(value) {
            // `meet` has recorded the number.
        } else if let Some(time) = time(value) {
            match time.kind {
                Kind::Date => self.date = true,
                Kind::Local(unit) => self.local = self.local.max(Some(unit)),
                Kind::Zoned(unit) => self.zoned = self.zoned.max(Some(unit)),
            }
            self.far |= time.is_far;
        } else {
            self.text = true;
        }
    }

    fn has_values(&self) -> bool {
        let has_times = self.date || self.local.is_some() || self.zoned.is_some();
        self.text || self.boolean || has_times || self.numbers.data_type().is_some()
    }

    fn data_type(&self) -> DataType {
        let number = self.numbers.data_type();
        let finest = self.local.max(self.zoned);
        let kinds = [
            self.boolean,
            number.is_some(),
            self.date,
            self.local.is_some(),
            self.zoned.is_some(),
            // Some values need nanoseconds, and others are out of their range.
            self.far && finest == Some(TimeUnit::Nanosecond),
        ];
        if self.text || kinds.iter().filter(|&&kind| kind).count() != 1 {
            return DataType::Utf8;
        }
        match (number, self.local, self.zoned) {
            (Some(number), ..) => number,
            (_, Some(unit), _) => DataType::Timestamp(unit, None),
            (.., Some(unit)) => DataType::Timestamp(unit, Some("UTC".into())),
            _ if self.date => DataType::Date32,
            _ => DataType::Boolean,
        }
    }
}

struct Time {
    kind: Kind,
    /// Whether the time is out of the range of nanoseconds.
    is_far: bool,
}

enum Kind {
    Date,
    Local(TimeUnit),
    Zoned(TimeUnit),
}

/// Parses a date, or a date and a time as in ISO 8601, separated by `T` or a blank.
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
        let is_date = rest.is_empty() && Date32Type::parse(value).is_some();
        return is_date.then_some(Time {
            kind: Kind::Date,
            is_far: false,
        });
    };
    let zone = clock
        .iter()
        .position(|byte| !byte.is_ascii_digit() && !b":.".contains(byte));
    let (clock, zone) = clock.split_at(zone.unwrap_or(clock.len()));
    let is_zone = |zone: &[u8]| zone == b"Z" || matches!(zone.first(), Some(b'+' | b'-'));
    let digits = clock.rsplit(|byte| *byte == b'.').next()?;
    let fraction = if clock.contains(&b'.') {
        digits.len()
    } else {
        0
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
    // A leap second would become another time.
    if instant.timestamp_subsec_nanos() >= 1_000_000_000 {
        return None;
    }
    let kind = match zone {
        [] => Kind::Local(unit),
        zone if is_zone(zone) => Kind::Zoned(unit),
        _ => return None,
    };
    Some(Time {
        kind,
        is_far: instant.timestamp_nanos_opt().is_none(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(values: &[&str]) -> String {
        type_of(values.iter().copied()).to_string()
    }

    #[test]
    fn a_column_has_the_type_that_holds_all_values() {
        for (values, want) in [
            (&["true", "FALSE"][..], "Boolean"),
            (&["1", "-7", "0"], "Int64"),
            (&["007", "8"], "Utf8"),
            (&["1", "true"], "Utf8"),
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
            (
                &["1500-01-01T00:00:00", "2024-01-01T00:00:00.000000001"],
                "Utf8",
            ),
            (
                &["2024-01-01T00:00:00.000000001", "1500-01-01T00:00:00Z"],
                "Utf8",
            ),
            (&["2016-12-31T23:59:60"], "Utf8"),
            (&["2016-12-31T23:59:60.5Z"], "Utf8"),
            (&["2024-02-29T12:00:00 America/Lima"], "Utf8"),
            (&[], "Utf8"),
        ] {
            assert_eq!(types(values), want, "{values:?}");
        }
    }
}
