//! Scans: rows of a shard, in order, as RecordBatches.

use super::columns::Column;
use super::fetch::{Bench, Fetched, drive};
use super::metadata::{WINDOW, ready};
use super::plan::{StripeReader, open_fields, record_batch, stripe_of};
use super::projection::Projection;
use super::shard::Shard;
use super::source::{ReadState, StripeFields};
use crate::buffer::{Selection, Storage};
use crate::error::{Error, ErrorKind, Result, Within};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Rows per batch, unless the caller says otherwise.
const DEFAULT_BATCH_SIZE: usize = 8192;

/// What to scan: columns, rows, types, batch size.
#[derive(Debug, Clone)]
pub struct ScanBuilder {
    shard: Shard,
    projection: Projection,
    schema: Option<SchemaRef>,
    rows: Option<Range<u64>>,
    offset: u64,
    limit: Option<u64>,
    batch_size: usize,
    row_number: Option<String>,
}

impl ScanBuilder {
    pub(super) fn new(shard: Shard) -> Self {
        Self {
            shard,
            projection: Projection::All,
            schema: None,
            rows: None,
            offset: 0,
            limit: None,
            batch_size: DEFAULT_BATCH_SIZE,
            row_number: None,
        }
    }

    /// Reads these columns only; all by default.
    #[must_use]
    pub fn with_projection(mut self, projection: impl Into<Projection>) -> Self {
        self.projection = projection.into();
        self
    }

    /// Reads the columns that the schema names, in its types: other widths of offsets, views, time
    /// units, dictionaries or plain values, and whatever a checked cast can make of the stored
    /// type. Replaces a projection.
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Reads rows of this range only, by number; all by default.
    #[must_use]
    pub fn with_row_range(mut self, rows: Range<u64>) -> Self {
        self.rows = Some(rows);
        self
    }

    /// Leaves out that many rows at the start.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Reads that many rows at most.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Rows per batch; 8,192 by default. A batch is shorter at the end of a stripe, and where
    /// offsets or keys of an Arrow type would overflow.
    #[must_use]
    pub fn with_batch_size(mut self, rows: usize) -> Self {
        self.batch_size = rows;
        self
    }

    /// Adds a last column of that name with the number of each row in the shard, as UInt64.
    #[must_use]
    pub fn with_row_number(mut self, name: impl Into<String>) -> Self {
        self.row_number = Some(name.into());
        self
    }

    /// Starts the scan; this reads the schema, and no data yet.
    ///
    /// # Errors
    /// [`UnknownColumn`](ErrorKind::UnknownColumn), [`AmbiguousColumn`](ErrorKind::AmbiguousColumn),
    /// [`RowOutOfRange`](ErrorKind::RowOutOfRange), or what is wrong with the schema.
    pub fn build(self) -> Result<ShardReader> {
        if self.batch_size == 0 {
            return Err(Error::invalid("a batch must have at least one row"));
        }
        let total = self.shard.num_rows();
        let rows = self.rows.clone().unwrap_or(0..total);
        if rows.start > rows.end || rows.end > total {
            return Err(Error::new(
                ErrorKind::RowOutOfRange,
                format!(
                    "rows {}..{} of a shard of {total} rows",
                    rows.start, rows.end
                ),
            ));
        }
        let start = rows.start.saturating_add(self.offset).min(rows.end);
        let end = match self.limit {
            Some(limit) => start.saturating_add(limit).min(rows.end),
            None => rows.end,
        };
        let (columns, schema) = self.shard.drive(|bench| self.columns(bench))?;
        Ok(ShardReader {
            shard: self.shard,
            columns,
            schema,
            row_number: self.row_number.is_some(),
            rows: start..end,
            batch_size: self.batch_size as u64,
            stripe: None,
            state: ReadState::default(),
            fetched: Fetched::default(),
        })
    }

    fn columns(&self, bench: &Bench<'_>) -> Result<Option<(Vec<Column>, SchemaRef)>> {
        let metadata = &self.shard.inner;
        let columns = match &self.schema {
            Some(schema) => ready!(metadata.requested_columns(bench, schema)),
            None => ready!(metadata.columns(bench, &self.projection)),
        };
        let mut schema = match &self.schema {
            Some(schema) => schema.clone(),
            None => ready!(metadata.schema_of(bench, &columns)),
        };
        if let Some(name) = &self.row_number {
            let mut fields = schema.fields().to_vec();
            fields.push(Arc::new(Field::new(name, DataType::UInt64, false)));
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        }
        Ok(Some((columns, schema)))
    }
}

/// A scan that has been started: an iterator of batches.
#[derive(Debug)]
pub struct ShardReader {
    shard: Shard,
    columns: Vec<Column>,
    schema: SchemaRef,
    row_number: bool,
    /// Rows that are still to be read.
    rows: Range<u64>,
    batch_size: u64,
    stripe: Option<OpenStripe>,
    state: ReadState,
    fetched: Fetched,
}

/// The stripe that is being read.
#[derive(Debug)]
struct OpenStripe {
    fields: StripeFields,
    /// Its rows, by number in the shard.
    rows: Range<u64>,
    /// Rows whose bytes have been fetched, by number in the stripe.
    window: Range<u64>,
    /// Rows that are fetched at a time.
    window_rows: u64,
}

impl ShardReader {
    /// Rows that have not been read yet.
    pub fn remaining_rows(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        self.open_stripe()?;
        let Some(stripe) = &mut self.stripe else {
            return Ok(None);
        };
        let start = self.rows.start - stripe.rows.start;
        let most = (self.rows.end.min(stripe.rows.end)) - stripe.rows.start;
        let mut rows = start..most.min(start.saturating_add(self.batch_size));
        let (inner, state) = (&self.shard.inner, &mut self.state);
        let artifacts = &inner.artifacts;
        if rows.end > stripe.window.end || rows.start < stripe.window.start {
            self.fetched.clear();
            let border = (rows.start + stripe.window_rows) / WINDOW * WINDOW;
            let window = rows.start..border.max(rows.end).min(most);
            let selection = Selection::range(window.clone());
            drive(artifacts, &mut self.fetched, |bench| {
                let mut reader = StripeReader {
                    metadata: inner,
                    bench,
                    fields: &stripe.fields,
                    state,
                    sequential: true,
                };
                Ok(reader.fetch(&self.columns, &selection)?.then_some(()))
            })?;
            stripe.window = window;
        }
        let columns = loop {
            let selection = Selection::range(rows.clone());
            let bench = Bench::new(artifacts, &self.fetched);
            let mut reader = StripeReader {
                metadata: inner,
                bench: &bench,
                fields: &stripe.fields,
                state,
                sequential: true,
            };
            let place = || {
                let first = stripe.rows.start;
                format!("rows {}..{}", first + rows.start, first + rows.end)
            };
            match reader.read(&self.columns, &selection) {
                // Fewer rows may fit where all do not; a single row that does not is an error.
                Err(e) if e.kind() == ErrorKind::OffsetOverflow && rows.end - rows.start > 1 => {
                    rows.end = rows.start + (rows.end - rows.start) / 2;
                }
                read => {
                    break read.within(place).within(|| artifacts.name().to_owned())?;
                }
            }
        };
        let first = stripe.rows.start + rows.start;
        let count = rows.end - rows.start;
        let batch = self.batch(columns, first, count)?;
        self.rows.start += count;
        Ok(Some(batch))
    }

    fn batch(&self, mut columns: Vec<ArrayRef>, first: u64, count: u64) -> Result<RecordBatch> {
        if self.row_number {
            let numbers = UInt64Array::from_iter_values(first..first + count);
            columns.push(Arc::new(numbers));
        }
        record_batch(&self.schema, columns, crate::error::to_usize(count)?)
            .within(|| self.shard.inner.artifacts.name().to_owned())
    }

    /// Opens the stripe of the next row, unless it is open.
    fn open_stripe(&mut self) -> Result<()> {
        let row = self.rows.start;
        if self
            .stripe
            .as_ref()
            .is_some_and(|stripe| stripe.rows.contains(&row))
        {
            return Ok(());
        }
        self.fetched.clear();
        self.state.clear();
        let (inner, columns) = (&self.shard.inner, &self.columns);
        let opened = drive(&inner.artifacts, &mut self.fetched, |bench| {
            let stripes = ready!(inner.stripes(bench));
            let (ordinal, directory) = stripe_of(stripes, row)
                .ok_or_else(|| Error::corrupt(format!("no stripe holds row {row}")))?;
            let count = directory.total_record_count;
            let fields = ready!(open_fields(inner, bench, ordinal, count, columns));
            let first = directory.record_offset;
            Ok(Some((fields, first..first + count)))
        })?;
        self.fetched.clear();
        let (fields, rows) = opened;
        let window_rows = window_rows(
            &fields,
            rows.end - rows.start,
            inner.artifacts.options().fetch_bytes(),
        );
        self.stripe = Some(OpenStripe {
            fields,
            rows,
            window: 0..0,
            window_rows,
        });
        Ok(())
    }
}

/// Rows whose bytes come to about `fetch_bytes`, a multiple of the window that blocks end at.
fn window_rows(fields: &StripeFields, rows: u64, fetch_bytes: u64) -> u64 {
    let mut bytes = 0u64;
    for layout in fields.layouts.values() {
        if let Storage::Buffers(buffers) = &layout.storage {
            for buffer in buffers.streams() {
                bytes = bytes.saturating_add(buffer.place.range.len());
            }
        }
    }
    let windows = rows.div_ceil(WINDOW).max(1);
    let per_window = (bytes / windows).max(1);
    (fetch_bytes / per_window).clamp(1, windows) * WINDOW
}

impl Iterator for ShardReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch();
        if next.is_err() {
            // What comes after a damaged place is not the next rows.
            self.rows.start = self.rows.end;
        }
        next.map_err(ArrowError::from).transpose()
    }
}

impl RecordBatchReader for ShardReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
