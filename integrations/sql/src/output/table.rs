//! Rows as a table for people.

use super::cells::cells;
use super::encoder::Encoder;
use crate::cell::cut;
use crate::failure::Failure;
use crate::safe_text::shown;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use unicode_width::UnicodeWidthStr;

/// Width of a value in characters if not all columns fit.
const NARROW: usize = 32;

/// Number of rows that are measured together. Later rows may only be wider.
const PAGE_ROWS: usize = 1_000;

/// A table that is drawn page by page, so that it may have any number of rows.
#[derive(Debug)]
pub(super) struct Table {
    /// For each column, whether it is aligned to the right.
    is_number: Vec<bool>,
    /// The cells of the page by columns, below the names of the columns.
    page: Vec<Vec<String>>,
    page_rows: usize,
    widths: Vec<usize>,
    /// Number of columns that are drawn.
    drawn: usize,
    has_begun: bool,
    rows: usize,
    max_rows: usize,
    width: usize,
    shows_count: bool,
}

impl Table {
    /// Begins a table with these columns and bounds.
    pub(super) fn new(schema: &Schema, max_rows: Option<usize>, width: Option<usize>) -> Self {
        let fields = schema.fields();
        let names = fields.iter().map(|it| vec![shown(it.name()).into_owned()]);
        Self {
            is_number: fields
                .iter()
                .map(|it| it.data_type().is_numeric())
                .collect(),
            page: names.collect(),
            page_rows: 0,
            widths: vec![0; fields.len()],
            drawn: fields.len(),
            has_begun: false,
            rows: 0,
            max_rows: max_rows.unwrap_or(usize::MAX),
            width: width.unwrap_or(usize::MAX),
            shows_count: false,
        }
    }

    /// Adds a line with the number of rows.
    pub(super) fn with_count(self) -> Self {
        Self {
            shows_count: true,
            ..self
        }
    }

    fn draw_page(&mut self, out: &mut Vec<u8>) {
        let cells = |page: &mut [Vec<String>], most: &dyn Fn(usize) -> usize| {
            for (column, cells) in page.iter_mut().enumerate() {
                cells.iter_mut().for_each(|cell| cut(cell, most(column)));
            }
        };
        if self.has_begun && self.width < usize::MAX {
            let widths = &self.widths;
            cells(&mut self.page, &|column| widths[column]);
        }
        let mut widths = measured(&self.page, &self.widths);
        if !self.has_begun {
            if total(&widths) > self.width {
                cells(&mut self.page, &|_| NARROW);
                widths = measured(&self.page, &self.widths);
            }
            self.drawn = widths.len();
            while self.drawn > 1 && total(&widths[..self.drawn]) > self.width {
                self.drawn -= 1;
            }
        }
        self.widths = widths;
        let drawn = self.drawn;
        // The names of the columns are above the first page only.
        let first = usize::from(self.has_begun);
        if !self.has_begun {
            rule(out, &self.widths[..drawn]);
        }
        for row in first..=self.page_rows {
            let columns = self.page.iter().zip(&self.widths).zip(&self.is_number);
            for ((cells, width), is_number) in columns.take(drawn) {
                let cell = cells.get(row).map_or("", String::as_str);
                let blanks = " ".repeat(width.saturating_sub(cell.width()));
                let line = if *is_number {
                    format!("| {blanks}{cell} ")
                } else {
                    format!("| {cell}{blanks} ")
                };
                out.extend_from_slice(line.as_bytes());
            }
            out.extend_from_slice(b"|\n");
            if row == 0 {
                rule(out, &self.widths[..drawn]);
            }
        }
        self.has_begun = true;
        self.page_rows = 0;
        self.page.iter_mut().for_each(|cells| cells.truncate(1));
    }
}

/// Returns the widths of columns, which are at least the given ones.
fn measured(page: &[Vec<String>], widths: &[usize]) -> Vec<usize> {
    let widest = |cells: &[String]| cells.iter().map(|it| it.width()).max().unwrap_or(0);
    let columns = page.iter().zip(widths);
    columns
        .map(|(cells, width)| widest(cells).max(*width))
        .collect()
}

/// Returns the width of a table with its frame.
fn total(widths: &[usize]) -> usize {
    let sum = |sum: usize, width: &usize| sum.saturating_add(*width).saturating_add(3);
    widths.iter().fold(1, sum)
}

fn rule(out: &mut Vec<u8>, widths: &[usize]) {
    for width in widths {
        out.push(b'+');
        out.resize(out.len() + width + 2, b'-');
    }
    out.extend_from_slice(b"+\n");
}

impl Encoder for Table {
    fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), Failure> {
        let shown = batch
            .num_rows()
            .min(self.max_rows.saturating_sub(self.rows));
        self.rows += batch.num_rows();
        let mut start = 0;
        while start < shown {
            let rows = (shown - start).min(PAGE_ROWS - self.page_rows);
            for (column, page) in batch
                .slice(start, rows)
                .columns()
                .iter()
                .zip(&mut self.page)
            {
                page.extend(cells(column, rows)?);
            }
            self.page_rows += rows;
            start += rows;
            if self.page_rows == PAGE_ROWS {
                self.draw_page(out);
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        if !self.has_begun || self.page_rows > 0 {
            self.draw_page(out);
        }
        let (drawn, all) = (self.drawn, self.page.len());
        rule(out, &self.widths[..drawn]);
        if !self.shows_count {
            return Ok(());
        }
        let plural = if self.rows == 1 { "" } else { "s" };
        let mut line = format!("{} row{plural}", self.rows);
        if self.rows > self.max_rows {
            line += &format!(", {} shown", self.max_rows);
        }
        if drawn < all {
            line += &format!(", {drawn} of {all} columns shown");
        }
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    fn batch(rows: i64) -> RecordBatch {
        let texts = (0..rows).map(|row| {
            if row == 0 {
                "世界".to_owned()
            } else {
                "ä".repeat(50)
            }
        });
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(Int64Array::from_iter_values(0..rows))),
            ("text", Arc::new(StringArray::from_iter_values(texts))),
            ("last", Arc::new(Int64Array::from_iter_values(0..rows))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn drawn(rows: i64, max_rows: Option<usize>, width: Option<usize>) -> String {
        let batch = batch(rows);
        let mut table = Table::new(&batch.schema(), max_rows, width).with_count();
        let mut out = Vec::new();
        table.encode(&batch, &mut out).unwrap();
        table.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let want = "\
+----+------+------+
| id | text | last |
+----+------+------+
|  0 | 世界 |    0 |
+----+------+------+
1 row
";
        assert_eq!(drawn(1, None, None), want);
    }

    #[test]
    fn a_table_is_no_wider_than_its_bound() {
        for width in [10, 20, 45, 50, 80] {
            let text = drawn(3, None, Some(width));
            let lines = text.lines().filter(|line| line.starts_with(['|', '+']));
            assert!(lines.clone().all(|line| line.width() <= width), "{text}");
            assert_eq!(lines.count(), 7);
        }
        assert!(drawn(3, None, Some(50)).contains('…'));
        assert!(drawn(3, None, Some(20)).ends_with("3 rows, 1 of 3 columns shown\n"));
    }

    #[test]
    fn rows_beyond_the_bound_are_counted() {
        let text = drawn(100, Some(2), None);
        assert_eq!(text.lines().count(), 7);
        assert!(text.ends_with("100 rows, 2 shown\n"), "{text}");
        assert_eq!(drawn(100, Some(0), None).lines().count(), 5);
    }

    #[test]
    fn pages_have_one_header() {
        let text = drawn(2_500, None, None);
        assert_eq!(text.lines().count(), 2_500 + 5);
        assert_eq!(text.matches("text").count(), 1);
        let narrow = drawn(2_500, None, Some(40));
        let mut lines = narrow.lines().filter(|line| line.starts_with(['|', '+']));
        assert!(lines.all(|line| line.width() <= 40));
    }
}
