//! Reads wanted rows that lie close together: decodes whole windows of rows, and drops the others.
//!
//! Copying a value out of a buffer takes several times as long as decoding it together with its neighbors.

use super::sizing::scanned_rows;
use super::source::{ReadState, StripeFields};
use super::stripe_reader::StripeReader;
use crate::arrow::{contains, defeats_filter};
use crate::buffer::{Body, Selection, Storage, StoredBuffer};
use crate::error::{Error, Result, to_usize};
use crate::read::shard::artifacts::Artifacts;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{FetchPolicy, Fetched, drive};
use crate::read::shard::metadata::Metadata;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::DataType;
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use std::ops::Range;
use std::sync::Arc;

/// If at least one row in this many is wanted, all rows of texts and lists in memory are read: their arrays consist of
/// the stored bytes, unless they are views.
const RESIDENT_WHOLE: u64 = 128;

/// If at least one row in this many is wanted, all rows of other columns with raw values are read.
const RAW_WHOLE: u64 = 40;

/// If at least one row in this many is wanted, all rows of encoded columns are read.
const ENCODED_WHOLE: u64 = 3;

/// Fewer rows are read one by one, so that no block is decoded for them.
const MIN_ROWS: u64 = 64;

/// Rows of a window, a power of two: few enough for the processor's caches.
const ROWS: u64 = 16 << 10;

/// The windows of a stripe that hold wanted rows.
pub(super) struct WholeWindows {
    windows: Vec<WantedWindow>,
    /// Number of rows from the first wanted one to the last.
    span: u64,
    /// Number of wanted rows.
    count: u64,
}

struct WantedWindow {
    rows: Selection,
    /// Drops the other rows; `None` if all rows are wanted.
    filter: Option<FilterPredicate>,
}

impl WholeWindows {
    /// Divides the wanted rows into windows; `None` if they lie so far apart that no column is read like this, or are
    /// one range.
    pub(super) fn new(wanted: &Selection) -> Result<Option<Self>> {
        let first = wanted.ranges().first().map_or(0, |range| range.start);
        let (count, span) = (wanted.len(), wanted.end() - first);
        let are_few = count < MIN_ROWS || wanted.ranges().len() < 2;
        if are_few || count.saturating_mul(RESIDENT_WHOLE) < span {
            return Ok(None);
        }
        let mut windows = Vec::new();
        let mut from = first;
        while let Some(start) = wanted.next_from(from) {
            let end = (start / ROWS * ROWS).saturating_add(ROWS).min(wanted.end());
            windows.push(WantedWindow::new(start..end, wanted)?);
            from = end;
        }
        Ok(Some(Self {
            windows,
            span,
            count,
        }))
    }

    /// Whether all rows of the windows are read for a column of a stripe with `stripe_rows` rows.
    pub(super) fn suits(
        &self,
        column: &Column,
        fields: &StripeFields,
        stripe_rows: u64,
        artifacts: &Artifacts,
    ) -> bool {
        let data_type = column.field.data_type();
        let has_views = contains(data_type, &is_view);
        let is_resident = fields.are_resident();
        let stored = StoredBuffers::of(column, fields);
        let most = match stored {
            // Views inside of other types would keep the fetched bytes of the whole window.
            _ if has_views && !is_resident && !is_view(data_type) => ENCODED_WHOLE,
            StoredBuffers {
                raw_offsets: true, ..
            } if is_resident && !has_views => RESIDENT_WHOLE,
            StoredBuffers { any_raw: true, .. } => RAW_WHOLE,
            _ => ENCODED_WHOLE,
        };
        let windows = (stripe_rows / ROWS).max(1);
        self.count.saturating_mul(most) >= self.span
            && (is_resident || stored.bytes / windows <= artifacts.fetch_bytes())
            && !column.described
            && !defeats_filter(data_type)
    }

    /// Reads the wanted rows of columns, in one or more arrays for each column.
    pub(super) async fn read(
        &self,
        metadata: &Metadata,
        columns: &[&Column],
        fields: &StripeFields,
        stripe_rows: u64,
    ) -> Result<Vec<Vec<ArrayRef>>> {
        let mut pieces: Vec<Vec<ArrayRef>> = columns.iter().map(|_| Vec::new()).collect();
        let mut state = ReadState::default();
        let mut fetched = Fetched::default();
        let rows = scanned_rows(fields, stripe_rows, &metadata.artifacts);
        let count = to_usize(rows / ROWS)?.max(1);
        for windows in self.windows.chunks(count) {
            fetched.retire();
            let ranges = windows.iter().flat_map(|window| window.rows.ranges());
            let rows: Selection = ranges.cloned().collect();
            drive(
                &metadata.artifacts,
                &mut fetched,
                FetchPolicy::default(),
                |step| {
                    let sequential = self.windows.len() > 1;
                    let mut reader =
                        StripeReader::new(metadata, step, fields, &mut state, sequential);
                    let mut complete = true;
                    for column in columns {
                        complete &= reader.fetch(std::slice::from_ref(column), &rows)?;
                    }
                    if !complete {
                        return Ok(None);
                    }
                    for window in windows {
                        for (column, pieces) in columns.iter().zip(&mut pieces) {
                            pieces.push(window.read(&mut reader, column)?);
                        }
                    }
                    Ok(Some(()))
                },
            )
            .await?;
            fetched.drop_unused();
        }
        Ok(pieces)
    }
}

impl WantedWindow {
    fn new(rows: Range<u64>, wanted: &Selection) -> Result<Self> {
        let bits = BooleanArray::new(wanted.to_bits(&rows)?, None);
        let are_all = bits.true_count() == bits.len();
        Ok(Self {
            rows: Selection::range(rows),
            filter: (!are_all).then(|| FilterBuilder::new(&bits).optimize().build()),
        })
    }

    fn read(&self, reader: &mut StripeReader<'_>, column: &Column) -> Result<ArrayRef> {
        let read = reader.read(std::slice::from_ref(column), &self.rows)?.pop();
        let read = read.ok_or_else(|| Error::corrupt("a column was not read"))?;
        let Some(filter) = &self.filter else {
            return Ok(read);
        };
        let wanted = filter.filter(&read)?;
        if reader.fields.are_resident() {
            return Ok(wanted);
        }
        // Views keep the fetched bytes of the whole window unless the wanted values are copied.
        Ok(match wanted.data_type() {
            DataType::Utf8View => Arc::new(wanted.as_string_view().gc()),
            DataType::BinaryView => Arc::new(wanted.as_binary_view().gc()),
            _ => wanted,
        })
    }
}

fn is_view(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

/// The buffers of a column, at any depth.
#[derive(Default)]
struct StoredBuffers {
    bytes: u64,
    any_raw: bool,
    raw_offsets: bool,
}

impl StoredBuffers {
    fn of(column: &Column, fields: &StripeFields) -> Self {
        let mut found = Self::default();
        column.node.walk(&mut |node| {
            if let Some(layout) = fields.layout(node.schema_id)
                && let Storage::Buffers(buffers) = &layout.storage
            {
                let is_raw = |buffer: &StoredBuffer| matches!(buffer.body, Body::Raw(_));
                found.bytes = found.bytes.saturating_add(buffers.stream_bytes());
                found.any_raw |= buffers.streams().any(is_raw);
                found.raw_offsets |= buffers.offsets.as_ref().is_some_and(is_raw);
            }
        });
        found
    }
}
