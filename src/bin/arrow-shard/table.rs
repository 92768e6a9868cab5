//! Prints rows for people: tables that fit the terminal, or a line for each value.

use crate::cell::cut;
use crate::failure::Failure;
use crate::text::{self, ShownTexts};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, ArrayFormatterFactory, FormatOptions};
use arrow_schema::{Field, Schema};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Width of a value in characters if not all columns fit.
const NARROW: usize = 32;

/// Returns the values of rows as texts, column by column. The first cell of each column is its name. The first row has
/// the number `first`.
///
/// # Errors
/// Fails with the column and the row of a value that cannot be shown, such as a time out of the range of the calendar.
fn cells(
    schema: &Schema,
    batches: &[RecordBatch],
    first: u64,
) -> Result<Vec<Vec<String>>, Failure> {
    let mut number = first;
    let mut columns: Vec<Vec<String>> = schema
        .fields()
        .iter()
        .map(|field| vec![text::shown(field.name()).into_owned()])
        .collect();
    for batch in batches {
        for ((column, cells), field) in batch
            .columns()
            .iter()
            .zip(&mut columns)
            .zip(schema.fields())
        {
            let formatter = formatter(column, Some(field))?;
            for row in 0..batch.num_rows() {
                cells.push(cell(&formatter, row).map_err(|e| {
                    let row = number + row as u64;
                    e.within(format!("column `{}`, row {row}", field.name()))
                })?);
            }
        }
        number += batch.num_rows() as u64;
    }
    Ok(columns)
}

const OPTIONS: FormatOptions<'_> = FormatOptions::new()
    // Otherwise a value that cannot be shown becomes the text of an error.
    .with_display_error(false)
    .with_formatter_factory(Some(&ShownTexts));

fn formatter<'a>(
    column: &'a dyn Array,
    field: Option<&'a Field>,
) -> Result<ArrayFormatter<'a>, Failure> {
    let own = ShownTexts.create_array_formatter(column, &OPTIONS, field)?;
    Ok(match own {
        Some(formatter) => formatter,
        None => ArrayFormatter::try_new(column, &OPTIONS)?,
    })
}

fn cell(formatter: &ArrayFormatter<'_>, row: usize) -> Result<String, Failure> {
    // Values of structs contain the names of members, which are escaped here.
    let text = formatter.value(row).try_to_string()?;
    Ok(text::shown(&text).into_owned())
}

/// Returns a value as tables show it.
pub(crate) fn value(column: &dyn Array, row: usize) -> Result<String, Failure> {
    cell(&formatter(column, None)?, row)
}

/// Draws a table that is at most `width` characters wide, if given. First, long values are cut; then columns are
/// dropped. The first row has the number `first`, for errors.
pub(crate) fn draw(
    out: &mut impl Write,
    schema: &Schema,
    batches: &[RecordBatch],
    width: Option<usize>,
    first: u64,
) -> Result<(), Failure> {
    let mut columns = cells(schema, batches, first)?;
    let most = width.unwrap_or(usize::MAX);
    let all = columns.len();
    let mut widths: Vec<usize> = columns.iter().map(|cells| widest(cells)).collect();
    if total(&widths) > most {
        for (cells, width) in columns.iter_mut().zip(&mut widths) {
            cells.iter_mut().for_each(|cell| cut(cell, NARROW));
            *width = widest(cells);
        }
    }
    while total(&widths) > most && widths.len() > 1 {
        widths.pop();
    }
    columns.truncate(widths.len());
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    line(out, &widths)?;
    for row in 0..=rows {
        for (cells, width) in columns.iter().zip(&widths) {
            let cell = cells.get(row).map_or("", String::as_str);
            write!(out, "| {cell}{} ", text::blanks(width - cell.width()))?;
        }
        // Rows without columns are still lines.
        writeln!(out, "{}", if columns.is_empty() { "||" } else { "|" })?;
        if row == 0 {
            line(out, &widths)?;
        }
    }
    line(out, &widths)?;
    if columns.len() < all {
        writeln!(
            out,
            "{} of {all} columns; --full shows all, --columns some, --format vertical a line for each value",
            columns.len()
        )?;
    }
    Ok(())
}

fn widest(cells: &[String]) -> usize {
    cells.iter().map(|cell| cell.width()).max().unwrap_or(0)
}

/// Returns the width of a table with its frame.
fn total(widths: &[usize]) -> usize {
    widths
        .iter()
        .fold(1, |sum, width| sum.saturating_add(width + 3))
}

fn line(out: &mut impl Write, widths: &[usize]) -> io::Result<()> {
    for width in widths {
        write!(out, "+{}", "-".repeat(width + 2))?;
    }
    writeln!(out, "{}", if widths.is_empty() { "++" } else { "+" })
}

/// Prints a block of lines for each row. The first row has the number `first`.
pub(crate) fn vertical(
    out: &mut impl Write,
    schema: &Schema,
    batches: &[RecordBatch],
    first: u64,
) -> Result<(), Failure> {
    let columns = cells(schema, batches, first)?;
    let names: Vec<&str> = columns
        .iter()
        .filter_map(|cells| Some(cells.first()?.as_str()))
        .collect();
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    for (row, number) in (1..=rows).zip(first..) {
        writeln!(out, "row {number}")?;
        for (name, cells) in names.iter().zip(&columns) {
            let blanks = text::blanks(width - name.width());
            let cell = cells.get(row).map_or("", String::as_str);
            writeln!(out, "  {name}{blanks}  {cell}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let long = "ä".repeat(50);
        let columns = [
            (
                "id",
                Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef,
            ),
            (
                "text",
                Arc::new(StringArray::from(vec!["世界", long.as_str()])),
            ),
            ("last", Arc::new(Int64Array::from(vec![3, 4]))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn drawn(width: Option<usize>) -> String {
        let mut out = Vec::new();
        draw(&mut out, &batch().schema(), &[batch()], width, 0).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_is_no_wider_than_the_terminal() {
        let whole = drawn(None);
        assert!(
            whole
                .lines()
                .all(|line| line.width() == whole.lines().next().unwrap().width())
        );
        assert_eq!(whole.lines().count(), 6);
        for width in [10, 20, 45, 50, 80] {
            let text = drawn(Some(width));
            let table = text.lines().filter(|line| line.starts_with(['|', '+']));
            assert!(table.clone().all(|line| line.width() <= width), "{text}");
            assert_eq!(table.count(), 6);
        }
        assert!(drawn(Some(50)).contains("…") && !drawn(Some(50)).contains("columns;"));
        assert!(drawn(Some(20)).contains("1 of 3 columns;"));
    }

    #[test]
    fn a_row_is_a_block_of_lines() {
        let mut out = Vec::new();
        vertical(&mut out, &batch().schema(), &[batch().slice(0, 1)], 7).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "row 7\n  id    1\n  text  世界\n  last  3\n");
    }
}
