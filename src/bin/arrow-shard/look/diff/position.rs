//! Compares rows by their positions.

use super::columns::{Column, Columns};
use super::report::{Change, Report, RowChange, RowPlace, Values};
use crate::failure::Failure;
use crate::input::Input;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ord::cmp::distinct;

/// Compares the rows of two inputs.
pub(super) fn compare(
    a: Input,
    b: Input,
    columns: &Columns,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let (mut a, mut b) = (Rows::new(a), Rows::new(b));
    let mut first = 0;
    loop {
        let count = a.ahead()?.min(b.ahead()?);
        if count == 0 {
            break;
        }
        let (left, right) = (a.take(count), b.take(count));
        let differing = differing_rows(&left, &right, &columns.compared)?;
        for (i, _) in differing
            .iter()
            .enumerate()
            .filter(|(_, differs)| **differs)
        {
            report.count(Change::Changed, 1);
            if report.is_decided() {
                return Ok(());
            }
            if report.is_full() {
                continue;
            }
            let (left, right) = (left.slice(i, 1), right.slice(i, 1));
            report.row(RowChange {
                place: RowPlace::Row(first + i as u64),
                change: Change::Changed,
                values: changed_values(&left, &right, &columns.compared)?,
            })?;
        }
        first += count as u64;
        report.add_rows(count as u64, count as u64);
    }
    rest(a, first, Change::Removed, report)?;
    rest(b, first, Change::Added, report)
}

/// Reports the rows that only one of the inputs has, from the row with the number `first` on.
fn rest(
    mut rows: Rows,
    mut first: u64,
    change: Change,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    loop {
        let count = rows.ahead()?;
        if count == 0 || report.is_decided() {
            return Ok(());
        }
        let batch = rows.take(count);
        report.count(change, count);
        if change == Change::Removed {
            report.add_rows(count as u64, 0);
        } else {
            report.add_rows(0, count as u64);
        }
        for i in 0..count {
            if report.is_full() {
                break;
            }
            report.row(RowChange {
                place: RowPlace::Row(first + i as u64),
                change,
                values: whole(&batch.slice(i, 1), &[]),
            })?;
        }
        first += count as u64;
    }
}

/// Returns the values of a row that only one of the inputs has, except for the columns with the numbers `known`.
pub(super) fn whole(row: &RecordBatch, known: &[usize]) -> Vec<Values> {
    let fields = row.schema_ref().fields().iter().zip(row.columns());
    let others = fields.enumerate().filter(|(i, _)| !known.contains(i));
    let values = others.map(|(_, (field, value))| Values::Of(field.name().clone(), value.clone()));
    values.collect()
}

/// Returns the columns that differ between two batches of one row, with both values.
pub(super) fn changed_values(
    a: &RecordBatch,
    b: &RecordBatch,
    columns: &[Column],
) -> Result<Vec<Values>, Failure> {
    let mut changed = Vec::new();
    for column in columns {
        let one = std::slice::from_ref(column);
        if differing_rows(a, b, one)?.contains(&true) {
            let (a, b) = (column.shown_a(a).clone(), column.shown_b(b).clone());
            changed.push(Values::Both(column.name.clone(), a, b));
        }
    }
    Ok(changed)
}

/// Returns for each row of two batches whether any of the columns differs.
fn differing_rows(
    a: &RecordBatch,
    b: &RecordBatch,
    columns: &[Column],
) -> Result<Vec<bool>, Failure> {
    let mut rows = vec![false; a.num_rows()];
    for column in columns {
        let (a, b) = (column.of_a(a)?, column.of_b(b)?);
        if a.data_type().is_nested() || a.data_type().is_null() {
            mark(&a, &b, &mut rows);
        } else {
            let differing = distinct(&a, &b)?;
            for i in differing.values().set_indices() {
                rows[i] = true;
            }
        }
    }
    Ok(rows)
}

/// Marks the rows that differ. Arrow has no kernel that compares nested values, so halves are compared as a whole.
fn mark(a: &ArrayRef, b: &ArrayRef, rows: &mut [bool]) {
    if a == b {
        return;
    }
    if let [row] = rows {
        *row = true;
        return;
    }
    let half = rows.len() / 2;
    let (before, after) = rows.split_at_mut(half);
    mark(&a.slice(0, half), &b.slice(0, half), before);
    let rest = after.len();
    mark(&a.slice(half, rest), &b.slice(half, rest), after);
}

/// The rows of an input that have not been taken.
struct Rows {
    input: Input,
    batch: Option<RecordBatch>,
}

impl Rows {
    fn new(input: Input) -> Self {
        Self { input, batch: None }
    }

    /// Returns the number of the next rows that can be taken at once; 0 at the end.
    fn ahead(&mut self) -> Result<usize, Failure> {
        loop {
            match &self.batch {
                Some(batch) if batch.num_rows() > 0 => return Ok(batch.num_rows()),
                _ => {}
            }
            match self.input.batches.next() {
                Some(batch) => self.batch = Some(batch?),
                None => return Ok(0),
            }
        }
    }

    /// Takes the next rows, at most the number that is ahead.
    fn take(&mut self, count: usize) -> RecordBatch {
        let Some(batch) = self.batch.take() else {
            return RecordBatch::new_empty(self.input.schema.clone());
        };
        let taken = batch.slice(0, count);
        self.batch = Some(batch.slice(count, batch.num_rows() - count));
        taken
    }
}
