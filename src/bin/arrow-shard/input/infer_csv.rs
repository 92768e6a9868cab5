//! Infers the Arrow schema of CSV: the type of a column is the one that holds all of its values, as the reader parses
//! them. One impossible date makes the whole column text.

use super::blocks::Block;
use super::columns::Needed;
use super::numbers::Numbers;
use super::quotes::other_delimiter;
use super::row_sizes::{Inferred, rows_of_values};
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::isolate::Foreign;
use crate::text;
use crate::threads::in_order;
use arrow_array::timezone::Tz;
use arrow_array::types::Date32Type;
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use csv::{ByteRecord, Position, Reader, StringRecord};
use std::io::{self, Read};
use std::iter;
use std::mem;
use std::sync::{Arc, LazyLock};

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

/// The kinds of values in the rows of a block.
pub(super) struct Seen {
    columns: Vec<Column>,
    rows: usize,
    /// The first row that cannot be read, and the byte of the text where it begins.
    wrong: Option<(u64, Wrong)>,
}

enum Wrong {
    /// Another number of values.
    Values(usize),
    /// A column with a value that is not UTF-8.
    NotText(usize),
}

/// Infers the schema from the first `rows` rows, or from all rows if `None`. Without rows, all columns are text, and those
/// that are not needed have no values. `line` returns the number of the line of a byte, for errors.
pub(super) fn infer(
    mut blocks: impl Iterator<Item = Result<Block, Failure>> + Send + 'static,
    style: &CsvStyle,
    rows: Option<usize>,
    needed: Needed<'_>,
    file: &Foreign,
    threads: usize,
    line: &dyn Fn(u64) -> u64,
) -> Result<Inferred, Failure> {
    let (first, mut types) = Types::begin(&mut blocks, style)?;
    let looker = types.looker(needed);
    let mut blocks = iter::once(Ok(first)).chain(blocks);
    match rows {
        Some(rows) => {
            let mut left = rows;
            while left > 0
                && let Some(block) = blocks.next().transpose()?
            {
                let seen = looker.see(&block, left)?;
                left -= seen.rows;
                types.meet(&seen, line)?;
            }
        }
        None => {
            let (blocks, file) = (file.guarded(blocks), file.clone());
            let see = move |block: Block| file.guard(|| looker.see(&block, usize::MAX));
            in_order(blocks, threads, see).try_for_each(|seen| types.meet(&seen?, line))?;
        }
    }
    types.inferred()
}

/// The kinds of values seen so far.
pub(super) struct Types {
    style: CsvStyle,
    /// The first record: the names of the columns, or values.
    first: ByteRecord,
    names: Vec<String>,
    columns: Vec<Column>,
}

impl Types {
    /// Returns the first block that has a record, and the columns of that record. No values have been seen yet.
    pub(super) fn begin(
        blocks: &mut impl Iterator<Item = Result<Block, Failure>>,
        style: &CsvStyle,
    ) -> Result<(Block, Self), Failure> {
        let (block, first) = loop {
            let block = blocks.next().transpose()?;
            let block =
                block.ok_or_else(|| Failure::new("the file holds nothing but blank lines"))?;
            if let Some(first) = first_record(&block, style)? {
                break (block, first);
            }
        };
        let count = first.len();
        if !style.names.is_empty() && style.names.len() != count {
            return Err(Failure::Usage(format!(
                "--names has {}, and the lines have {}",
                text::count(style.names.len() as u64, "name"),
                text::count(count as u64, "value")
            )));
        }
        let headers = style.has_header.then_some(&first);
        let names = (0..count).map(|i| shown_name(headers, style, i)).collect();
        let mut columns = Vec::new();
        columns.resize_with(count, Column::default);
        let types = Self {
            style: style.clone(),
            first,
            names,
            columns,
        };
        Ok((block, types))
    }

    /// Returns what looks at the values of the needed columns.
    pub(super) fn looker(&self, needed: Needed<'_>) -> Looker {
        let count = self.columns.len();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Looker {
            style: self.style.clone(),
            is_needed: match needed.among(&names) {
                Some(needed) => (0..count).map(|i| needed.contains(&i)).collect(),
                None => vec![true; count],
            },
        }
    }

    /// Adds the values of a block.
    pub(super) fn meet(&mut self, seen: &Seen, line: &dyn Fn(u64) -> u64) -> Result<(), Failure> {
        match seen.wrong {
            Some((at, Wrong::Values(found))) => {
                let expected = self.columns.len();
                Err(ragged(line(at), expected, found, Some(&self.first)))
            }
            Some((at, Wrong::NotText(i))) => {
                let name = self.names.get(i).map_or("", String::as_str);
                Err(not_text(line(at), name))
            }
            None => {
                let pairs = self.columns.iter_mut().zip(&seen.columns);
                pairs.for_each(|(column, seen)| column.merge(seen));
                Ok(())
            }
        }
    }

    /// Whether the columns have these types.
    pub(super) fn are(&self, schema: &Schema) -> bool {
        let mut pairs = self.columns.iter().zip(schema.fields());
        pairs.all(|(column, field)| column.data_type() == *field.data_type())
    }

    pub(super) fn inferred(&self) -> Result<Inferred, Failure> {
        let headers = self.style.has_header.then_some(&self.first);
        let mut headers = headers.into_iter().flatten();
        if headers.any(|name| std::str::from_utf8(name).is_err()) {
            return Err(Failure::new("line 1: the names of columns are not UTF-8"));
        }
        let numbered = self.columns.iter().enumerate();
        let untyped = numbered.filter(|(_, column)| !column.has_values());
        let columns = self.names.iter().zip(&self.columns);
        let fields = columns.map(|(name, column)| Field::new(name, column.data_type(), true));
        Ok(Inferred {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            untyped: untyped.map(|(i, _)| i).collect(),
            batch_rows: rows_of_values(self.columns.len()),
        })
    }
}

/// Returns a reader of records, which may have any number of values.
pub(super) fn records<R: Read>(text: R, has_header: bool, style: &CsvStyle) -> Reader<R> {
    csv::ReaderBuilder::new()
        .delimiter(style.delimiter)
        .has_headers(has_header)
        .escape(style.escape)
        .flexible(true)
        .from_reader(text)
}

/// Returns the first record, unless there are only blank lines.
fn first_record(block: &Block, style: &CsvStyle) -> Result<Option<ByteRecord>, Failure> {
    let mut record = ByteRecord::new();
    let found = records(block.text.as_slice(), false, style).read_byte_record(&mut record);
    Ok(found.map_err(io::Error::from)?.then_some(record))
}

/// Looks at the values in blocks.
pub(super) struct Looker {
    style: CsvStyle,
    /// Whether the type of each column is needed.
    is_needed: Vec<bool>,
}

impl Looker {
    /// Looks at the first `most` rows of a block.
    pub(super) fn see(&self, block: &Block, most: usize) -> Result<Seen, Failure> {
        let count = self.is_needed.len();
        let mut seen = Seen {
            columns: Vec::new(),
            rows: 0,
            wrong: None,
        };
        seen.columns.resize_with(count, Column::default);
        let has_header = block.is_first && self.style.has_header;
        let mut records = records(block.text.as_slice(), has_header, &self.style);
        let mut record = ByteRecord::new();
        while seen.rows < most
            && records
                .read_byte_record(&mut record)
                .map_err(io::Error::from)?
        {
            let at = block.start + record.position().map_or(0, Position::byte);
            if record.len() != count {
                seen.wrong = Some((at, Wrong::Values(record.len())));
                break;
            }
            let text = match StringRecord::from_byte_record(mem::take(&mut record)) {
                Ok(text) => text,
                Err(e) => {
                    seen.wrong = Some((at, Wrong::NotText(e.utf8_error().field())));
                    break;
                }
            };
            seen.rows += 1;
            let columns = seen.columns.iter_mut().zip(&self.is_needed);
            for ((column, is_needed), value) in columns.zip(&text) {
                if *is_needed && !value.is_empty() && value != self.style.null {
                    column.meet(value);
                }
            }
            record = text.into_byte_record();
        }
        Ok(seen)
    }
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

/// Returns the error for a line with another number of values. `first` is the first line of the file, if it is known.
pub(super) fn ragged(
    line: u64,
    expected: usize,
    found: usize,
    first: Option<&ByteRecord>,
) -> Failure {
    // If the file uses another delimiter, each line is a single value.
    let alone = first
        .filter(|_| expected == 1)
        .and_then(|record| record.get(0));
    let advice = alone
        .and_then(other_delimiter)
        .map(|advice| format!("; {advice}"));
    Failure::new(format!(
        "line {line}: expected {} as in the lines above, found {found}{}",
        text::count(expected as u64, "value"),
        advice.unwrap_or_default()
    ))
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

    /// Adds the kinds of values that were seen elsewhere.
    fn merge(&mut self, other: &Self) {
        self.boolean |= other.boolean;
        self.numbers.merge(&other.numbers);
        self.date |= other.date;
        self.local = self.local.max(other.local);
        self.zoned = self.zoned.max(other.zoned);
        self.far |= other.far;
        self.text |= other.text;
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

static UTC: LazyLock<Option<Tz>> = LazyLock::new(|| "UTC".parse().ok());

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
    let instant = string_to_datetime(UTC.as_ref()?, value).ok()?;
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
