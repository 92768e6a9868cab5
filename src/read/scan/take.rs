//! Random access: reads rows by number.

use super::opening::{ask_for_rows, open_fields, stripe_of};
use super::rows::{ScanFormat, record_batch};
use super::source::{ReadState, StripeFields};
use super::stripe_reader::StripeReader;
use crate::arrow::{pick, repeated_bytes};
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::StripeDirectory;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{FetchPolicy, Fetched, StepBytes, drive};
use crate::read::shard::metadata::{Metadata, ready};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, new_empty_array};
use std::sync::Arc;

/// Returns the rows with the given numbers, in the given order. Fails if the column `deleted` is true for one of them.
pub(in crate::read) async fn take(
    format: &ScanFormat,
    rows: &[u64],
    deleted: Option<Column>,
) -> Result<RecordBatch> {
    let (metadata, columns) = (&format.metadata, &format.columns);
    let total = metadata.directory.total_record_count;
    if let Some(row) = rows.iter().find(|&&row| row >= total) {
        return Err(Error::new(
            ErrorKind::RowOutOfRange,
            format!("row {row} of a shard of {total} rows"),
        ));
    }
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let parts = match deleted {
        None => read_stripes(metadata, columns, &sorted).await?,
        Some(deleted) => {
            let columns: Vec<Column> = columns.iter().cloned().chain([deleted]).collect();
            let mut parts = read_stripes(metadata, &columns, &sorted).await?;
            let deleted: Vec<ArrayRef> = parts.iter_mut().filter_map(Vec::pop).collect();
            check_live(&sorted, &deleted).within(|| metadata.artifacts.place())?;
            parts
        }
    };
    let order: Vec<usize> = rows
        .iter()
        .map(|row| sorted.partition_point(|before| before < row))
        .collect();
    let mut times = vec![0; sorted.len()];
    for &place in &order {
        times[place] += 1;
    }
    let limits = metadata.artifacts.limits();
    let mut bytes = if format.row_number {
        (rows.len() as u64).saturating_mul(size_of::<u64>() as u64)
    } else {
        0
    };
    let mut arrays = Vec::with_capacity(format.schema.fields().len());
    for (i, column) in columns.iter().enumerate() {
        let place = || format!("field `{}`", column.field.name());
        let pieces: Vec<ArrayRef> = parts.iter().map(|part| part[i].clone()).collect();
        let mut before = 0;
        for piece in &pieces {
            let of_piece = &times[before..before + piece.len()];
            bytes = bytes.saturating_add(repeated_bytes(piece, of_piece));
            before += piece.len();
        }
        limits.check_batch_bytes(bytes, 1).within(place)?;
        arrays.push(if pieces.is_empty() {
            new_empty_array(column.field.data_type())
        } else {
            pick(&pieces, &order).within(place)?
        });
    }
    if format.row_number {
        arrays.push(Arc::new(UInt64Array::from(rows.to_vec())));
    }
    record_batch(&format.schema, arrays, rows.len()).within(|| metadata.artifacts.place())
}

/// Fails if a row is deleted; `deleted` has the flags of the rows, in consecutive arrays.
fn check_live(rows: &[u64], deleted: &[ArrayRef]) -> Result<()> {
    let flags = deleted.iter().flat_map(|array| array.as_boolean().iter());
    let mut found = rows.iter().zip(flags);
    match found.find(|(_, is_deleted)| *is_deleted == Some(true)) {
        Some((row, _)) => Err(Error::new(
            ErrorKind::RowOutOfRange,
            format!("row {row} is deleted; ask for deleted rows to take it"),
        )),
        None => Ok(()),
    }
}

/// Most stripes to fetch at once, so that rows in hundreds of stripes take few rounds of requests.
const MAX_FETCHED_STRIPES: usize = 64;

/// The rows of a stripe, by number in it.
struct StripeSelection {
    ordinal: u64,
    /// Number of rows of the whole stripe.
    count: u64,
    selection: Selection,
}

/// Reads the sorted rows, stripe by stripe.
async fn read_stripes(
    inner: &Metadata,
    columns: &[Column],
    sorted: &[u64],
) -> Result<Vec<Vec<ArrayRef>>> {
    let stripes = inner.run(|step| {
        let stripes = ready!(inner.stripes(step));
        group_by_stripe(stripes, sorted).map(Some)
    });
    let mut parts = Vec::new();
    for some in stripes.await?.chunks(MAX_FETCHED_STRIPES) {
        let mut fetched = Fetched::default();
        let policy = FetchPolicy::for_sparse_rows();
        let mut opened: Vec<Option<StripeFields>> = some.iter().map(|_| None).collect();
        let mut states: Vec<ReadState> = some.iter().map(|_| ReadState::default()).collect();
        let arrays = drive(&inner.artifacts, &mut fetched, policy, |step| {
            // Request all stripes before returning, so that one round fetches them all.
            for (stripe, fields) in some.iter().zip(&mut opened) {
                if fields.is_none() {
                    *fields = open_fields(inner, step, stripe.ordinal, stripe.count, columns)?;
                }
                if fields.is_none() && !inner.artifacts.are_near() {
                    ask_for_rows(inner, step, stripe.ordinal, columns, &stripe.selection);
                }
            }
            let Some(fields) = opened
                .iter()
                .map(Option::as_ref)
                .collect::<Option<Vec<_>>>()
            else {
                return Ok(None);
            };
            let mut complete = true;
            for ((stripe, fields), state) in some.iter().zip(&fields).zip(&mut states) {
                let mut reader = reader(inner, step, fields, state);
                complete &= reader.fetch(columns, &stripe.selection)?;
            }
            if !complete {
                return Ok(None);
            }
            let mut read = Vec::with_capacity(some.len());
            for ((stripe, fields), state) in some.iter().zip(&fields).zip(&mut states) {
                let mut reader = reader(inner, step, fields, state);
                read.push(reader.read(columns, &stripe.selection)?);
            }
            Ok(Some(read))
        });
        parts.extend(arrays.await?);
    }
    Ok(parts)
}

fn reader<'a>(
    metadata: &'a Metadata,
    step: &'a StepBytes<'a>,
    fields: &'a StripeFields,
    state: &'a mut ReadState,
) -> StripeReader<'a> {
    StripeReader {
        metadata,
        step,
        fields,
        state,
        sequential: false,
    }
}

/// Groups sorted rows by stripe.
fn group_by_stripe(stripes: &[StripeDirectory], sorted: &[u64]) -> Result<Vec<StripeSelection>> {
    let mut groups = Vec::new();
    let mut rest = sorted;
    while let Some(&row) = rest.first() {
        let (ordinal, directory) = stripe_of(stripes, row)
            .ok_or_else(|| Error::corrupt(format!("no stripe holds row {row}")))?;
        let (first, count) = (directory.record_offset, directory.total_record_count);
        let inside = rest.partition_point(|&row| row - first < count);
        let selection = rest[..inside].iter();
        groups.push(StripeSelection {
            ordinal,
            count,
            selection: selection.map(|row| row - first..row - first + 1).collect(),
        });
        rest = &rest[inside..];
    }
    Ok(groups)
}
