//! Random access: reads rows by number.

use super::opening::{ask_for_rows, open_fields, stripe_of};
use super::rows::{ScanFormat, record_batch};
use super::source::{ReadState, StripeFields};
use super::stripe_reader::{StripeReader, is_blockwise};
use super::whole_windows::WholeWindows;
use crate::arrow::{bytes_of, join, pick, repeated_bytes};
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::StripeDirectory;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{FetchPolicy, Fetched, drive};
use crate::read::shard::metadata::{Metadata, ready};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, new_empty_array};
use std::borrow::Cow;
use std::sync::Arc;

/// Returns the rows with the given numbers, in the given order. Fails if the column `deleted` is true for one of them.
pub(in crate::read) async fn take(
    format: &ScanFormat,
    rows: &[u64],
    deleted: Option<Column>,
) -> Result<RecordBatch> {
    let (metadata, columns) = (&format.metadata, &format.columns);
    let wanted = TakenRows::new(rows, metadata.directory.total_record_count)?;
    let mut all = columns.to_vec();
    all.extend(deleted.clone());
    let mut pieces = read_stripes(metadata, &all, &wanted.sorted).await?;
    if deleted.is_some() {
        let deleted = pieces.pop().unwrap_or_default();
        check_live(&wanted.sorted, &deleted).within(|| metadata.artifacts.place())?;
    }
    let times = wanted.times();
    let limits = metadata.artifacts.limits();
    let mut bytes = if format.row_number {
        (rows.len() as u64).saturating_mul(size_of::<u64>() as u64)
    } else {
        0
    };
    let mut arrays = Vec::with_capacity(format.schema.fields().len());
    for (column, pieces) in columns.iter().zip(pieces) {
        let place = || format!("field `{}`", column.field.name());
        let mut before = 0;
        for piece in &pieces {
            let of_piece = match &times {
                None => bytes_of(piece),
                Some(times) => repeated_bytes(piece, &times[before..before + piece.len()]),
            };
            bytes = bytes.saturating_add(of_piece);
            before += piece.len();
        }
        limits.check_batch_bytes(bytes, 1).within(place)?;
        let array = match &wanted.order {
            _ if pieces.is_empty() => Ok(new_empty_array(column.field.data_type())),
            None => join(&pieces),
            Some(order) => pick(&pieces, order),
        };
        arrays.push(array.within(place)?);
    }
    if format.row_number {
        arrays.push(Arc::new(UInt64Array::from(rows.to_vec())));
    }
    record_batch(&format.schema, arrays, rows.len()).within(|| metadata.artifacts.place())
}

/// The rows to take.
struct TakenRows<'a> {
    /// Their numbers, ascending and without repetitions.
    sorted: Cow<'a, [u64]>,
    /// For each row of the result, its ordinal in `sorted`. `None` if these are the ordinals in ascending order.
    order: Option<Vec<usize>>,
}

impl<'a> TakenRows<'a> {
    /// Sorts the numbers of rows of a shard that has `total` rows.
    fn new(rows: &'a [u64], total: u64) -> Result<Self> {
        if let Some(row) = rows.iter().find(|&&row| row >= total) {
            return Err(Error::new(
                ErrorKind::RowOutOfRange,
                format!("row {row} of a shard of {total} rows"),
            ));
        }
        if rows.is_sorted_by(|a, b| a < b) {
            return Ok(Self {
                sorted: Cow::Borrowed(rows),
                order: None,
            });
        }
        let mut places: Vec<(u64, usize)> = rows.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let mut sorted = Vec::with_capacity(rows.len());
        let mut order = vec![0; rows.len()];
        for (row, place) in places {
            if sorted.last() != Some(&row) {
                sorted.push(row);
            }
            order[place] = sorted.len() - 1;
        }
        Ok(Self {
            sorted: Cow::Owned(sorted),
            order: Some(order),
        })
    }

    /// Returns how often each row is wanted; `None` if each is wanted once.
    fn times(&self) -> Option<Vec<u64>> {
        let order = self.order.as_ref()?;
        if order.len() == self.sorted.len() {
            return None;
        }
        let mut times = vec![0; self.sorted.len()];
        for &ordinal in order {
            times[ordinal] += 1;
        }
        Some(times)
    }
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

/// Most stripes to fetch at once from distant files, so that rows in hundreds of stripes take few rounds of requests.
const MAX_FETCHED_STRIPES: usize = 64;

/// Most columns of near files to read at a time; the last decoded block of each may be kept until all have been read.
const MAX_NEAR_COLUMNS: usize = 1024;

/// The rows of a stripe, by number in it.
struct StripeSelection {
    ordinal: u64,
    /// Number of rows of the whole stripe.
    count: u64,
    selection: Selection,
}

/// Reads the sorted rows. Returns for each column consecutive arrays.
async fn read_stripes(
    metadata: &Metadata,
    columns: &[Column],
    sorted: &[u64],
) -> Result<Vec<Vec<ArrayRef>>> {
    let stripes = metadata.run(|step| {
        let stripes = ready!(metadata.stripes(step));
        group_by_stripe(stripes, sorted).map(Some)
    });
    let stripes = stripes.await?;
    let mut pieces: Vec<Vec<ArrayRef>> = columns.iter().map(|_| Vec::new()).collect();
    if metadata.artifacts.are_near() {
        for stripe in &stripes {
            read_near(metadata, columns, stripe, &mut pieces).await?;
        }
    } else {
        for some in stripes.chunks(MAX_FETCHED_STRIPES) {
            for read in read_distant(metadata, columns, some).await? {
                let pieces = pieces.iter_mut().zip(read);
                pieces.for_each(|(pieces, read)| pieces.push(read));
            }
        }
    }
    Ok(pieces)
}

/// Reads the rows of a stripe of a near file, and appends one or more arrays to the pieces of each column. It fetches a
/// few columns at a time, so that later columns are read into the same memory.
async fn read_near(
    metadata: &Metadata,
    columns: &[Column],
    stripe: &StripeSelection,
    pieces: &mut [Vec<ArrayRef>],
) -> Result<()> {
    let mut fetched = Fetched::default();
    let policy = FetchPolicy::for_sparse_rows();
    let fields = drive(&metadata.artifacts, &mut fetched, policy, |step| {
        open_fields(metadata, step, stripe.ordinal, stripe.count, columns)
    });
    let fields = fields.await?;
    let windows = WholeWindows::new(&stripe.selection)?;
    let suits = |column: &Column| {
        let windows = windows.as_ref();
        windows.is_some_and(|w| w.suits(column, &fields, stripe.count, &metadata.artifacts))
    };
    let (mut whole, mut apart) = (Vec::new(), Vec::new());
    for (column, pieces) in columns.iter().zip(pieces) {
        if suits(column) {
            whole.push((column, pieces));
        } else {
            apart.push((column, pieces));
        }
    }
    while let Some(windows) = windows.as_ref().filter(|_| !whole.is_empty()) {
        let later = whole.split_off(whole.len().min(MAX_NEAR_COLUMNS));
        let columns: Vec<&Column> = whole.iter().map(|(column, _)| *column).collect();
        match windows
            .read(metadata, &columns, &fields, stripe.count)
            .await
        {
            Ok(read) => {
                let pieces = whole.into_iter().zip(read);
                pieces.for_each(|((_, pieces), read)| pieces.extend(read));
            }
            Err(error) if error.is_of_reader() => return Err(error),
            // The error may be about rows that are not wanted.
            Err(_) => apart.append(&mut whole),
        }
        whole = later;
    }
    let mut state = ReadState::default();
    let mut apart = apart.as_mut_slice();
    while !apart.is_empty() {
        let some = apart
            .iter()
            .take(MAX_NEAR_COLUMNS)
            .map(|(column, _)| *column);
        let columns: Vec<&Column> = some.collect();
        let is_dense = windows.is_some();
        if is_dense {
            // Frees the last blocks of other columns.
            state.clear();
        }
        let read = read_some(metadata, &columns, &fields, stripe, is_dense, &mut state).await?;
        let (now, later) = apart.split_at_mut(read.len());
        let pieces = now.iter_mut().zip(read);
        pieces.for_each(|((_, pieces), read)| pieces.push(read));
        apart = later;
    }
    Ok(())
}

/// Reads the rows of a stripe in the first columns: one column, and more until their bytes fill one fetch. If the rows
/// are dense, blocks are decoded whole.
async fn read_some(
    metadata: &Metadata,
    columns: &[&Column],
    fields: &StripeFields,
    stripe: &StripeSelection,
    is_dense: bool,
    state: &mut ReadState,
) -> Result<Vec<ArrayRef>> {
    let rows = &stripe.selection;
    let mut fetched = Fetched::default();
    let mut count = None;
    let policy = FetchPolicy::for_sparse_rows();
    let read = drive(&metadata.artifacts, &mut fetched, policy, |step| {
        let sequential = is_dense && is_blockwise(rows);
        let mut reader = StripeReader::new(metadata, step, fields, state, sequential);
        let (mut complete, mut len) = (true, 0);
        for column in &columns[..count.unwrap_or(columns.len())] {
            let has_enough = step.missing_bytes() >= metadata.artifacts.fetch_bytes();
            if count.is_none() && len > 0 && has_enough {
                break;
            }
            complete &= reader.fetch(std::slice::from_ref(column), rows)?;
            len += 1;
        }
        count = Some(len);
        if !complete {
            return Ok(None);
        }
        let mut read = Vec::with_capacity(len);
        for column in &columns[..len] {
            read.extend(reader.read(std::slice::from_ref(column), rows)?);
        }
        Ok(Some(read))
    });
    read.await
}

/// Reads the rows of several stripes of a distant file.
async fn read_distant(
    metadata: &Metadata,
    columns: &[Column],
    stripes: &[StripeSelection],
) -> Result<Vec<Vec<ArrayRef>>> {
    let mut fetched = Fetched::default();
    let policy = FetchPolicy::for_sparse_rows();
    let mut opened: Vec<Option<StripeFields>> = stripes.iter().map(|_| None).collect();
    let mut states: Vec<ReadState> = stripes.iter().map(|_| ReadState::default()).collect();
    let arrays = drive(&metadata.artifacts, &mut fetched, policy, |step| {
        // Request all stripes before returning, so that one round fetches them all.
        for (stripe, fields) in stripes.iter().zip(&mut opened) {
            if fields.is_none() {
                *fields = open_fields(metadata, step, stripe.ordinal, stripe.count, columns)?;
            }
            if fields.is_none() {
                ask_for_rows(metadata, step, stripe.ordinal, columns, &stripe.selection);
            }
        }
        let fields = opened.iter().map(Option::as_ref).collect();
        let Some(fields): Option<Vec<_>> = fields else {
            return Ok(None);
        };
        let states = fields.iter().zip(&mut states);
        let readers = states.map(|(fields, state)| {
            // The states of all stripes are kept until all have been read, so they must not keep blocks.
            StripeReader::new(metadata, step, fields, state, false)
        });
        let mut readers: Vec<_> = readers.collect();
        let mut complete = true;
        for (stripe, reader) in stripes.iter().zip(&mut readers) {
            complete &= reader.fetch(columns, &stripe.selection)?;
        }
        if !complete {
            return Ok(None);
        }
        let read = stripes.iter().zip(&mut readers);
        let read = read.map(|(stripe, reader)| reader.read(columns, &stripe.selection));
        read.collect::<Result<Vec<_>>>().map(Some)
    });
    arrays.await
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
