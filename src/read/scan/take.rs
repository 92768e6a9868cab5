//! Random access: rows by number.

use super::join::pick;
use super::plan::{StripeReader, open_fields, record_batch, stripe_of};
use super::repeat::repeated_bytes;
use super::rows::RowFormat;
use super::source::ReadState;
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{Fetched, drive};
use crate::read::shard::metadata::{Metadata, ready};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, new_empty_array};
use std::sync::Arc;

/// The rows with the given numbers, in the given order.
pub(in crate::read) async fn take(format: &RowFormat, rows: &[u64]) -> Result<RecordBatch> {
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
    let parts = read_stripes(metadata, columns, &sorted).await?;
    let order: Vec<usize> = rows
        .iter()
        .map(|row| sorted.partition_point(|before| before < row))
        .collect();
    let mut times = vec![0; sorted.len()];
    for &place in &order {
        times[place] += 1;
    }
    let limits = metadata.artifacts.limits();
    let mut bytes = match format.row_number {
        true => (rows.len() as u64).saturating_mul(size_of::<u64>() as u64),
        false => 0,
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
        arrays.push(match pieces.is_empty() {
            true => new_empty_array(column.field.data_type()),
            false => pick(&pieces, &order).within(place)?,
        });
    }
    if format.row_number {
        arrays.push(Arc::new(UInt64Array::from(rows.to_vec())));
    }
    record_batch(&format.schema, arrays, rows.len()).within(|| metadata.artifacts.name().to_owned())
}

/// The values of the sorted rows, stripe by stripe.
async fn read_stripes(
    inner: &Metadata,
    columns: &[Column],
    sorted: &[u64],
) -> Result<Vec<Vec<ArrayRef>>> {
    let mut parts = Vec::new();
    let mut rest = sorted;
    while let Some(&row) = rest.first() {
        let mut fetched = Fetched::default();
        let mut state = ReadState::default();
        let (arrays, taken) = drive(&inner.artifacts, &mut fetched, |bench| {
            let stripes = ready!(inner.stripes(bench));
            let (ordinal, directory) = stripe_of(stripes, row)
                .ok_or_else(|| Error::corrupt(format!("no stripe holds row {row}")))?;
            let first = directory.record_offset;
            let count = directory.total_record_count;
            let fields = ready!(open_fields(inner, bench, ordinal, count, columns));
            let inside = rest.partition_point(|&row| row - first < count);
            let selection: Selection = rest[..inside]
                .iter()
                .map(|row| row - first..row - first + 1)
                .collect();
            let mut reader = StripeReader {
                metadata: inner,
                bench,
                fields: &fields,
                state: &mut state,
                sequential: false,
            };
            if !reader.fetch(columns, &selection)? {
                return Ok(None);
            }
            Ok(Some((reader.read(columns, &selection)?, inside)))
        })
        .await?;
        parts.push(arrays);
        rest = &rest[taken..];
    }
    Ok(parts)
}
