//! The records of a block of CSV, and the values in them.

use super::blocks::Block;
use super::delimiter_advice::{delimiter_advice, other_delimiter};
use super::spares::{Spare, Spares};
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::text;
use arrow_schema::Fields;
use memchr::{memchr, memchr2, memchr3};
use std::borrow::Cow;

/// The positions of values in the text. A value that is not in the text as it is, but in quotes with quotes or escape
/// characters in it, begins at its opening quote.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

/// The rows of a block, up to the first one that cannot be read.
pub(super) struct CsvRows<'a> {
    /// The block, up to the first byte that is not UTF-8.
    text: &'a str,
    escape: Option<u8>,
    /// The needed values, row by row.
    spans: Spare<Span>,
    /// Number of needed values in a row.
    width: usize,
    num_rows: usize,
    /// The first error, and its position in the block: the start of a row, or a byte in it.
    wrong: Option<(usize, Wrong)>,
}

/// Why a row cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Another number of values.
    Values(usize),
    /// A column with a value that is not UTF-8.
    NotText(usize),
    /// A value goes on after its closing quote, or has none.
    Quote(String),
    /// The row is too long.
    Long,
}

impl Wrong {
    /// Returns the error for a row that begins at a line of a text with these columns. `first` is the first value of
    /// the text, if it is known.
    pub(super) fn failure(&self, line: u64, columns: &Fields, first: Option<&[u8]>) -> Failure {
        Failure::new(match self {
            Self::Values(found) => {
                // If the file uses another delimiter, each line is a single value.
                let alone = first.filter(|_| columns.len() == 1);
                let advice = alone.and_then(other_delimiter);
                let advice = advice.map(|advice| format!("; {advice}"));
                format!(
                    "line {line}: expected {} as in the lines above, found {found}{}",
                    text::count(columns.len() as u64, "value"),
                    advice.unwrap_or_default()
                )
            }
            Self::NotText(column) => {
                let name = columns.get(*column).map_or("", |field| field.name());
                format!(
                    "line {line}, column `{name}`: the text is not UTF-8; convert the file first (iconv -t UTF-8)"
                )
            }
            Self::Quote(why) => format!("line {line}: {why}"),
            Self::Long => format!("line {line}: the row has more than 4 GiB"),
        })
    }
}

/// Finds the rows of blocks.
#[derive(Debug, Clone)]
pub(super) struct RowFinder {
    delimiter: u8,
    escape: Option<u8>,
    has_header: bool,
    /// Number of values in a row.
    columns: usize,
    /// The needed columns; `None` for all.
    needed: Option<Vec<usize>>,
    spares: Spares<Span>,
}

impl RowFinder {
    /// Returns a finder for rows with this number of values. It keeps the values of the `needed` columns.
    pub(super) fn new(style: &CsvStyle, columns: usize, needed: Option<Vec<usize>>) -> Self {
        Self {
            delimiter: style.delimiter,
            escape: style.escape,
            has_header: style.has_header,
            columns,
            needed,
            spares: Spares::default(),
        }
    }

    /// Finds the first `most` rows of a block.
    pub(super) fn rows<'a>(&self, block: &'a Block, most: usize) -> CsvRows<'a> {
        let text = valid_text(block);
        let mut rows = CsvRows {
            text,
            escape: self.escape,
            spans: self.spares.take(),
            width: self.needed.as_ref().map_or(self.columns, Vec::len),
            num_rows: 0,
            wrong: None,
        };
        let mut records = Records::new(block, self.delimiter, self.escape);
        let mut record = Vec::new();
        if block.is_first && self.has_header {
            rows.wrong = records.next(&mut record).err();
        }
        while rows.wrong.is_none() && rows.num_rows < most {
            match records.next(&mut record) {
                Ok(Some(start)) => {
                    rows.wrong = self.add(&record, &mut rows, start);
                }
                Ok(None) => break,
                Err(wrong) => rows.wrong = Some(wrong),
            }
        }
        rows
    }

    /// Adds a row, unless something in it is wrong.
    fn add(&self, record: &[Span], rows: &mut CsvRows<'_>, start: usize) -> Option<(usize, Wrong)> {
        if record.len() != self.columns {
            return Some((start, Wrong::Values(record.len())));
        }
        let is_text = |span: &Span| span.end as usize <= rows.text.len();
        if !record.last().is_none_or(is_text)
            && let Some(column) = record.iter().position(|span| !is_text(span))
        {
            return Some((start, Wrong::NotText(column)));
        }
        match &self.needed {
            None => rows.spans.extend_from_slice(record),
            Some(needed) => {
                let spans = needed.iter().filter_map(|column| record.get(*column));
                rows.spans.extend(spans);
            }
        }
        rows.num_rows += 1;
        None
    }
}

impl CsvRows<'_> {
    pub(super) fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// Returns the first error, and its position in the block: the start of a row, or a byte in it.
    pub(super) fn wrong(&self) -> Option<&(usize, Wrong)> {
        self.wrong.as_ref()
    }

    /// Returns the values of a needed column in some rows.
    pub(super) fn values(
        &self,
        column: usize,
        rows: std::ops::Range<usize>,
    ) -> impl Iterator<Item = Cow<'_, str>> {
        self.spans_of(column, rows).map(|span| self.value(*span))
    }

    /// Returns a number of bytes that the values of a needed column in some rows do not exceed.
    pub(super) fn text_bytes(&self, column: usize, rows: std::ops::Range<usize>) -> usize {
        let lengths = self
            .spans_of(column, rows)
            .map(|span| span.end - span.start);
        lengths.map(|length| length as usize).sum()
    }

    /// Returns the byte of the block where the value of a needed column begins, with its quote.
    pub(super) fn start_of(&self, column: usize, row: usize) -> usize {
        let mut span = self.spans_of(column, row..row + 1);
        let start = span.next().map_or(0, |span| span.start as usize);
        let before = start.checked_sub(1);
        let has_quote = before.and_then(|at| self.text.as_bytes().get(at)) == Some(&b'"');
        start - usize::from(has_quote)
    }

    fn spans_of(&self, column: usize, rows: std::ops::Range<usize>) -> impl Iterator<Item = &Span> {
        let spans = self.spans.get(rows.start * self.width + column..);
        let spans = spans.unwrap_or_default().iter().step_by(self.width.max(1));
        spans.take(rows.len())
    }

    fn value(&self, span: Span) -> Cow<'_, str> {
        let value = self.text.get(span.start as usize..span.end as usize);
        let value = value.unwrap_or_default();
        if value.starts_with('"') {
            Cow::Owned(unquoted(value, self.escape))
        } else {
            Cow::Borrowed(value)
        }
    }
}

/// The position of a record in a block, and its values.
type FirstRecord = (usize, Vec<Vec<u8>>);

/// Returns the first record of a block, unless there are only blank lines.
pub(super) fn first_record(
    block: &Block,
    style: &CsvStyle,
) -> Result<Option<FirstRecord>, (usize, Wrong)> {
    let mut record = Vec::new();
    let mut records = Records::new(block, style.delimiter, style.escape);
    let Some(start) = records.next(&mut record)? else {
        return Ok(None);
    };
    let values = record.iter().map(|span| {
        let value = block.text().get(span.start as usize..span.end as usize);
        match value.unwrap_or_default() {
            // No other character contains the byte of a quote.
            value @ [b'"', ..] => unquoted_bytes(value, style.escape),
            value => value.to_vec(),
        }
    });
    Ok(Some((start, values.collect())))
}

/// Returns the block up to the first byte that is not UTF-8.
fn valid_text(block: &Block) -> &str {
    match std::str::from_utf8(block.text()) {
        Ok(text) => text,
        Err(error) => {
            let valid = block.text().get(..error.valid_up_to());
            std::str::from_utf8(valid.unwrap_or_default()).unwrap_or_default()
        }
    }
}

/// Cuts a block into records and values.
struct Records<'a> {
    text: &'a [u8],
    at: usize,
    delimiter: u8,
    escape: Option<u8>,
}

impl<'a> Records<'a> {
    fn new(block: &'a Block, delimiter: u8, escape: Option<u8>) -> Self {
        Self {
            text: block.text(),
            at: 0,
            delimiter,
            escape,
        }
    }

    /// Finds the values of the next record, and returns the byte where it begins. Skips blank lines.
    fn next(&mut self, record: &mut Vec<Span>) -> Result<Option<usize>, (usize, Wrong)> {
        record.clear();
        while self.byte(self.at).is_some_and(is_line_end) {
            self.at += 1;
        }
        let start = self.at;
        if start >= self.text.len() {
            return Ok(None);
        }
        loop {
            let (value, end) = if self.byte(self.at) == Some(b'"') {
                self.quoted()?
            } else {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let end = memchr3(self.delimiter, b'\n', b'\r', rest);
                let end = end.map_or(self.text.len(), |length| self.at + length);
                (self.at..end, end)
            };
            let (Ok(from), Ok(to)) = (u32::try_from(value.start), u32::try_from(value.end)) else {
                return Err((start, Wrong::Long));
            };
            record.push(Span {
                start: from,
                end: to,
            });
            self.at = end + 1;
            if self.byte(end) != Some(self.delimiter) {
                return Ok(Some(start));
            }
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// Reads a value in quotes. Returns its span, and the position after its closing quote.
    fn quoted(&self) -> Result<(std::ops::Range<usize>, usize), (usize, Wrong)> {
        let open = self.at;
        let mut at = open + 1;
        let mut is_plain = true;
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let length = match self.escape {
                None => memchr(b'"', rest),
                Some(escape) => memchr2(b'"', escape, rest),
            };
            let Some(length) = length else {
                let why = "the quote of a value is not closed".to_owned();
                return Err((open, Wrong::Quote(why)));
            };
            at += length;
            // The escape character comes before another one, and a quote before a quote.
            let is_escaped = self.byte(at) != Some(b'"') || self.byte(at + 1) == Some(b'"');
            if !is_escaped {
                break;
            }
            is_plain = false;
            at += 2;
        }
        // Blanks after the quote are part of the value.
        let mut end = at + 1;
        loop {
            match self.byte(end) {
                Some(byte) if byte == self.delimiter || is_line_end(byte) => break,
                None => break,
                Some(b' ' | b'\t') => end += 1,
                Some(byte) => {
                    let why = self.goes_on(at, end, byte);
                    return Err((end, Wrong::Quote(why)));
                }
            }
        }
        if is_plain && end == at + 1 {
            Ok((open + 1..at, end))
        } else {
            Ok((open..end, end))
        }
    }

    /// Returns the reason why a value cannot go on with this byte after its closing quote.
    fn goes_on(&self, close: usize, at: usize, byte: u8) -> String {
        let before = |at: usize| at.checked_sub(1).and_then(|at| self.byte(at));
        let advice = match byte {
            _ if before(close) == Some(b'\\') && self.escape.is_none() => {
                "if a backslash before a quote makes it part of the value, read the file with \
                 --escape '\\'"
                    .to_owned()
            }
            // After a value, a tab looks like a blank.
            _ if before(at) == Some(b'\t') => delimiter_advice(b'\t'),
            b',' | b';' | b'|' => delimiter_advice(byte),
            _ => "quotes within a value are written twice".to_owned(),
        };
        format!("a value goes on after its closing quote; {advice}")
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn unquoted(value: &str, escape: Option<u8>) -> String {
    // Only ASCII characters are removed.
    String::from_utf8(unquoted_bytes(value.as_bytes(), escape)).unwrap_or_default()
}

/// Removes the quotes around a value, and the characters before others in it.
fn unquoted_bytes(value: &[u8], escape: Option<u8>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.get(1..).unwrap_or_default();
    while let Some((&first, others)) = rest.split_first() {
        let is_escape = escape == Some(first) || (first == b'"' && others.first() == Some(&b'"'));
        rest = match (is_escape, others.split_first()) {
            (true, Some((&second, others))) => {
                bytes.push(second);
                others
            }
            _ if first == b'"' => {
                bytes.extend_from_slice(others);
                break;
            }
            _ => {
                bytes.push(first);
                others
            }
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Blocks;
    use super::*;
    use proptest::prelude::*;

    /// Reads all rows of a text without a header, and the error of the first row that cannot be read.
    fn rows(text: &str, style: &CsvStyle, columns: usize) -> (Vec<Vec<String>>, Option<Wrong>) {
        let style = CsvStyle {
            has_header: false,
            ..style.clone()
        };
        let finder = RowFinder::new(&style, columns, None);
        let mut found = Vec::new();
        for block in Blocks::new(text.as_bytes(), &style) {
            let block = block.unwrap_or_else(|_| unreachable!());
            let rows = finder.rows(&block, usize::MAX);
            for row in 0..rows.num_rows() {
                let values = (0..columns).flat_map(|column| rows.values(column, row..row + 1));
                found.push(values.map(Cow::into_owned).collect());
            }
            if let Some((_, wrong)) = rows.wrong() {
                return (found, Some(wrong.clone()));
            }
        }
        (found, None)
    }

    #[test]
    fn quotes_are_closed_at_the_end_of_a_value() {
        for (text, at, why) in [
            ("\"x\" y,1\n", 4, "written twice"),
            ("\"x\\\"y\"\n", 4, "--escape '\\'"),
            ("\"x\" \"y\"", 4, "written twice"),
            ("\"a\";b", 3, "--delimiter ';'"),
            ("\"a\"\tb", 4, "--delimiter '\\t'"),
            ("1\n\"x\n\n", 2, "not closed"),
            ("\"\"\"", 0, "not closed"),
            ("\"", 0, "not closed"),
        ] {
            let style = CsvStyle {
                has_header: false,
                ..CsvStyle::default()
            };
            let block = Blocks::new(text.as_bytes(), &style).last().unwrap();
            let block = block.unwrap_or_else(|_| unreachable!());
            let rows = RowFinder::new(&style, 1, None).rows(&block, usize::MAX);
            let Some((found, Wrong::Quote(reason))) = rows.wrong() else {
                panic!("{text:?}");
            };
            assert_eq!(block.start + *found as u64, at, "{text:?}");
            assert!(reason.contains(why), "{text:?}: {reason}");
        }
    }

    #[test]
    fn rows_up_to_a_wrong_one_are_read() {
        let style = CsvStyle::default();
        let (found, wrong) = rows("1,2\n\"3\",4\n5\n6,7\n", &style, 2);
        assert_eq!((found.len(), wrong), (2, Some(Wrong::Values(1))));
        let block = |bytes: &'static [u8]| {
            let mut blocks = Blocks::new(bytes, &style);
            blocks.next().unwrap().unwrap_or_else(|_| unreachable!())
        };
        let block = block(b"a,b\n1,2\n3,\xFF\n");
        let rows = RowFinder::new(&style, 2, Some(vec![1])).rows(&block, usize::MAX);
        assert_eq!(rows.wrong(), Some(&(8, Wrong::NotText(1))));
        assert!(rows.values(0, 0..1).eq(["2"]));
        let first = RowFinder::new(&style, 2, None).rows(&block, 1);
        assert_eq!((first.num_rows(), first.wrong()), (1, None));
    }

    proptest! {
        /// The `csv` crate finds the same values, unless quotes are wrong.
        #[test]
        fn values_are_those_of_another_reader(
            text in "[ab\"\\\\,;\n\r \t]{0,40}",
            escape in prop_oneof![Just(None), Just(Some(b'\\'))],
            delimiter in prop_oneof![Just(b','), Just(b';'), Just(b'\t')],
        ) {
            let style = CsvStyle { delimiter, escape, ..CsvStyle::default() };
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .delimiter(delimiter)
                .escape(escape)
                .from_reader(text.as_bytes());
            let expected: Vec<Vec<String>> = reader
                .records()
                .map(|record| record.unwrap().iter().map(str::to_owned).collect())
                .collect();
            let columns = expected.first().map_or(1, Vec::len);
            let same = expected.iter().take_while(|row| row.len() == columns).count();
            let (found, wrong) = rows(&text, &style, columns);
            prop_assert_eq!(&found[..], &expected[..found.len()]);
            match wrong {
                None => prop_assert_eq!(found.len(), expected.len()),
                Some(Wrong::Values(_)) => prop_assert_eq!(found.len(), same),
                Some(wrong) => prop_assert!(matches!(wrong, Wrong::Quote(_))),
            }
        }
    }
}
