//! Compares rows by the values of key columns.

use super::columns::{Column, KeyedColumns};
use super::position::{changed_values, whole};
use super::report::{Change, Report, RowChange, RowPlace};
use crate::failure::Failure;
use crate::input::Input;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, Rows, SortField};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use xxhash_rust::xxh3::xxh3_128;

/// A row with a key.
struct Keyed {
    /// Number of the row in A, unless only B has it.
    a: Option<u64>,
    /// Number of the row in B, if B has it.
    b: Option<u64>,
    /// Hash of the other values in A.
    hash: u128,
}

/// Compares the rows of two inputs. `reopen` opens the first one again.
pub(super) fn compare(
    columns: &KeyedColumns,
    (a, b): (Input, Input),
    reopen: impl FnOnce() -> Result<Input, Failure>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let converters = Converters::new(columns)?;
    let mut known: HashMap<Box<[u8]>, Keyed> = HashMap::new();
    let mut first = 0;
    for batch in a.batches {
        let batch = batch?;
        let (keys, hashes) = converters.rows(columns, |column| column.of_a(&batch))?;
        for (i, (key, hash)) in keys.iter().zip(hashes).enumerate() {
            let row = first + i as u64;
            let keyed = Keyed {
                a: Some(row),
                b: None,
                hash,
            };
            if let Some(Keyed { a: Some(other), .. }) = known.insert(key.as_ref().into(), keyed) {
                return Err(repeated(report.names().0, other, row));
            }
        }
        first += batch.num_rows() as u64;
    }
    report.add_rows(first, 0);
    let (mut changed, mut added) = (Vec::new(), Vec::new());
    let mut first = 0;
    for batch in b.batches {
        let batch = batch?;
        let (keys, hashes) = converters.rows(columns, |column| column.of_b(&batch))?;
        for (i, (key, hash)) in keys.iter().zip(hashes).enumerate() {
            let row = first + i as u64;
            match known.entry(key.as_ref().into()) {
                Entry::Occupied(entry) => {
                    let keyed = entry.into_mut();
                    if let Some(other) = keyed.b.replace(row) {
                        return Err(repeated(report.names().1, other, row));
                    }
                    if let Some(a) = keyed.a.filter(|_| keyed.hash != hash) {
                        report.count(Change::Changed, 1);
                        if changed.len() < report.limit() {
                            changed.push((a, batch.slice(i, 1)));
                        }
                    }
                }
                Entry::Vacant(entry) => {
                    report.count(Change::Added, 1);
                    if added.len() < report.limit() {
                        added.push(batch.slice(i, 1));
                    }
                    entry.insert(Keyed {
                        a: None,
                        b: Some(row),
                        hash,
                    });
                }
            }
            if report.is_decided() {
                return Ok(());
            }
        }
        first += batch.num_rows() as u64;
    }
    report.add_rows(0, first);
    let unmatched = known.into_values().filter(|keyed| keyed.b.is_none());
    let mut removed: Vec<u64> = unmatched.filter_map(|keyed| keyed.a).collect();
    report.count(Change::Removed, removed.len());
    removed.sort_unstable();
    removed.truncate(report.limit());
    let mut lines: Vec<(u64, Option<RecordBatch>)> =
        changed.into_iter().map(|(a, b)| (a, Some(b))).collect();
    lines.extend(removed.into_iter().map(|a| (a, None)));
    lines.sort_by_key(|(a, _)| *a);
    lines.truncate(report.limit());
    if !lines.is_empty() {
        show_of_a(&lines, reopen()?, columns, report)?;
    }
    let key: Vec<usize> = columns.key.iter().map(Column::ordinal_b).collect();
    for row in added {
        let shown = |column: &Column| column.shown_b(&row).clone();
        report.row(RowChange {
            place: place(&columns.key, shown),
            change: Change::Added,
            values: whole(&row, &key),
        })?;
    }
    Ok(())
}

/// Shows rows of A that changed or are missing in B.
fn show_of_a(
    lines: &[(u64, Option<RecordBatch>)],
    a: Input,
    columns: &KeyedColumns,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let key: Vec<usize> = columns.key.iter().map(Column::ordinal_a).collect();
    let (mut lines, mut first) = (lines.iter().peekable(), 0);
    for batch in a.batches {
        let batch = batch?;
        let end = first + batch.num_rows() as u64;
        while let Some((row, b)) = lines.next_if(|(row, _)| *row < end) {
            let position = usize::try_from(row - first).unwrap_or_default();
            let a = batch.slice(position, 1);
            let (change, values) = match b {
                Some(b) => (Change::Changed, changed_values(&a, b, &columns.values)?),
                None => (Change::Removed, whole(&a, &key)),
            };
            report.row(RowChange {
                place: place(&columns.key, |column| column.shown_a(&a).clone()),
                change,
                values,
            })?;
        }
        if lines.peek().is_none() {
            break;
        }
        first = end;
    }
    Ok(())
}

fn place(key: &[Column], shown: impl Fn(&Column) -> ArrayRef) -> RowPlace {
    let values = key
        .iter()
        .map(|column| (column.name.clone(), shown(column)));
    RowPlace::Key(values.collect())
}

fn repeated(name: &str, row: u64, other: u64) -> Failure {
    Failure::new(format!(
        "rows {row} and {other} have the same key; name more columns with --key, so that each row has its own"
    ))
    .within(name)
}

/// Convert columns to bytes that are equal for equal values.
struct Converters {
    key: RowConverter,
    values: RowConverter,
}

impl Converters {
    fn new(columns: &KeyedColumns) -> Result<Self, Failure> {
        let converter = |columns: &[Column]| {
            let fields = columns.iter().map(|it| SortField::new(it.common().clone()));
            RowConverter::new(fields.collect())
        };
        Ok(Self {
            key: converter(&columns.key)?,
            values: converter(&columns.values)?,
        })
    }

    /// Returns the keys of the rows, and hashes of their other values.
    fn rows(
        &self,
        columns: &KeyedColumns,
        of: impl Fn(&Column) -> Result<ArrayRef, Failure>,
    ) -> Result<(Rows, Vec<u128>), Failure> {
        let keys = columns.key.iter().map(&of).collect::<Result<Vec<_>, _>>()?;
        let keys = self.key.convert_columns(&keys)?;
        if columns.values.is_empty() {
            let hashes = vec![0; keys.num_rows()];
            return Ok((keys, hashes));
        }
        let values = columns
            .values
            .iter()
            .map(of)
            .collect::<Result<Vec<_>, _>>()?;
        let values = self.values.convert_columns(&values)?;
        let hashes = values.iter().map(|row| xxh3_128(row.as_ref())).collect();
        Ok((keys, hashes))
    }
}
