//! Random access: rows by number.

use super::columns::Column;
use super::fetch::{Fetched, drive};
use super::join::pick;
use super::metadata::ready;
use super::plan::{StripeReader, open_fields, record_batch, stripe_of};
use super::projection::Projection;
use super::shard::Shard;
use super::source::ReadState;
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within};
use arrow_array::{ArrayRef, RecordBatch, new_empty_array};

/// The rows with the given numbers, in the given order.
pub(super) fn take(shard: &Shard, rows: &[u64], projection: &Projection) -> Result<RecordBatch> {
    let total = shard.num_rows();
    if let Some(row) = rows.iter().find(|&&row| row >= total) {
        return Err(Error::new(
            ErrorKind::RowOutOfRange,
            format!("row {row} of a shard of {total} rows"),
        ));
    }
    let inner = &shard.inner;
    let (columns, schema) = shard.drive(|bench| inner.projected(bench, projection))?;
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let parts = read_stripes(shard, &columns, &sorted)?;
    let order: Vec<usize> = rows
        .iter()
        .map(|row| sorted.partition_point(|before| before < row))
        .collect();
    let arrays = columns.iter().enumerate().map(|(i, column)| {
        let pieces: Vec<ArrayRef> = parts.iter().map(|part| part[i].clone()).collect();
        if pieces.is_empty() {
            return Ok(new_empty_array(column.field.data_type()));
        }
        pick(&pieces, &order).within(|| format!("field `{}`", column.field.name()))
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    record_batch(&schema, arrays, rows.len()).within(|| inner.artifacts.name().to_owned())
}

/// The values of the sorted rows, stripe by stripe.
fn read_stripes(shard: &Shard, columns: &[Column], sorted: &[u64]) -> Result<Vec<Vec<ArrayRef>>> {
    let inner = &shard.inner;
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
        })?;
        parts.push(arrays);
        rest = &rest[taken..];
    }
    Ok(parts)
}
