//! Infers the Arrow schema of CSV: the type of a column is the one that holds all of its values, as the reader parses
//! them. One impossible date makes the whole column text.

use super::blocks::Block;
use super::columns::Needed;
use super::csv_rows::{CsvRows, RowFinder, Wrong, first_record};
use super::numbers::Numbers;
use super::row_sizes::{Inferred, rows_of_values};
use super::times::{Kind, time};
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::isolate::Foreign;
use crate::text;
use crate::threads::in_order;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use std::iter;
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

/// The kinds of values in the rows of a block.
pub(super) struct Seen {
    columns: Vec<Column>,
    rows: usize,
    /// The first error, and its position in the text: the start of a row, or a byte in it.
    wrong: Option<(u64, Wrong)>,
}

/// Infers the schema from the first `rows` rows, or from all rows if `None`. Without rows, all columns are text, and
/// those that are not needed have no values. `line` returns the number of the line of a byte, for errors.
pub(super) fn infer(
    mut blocks: impl Iterator<Item = Result<Block, Failure>> + Send + 'static,
    style: &CsvStyle,
    rows: Option<usize>,
    needed: Needed<'_>,
    file: &Foreign,
    threads: usize,
    line: &dyn Fn(u64) -> u64,
) -> Result<Inferred, Failure> {
    let (first, mut types) = Types::begin(&mut blocks, style, line)?;
    let looker = types.looker(needed);
    let mut blocks = iter::once(Ok(first)).chain(blocks);
    match rows {
        Some(rows) => {
            let mut left = rows;
            while left > 0
                && let Some(block) = blocks.next().transpose()?
            {
                let seen = looker.see(&block, left);
                left -= seen.rows;
                types.meet(&seen, line)?;
            }
        }
        None => {
            let (blocks, file) = (file.guarded(blocks), file.clone());
            let see = move |block: Block| file.guard(|| Ok(looker.see(&block, usize::MAX)));
            in_order(blocks, threads, see).try_for_each(|seen| types.meet(&seen?, line))?;
        }
    }
    Ok(types.inferred())
}

/// The kinds of values seen so far.
pub(super) struct Types {
    style: CsvStyle,
    /// The first record: the names of the columns, or values.
    first: Vec<Vec<u8>>,
    names: Vec<String>,
    columns: Vec<Column>,
}

impl Types {
    /// Returns the first block that has a record, and the columns of that record. No values have been seen yet.
    pub(super) fn begin(
        blocks: &mut impl Iterator<Item = Result<Block, Failure>>,
        style: &CsvStyle,
        line: &dyn Fn(u64) -> u64,
    ) -> Result<(Block, Self), Failure> {
        let (block, first) = loop {
            let block = blocks.next().transpose()?;
            let block =
                block.ok_or_else(|| Failure::new("the file holds nothing but blank lines"))?;
            let line = |at: usize| line(block.start + at as u64);
            let found = first_record(&block, style)
                .map_err(|(at, why)| why.failure(line(at), &Fields::empty(), None))?;
            if let Some((at, first)) = found {
                let is_text = |name: &Vec<u8>| std::str::from_utf8(name).is_ok();
                if style.has_header && !first.iter().all(is_text) {
                    let line = line(at);
                    return Err(Failure::new(format!(
                        "line {line}: the names of columns are not UTF-8"
                    )));
                }
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
        let needed = needed.among(&names);
        Looker {
            finder: RowFinder::new(&self.style, count, needed.clone()),
            null: self.style.null.clone(),
            needed: needed.unwrap_or_else(|| (0..count).collect()),
            count,
        }
    }

    /// Adds the values of a block.
    pub(super) fn meet(&mut self, seen: &Seen, line: &dyn Fn(u64) -> u64) -> Result<(), Failure> {
        match &seen.wrong {
            Some((at, why)) => {
                let first = self.first.first().map(Vec::as_slice);
                Err(why.failure(line(*at), self.inferred().schema.fields(), first))
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

    pub(super) fn inferred(&self) -> Inferred {
        let numbered = self.columns.iter().enumerate();
        let untyped = numbered.filter(|(_, column)| !column.has_values());
        let columns = self.names.iter().zip(&self.columns);
        let fields = columns.map(|(name, column)| Field::new(name, column.data_type(), true));
        Inferred {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            untyped: untyped.map(|(i, _)| i).collect(),
            batch_rows: rows_of_values(self.columns.len()),
            is_sample: false,
        }
    }
}

/// Looks at the values in blocks.
pub(super) struct Looker {
    finder: RowFinder,
    null: String,
    /// The needed columns.
    needed: Vec<usize>,
    /// Number of columns.
    count: usize,
}

impl Looker {
    /// Looks at the first `most` rows of a block.
    pub(super) fn see(&self, block: &Block, most: usize) -> Seen {
        self.look(&self.finder.rows(block, most), block)
    }

    /// Looks at rows of a block, which have the needed columns.
    pub(super) fn look(&self, rows: &CsvRows<'_>, block: &Block) -> Seen {
        let mut columns = Vec::new();
        columns.resize_with(self.count, Column::default);
        for (i, needed) in self.needed.iter().enumerate() {
            let Some(column) = columns.get_mut(*needed) else {
                continue;
            };
            for value in rows.values(i, 0..rows.num_rows()) {
                if column.text {
                    break;
                }
                if !value.is_empty() && value != self.null {
                    column.meet(&value);
                }
            }
        }
        let wrong = rows.wrong().cloned();
        Seen {
            columns,
            rows: rows.num_rows(),
            wrong: wrong.map(|(at, why)| (block.start + at as u64, why)),
        }
    }
}

/// Returns the type of a column with these values.
pub(super) fn type_of<'a>(values: impl Iterator<Item = &'a str>) -> DataType {
    let mut column = Column::default();
    values.for_each(|value| column.meet(value));
    column.data_type()
}

/// Returns the name of a column: the one that the header or the user gives it, or a generated one.
fn shown_name(headers: Option<&Vec<Vec<u8>>>, style: &CsvStyle, ordinal: usize) -> String {
    match headers.and_then(|names| names.get(ordinal)) {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => match style.names.get(ordinal) {
            Some(name) => name.clone(),
            None => format!("column_{}", ordinal + 1),
        },
    }
}

/// Whether a value has the type of its column, which was inferred from other values.
pub(super) fn fits(value: &str, data_type: &DataType) -> bool {
    use DataType as T;
    if *data_type == T::Utf8 {
        return true;
    }
    let mut column = Column::default();
    column.meet(value);
    match (data_type, column.data_type()) {
        (T::Float64, T::Int64 | T::UInt64) => column.numbers.is_exact_in_float(),
        (T::UInt64, T::Int64) => !value.starts_with('-'),
        (T::Timestamp(unit, zone), T::Timestamp(found, of)) => {
            found <= *unit && of == *zone && !(column.far && *unit == TimeUnit::Nanosecond)
        }
        (data_type, found) => found == *data_type,
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
