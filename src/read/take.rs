//! Random access: rows by number.

use super::columns::Column;
use super::fetch::{Fetched, drive};
use super::metadata::ready;
use super::plan::{StripeReader, open_fields, record_batch, stripe_of};
use super::projection::Projection;
use super::shard::Shard;
use super::source::ReadState;
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, make_array, new_empty_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, FieldRef};
use arrow_select::concat::concat;
use arrow_select::take::take as take_array;

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
    let arrays = (0..columns.len())
        .map(|i| {
            let pieces: Vec<&dyn Array> = parts.iter().map(|p| p[i].as_ref()).collect();
            let field = &columns[i].field;
            if defeats_kernels(field.data_type()) {
                return gather(&pieces, field.data_type(), rows, &sorted);
            }
            let all: ArrayRef = match pieces.as_slice() {
                [] => new_empty_array(field.data_type()),
                [_] => parts[0][i].clone(),
                pieces => concat(pieces).map_err(|e| join_error(e).within(field.name().clone()))?,
            };
            reorder(&all, rows, &sorted)
        })
        .collect::<Result<Vec<_>>>()?;
    record_batch(&schema, arrays, rows.len()).within(|| inner.artifacts.name().to_owned())
}

fn join_error(e: arrow_schema::ArrowError) -> Error {
    Error::new(
        ErrorKind::OffsetOverflow,
        format!("the rows do not fit one array ({e}); take fewer at once"),
    )
    .caused_by(e)
}

/// Puts the values of the sorted rows into the order that was asked for.
fn reorder(all: &ArrayRef, rows: &[u64], sorted: &[u64]) -> Result<ArrayRef> {
    if rows == sorted {
        return Ok(all.clone());
    }
    let indices: UInt64Array = rows
        .iter()
        .map(|row| sorted.binary_search(row).ok().map(|i| i as u64))
        .collect();
    Ok(take_array(all, &indices, None)?)
}

/// Whether the kernels of `arrow-select` cannot take values of a type: they lose the number of
/// values of no bytes and of lists of no items, and refuse lists of non-nullable unions for nulls in
/// variants that are not selected.
pub(super) fn defeats_kernels(data_type: &DataType) -> bool {
    let field = |field: &FieldRef| defeats_kernels(field.data_type());
    match data_type {
        DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0) | DataType::Union(_, _) => {
            true
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => field(item),
        DataType::Struct(fields) => fields.iter().any(field),
        DataType::Dictionary(_, values) => defeats_kernels(values),
        _ => false,
    }
}

/// Joins the pieces, which hold the sorted rows, and puts them into the order that was asked for.
fn gather(
    pieces: &[&dyn Array],
    data_type: &DataType,
    rows: &[u64],
    sorted: &[u64],
) -> Result<ArrayRef> {
    if pieces.is_empty() {
        return Ok(new_empty_array(data_type));
    }
    let data: Vec<ArrayData> = pieces.iter().map(|piece| piece.to_data()).collect();
    let places: Vec<(usize, usize)> = (0..)
        .zip(pieces)
        .flat_map(|(piece, array)| (0..array.len()).map(move |i| (piece, i)))
        .collect();
    let mut out = MutableArrayData::new(data.iter().collect(), false, rows.len());
    for row in rows {
        let place = sorted.binary_search(row).ok().and_then(|i| places.get(i));
        let &(piece, i) = place.ok_or_else(|| {
            Error::corrupt(format!("row {row} is not among those that were read"))
        })?;
        out.try_extend(piece, i, i + 1).map_err(join_error)?;
    }
    Ok(make_array(out.freeze()))
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
