//! Rows of a shard in order, as RecordBatches.

use super::opening::{fetch_descriptors, open_fields, stripe_of};
use super::row_limiter::RowLimiter;
use super::sizing::{scanned_rows, window_end};
use super::source::{ReadState, StripeFields};
use super::stripe_reader::StripeReader;
use crate::buffer::Selection;
use crate::column::declared_nulls;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{FetchPolicy, Fetched, Span, StepBytes, drive};
use crate::read::shard::metadata::{Metadata, ready};
use crate::read::shard::shared_bytes::SharedBytes;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::SchemaRef;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The columns that a scan reads, and the format of its batches.
#[derive(Debug, Clone)]
pub(in crate::read) struct ScanFormat {
    pub(in crate::read) metadata: Arc<Metadata>,
    pub(in crate::read) columns: Arc<[Column]>,
    pub(in crate::read) schema: SchemaRef,
    /// Whether the last column is the number of the row.
    pub(in crate::read) row_number: bool,
    /// Most rows of a batch.
    pub(in crate::read) batch_size: u64,
    /// Most matching rows that the scan needs: its offset and its limit.
    pub(in crate::read) most_matches: u64,
    /// The rows of the whole scan.
    pub(in crate::read) rows: Range<u64>,
    /// The bytes that readers of other rows fetch at the same time, if there are such readers.
    pub(in crate::read) shared: Option<Arc<SharedBytes>>,
    /// Number of bytes that all readers of the scan have read.
    pub(in crate::read) bytes_read: Arc<AtomicU64>,
    /// Whether other tasks may run between two windows of rows without a match.
    pub(in crate::read) gives_way: bool,
}

impl ScanFormat {
    /// Creates the storage for the bytes that a reader of the scan fetches.
    pub(in crate::read) fn fetched(&self) -> Fetched {
        let fetched = Fetched::default().share(self.shared.as_ref());
        fetched.count(&self.bytes_read)
    }

    /// Creates a batch of the columns in `count` rows of the stripe that begins with row `first`. `rows` is called only
    /// if the batch has row numbers.
    pub(in crate::read) fn batch(
        &self,
        mut columns: Vec<ArrayRef>,
        count: usize,
        first: u64,
        rows: impl FnOnce() -> Selection,
    ) -> Result<RecordBatch> {
        if self.row_number {
            let limits = self.metadata.artifacts.limits();
            limits.check_batch_bytes(count as u64, size_of::<u64>())?;
            let rows = rows();
            let ranges = rows.ranges().iter();
            let numbers = ranges.flat_map(|range| first + range.start..first + range.end);
            columns.push(Arc::new(UInt64Array::from_iter_values(numbers)));
        }
        record_batch(&self.schema, columns, count).within(|| self.metadata.artifacts.place())
    }
}

/// Creates a batch of columns; a batch without columns has `rows` rows.
pub(super) fn record_batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    for (field, column) in schema.fields().iter().zip(&columns) {
        let nulls = declared_nulls(column);
        if !field.is_nullable() && nulls > 0 {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!(
                    "column `{}` is declared without nulls, but has {nulls}; ask for a nullable type",
                    field.name(),
                ),
            ));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(|e| {
        Error::new(
            ErrorKind::SchemaMismatch,
            format!("the columns do not fit the schema: {e}"),
        )
    })
}

/// Reads a range of rows, batch by batch, on the calling thread.
#[derive(Debug)]
pub(in crate::read) struct RowReader {
    format: ScanFormat,
    /// Rows that are still to be read.
    rows: Range<u64>,
    stripe: Option<OpenStripe>,
    state: ReadState,
    fetched: Fetched,
    policy: FetchPolicy,
}

/// The stripe that is being read.
#[derive(Debug)]
struct OpenStripe {
    fields: StripeFields,
    /// Its rows, by number in the shard.
    rows: Range<u64>,
    /// Rows with fetched bytes, by number in the stripe.
    window: Range<u64>,
    /// Most rows to fetch at a time.
    window_rows: u64,
}

impl RowReader {
    pub(in crate::read) fn new(format: ScanFormat, rows: Range<u64>) -> Self {
        // A reader of all rows keeps bytes that were fetched too early; a reader of a part loses them.
        let span = if format.metadata.artifacts.are_near() {
            Span::Any
        } else if rows == format.rows {
            Span::Few
        } else {
            Span::NotOthers
        };
        Self {
            fetched: format.fetched(),
            format,
            rows,
            stripe: None,
            state: ReadState::default(),
            policy: FetchPolicy::new(span),
        }
    }

    /// Continues with other rows. An open stripe that contains them stays open.
    #[cfg(feature = "threads")]
    pub(in crate::read) fn restart(&mut self, rows: Range<u64>) {
        self.rows = rows;
    }

    /// Returns the number of rows that have not been read yet.
    pub(in crate::read) fn remaining_rows(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    /// Ends the reader: rows after a damaged place must not be returned as if they were the next ones.
    pub(in crate::read) fn stop(&mut self) {
        self.rows.start = self.rows.end;
    }

    /// Skips the rows that have not been read yet, and returns them; `None` if all have been read.
    pub(in crate::read) fn take_rest(&mut self) -> Option<Range<u64>> {
        let rest = self.rows.clone();
        self.stop();
        (!rest.is_empty()).then_some(rest)
    }

    /// Returns the next batch; `None` after the last row.
    pub(in crate::read) async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        match self.prefetch().await? {
            Some(rows) => self.decode(rows).map(Some),
            None => Ok(None),
        }
    }

    /// Fetches the bytes for the next batch, and the bytes that are fetched together with them. Returns the rows of
    /// that batch, by number in the stripe, or `None` after the last row.
    pub(in crate::read) async fn prefetch(&mut self) -> Result<Option<Range<u64>>> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        self.open_stripe().await?;
        let Some(stripe) = &mut self.stripe else {
            return Ok(None);
        };
        let start = self.rows.start - stripe.rows.start;
        let most = (self.rows.end.min(stripe.rows.end)) - stripe.rows.start;
        let rows = start..most.min(start.saturating_add(self.format.batch_size));
        let (metadata, state) = (&self.format.metadata, &mut self.state);
        if rows.end > stripe.window.end || rows.start < stripe.window.start {
            self.fetched.retire();
            let end = window_end(rows.start, stripe.window_rows);
            let window = rows.start..end.max(rows.end).min(most);
            let selection = Selection::range(window.clone());
            let scanned = self.format.rows.start.max(stripe.rows.start)
                ..self.format.rows.end.min(stripe.rows.end);
            let is_part = window.end - window.start < scanned.end - scanned.start;
            let is_whole = window == (0..stripe.rows.end - stripe.rows.start);
            let mut policy = self.policy;
            if is_whole && !metadata.artifacts.are_near() {
                // The whole stripe is read, so texts need not wait for the offsets that locate them.
                policy = policy.with_along(metadata.artifacts.fetch_bytes());
            }
            drive(&metadata.artifacts, &mut self.fetched, policy, |step| {
                if is_part || is_whole {
                    stripe.fields.places().for_each(|p| step.note_later(p));
                }
                let mut reader = StripeReader::new(metadata, step, &stripe.fields, state, true);
                Ok(reader
                    .fetch(&self.format.columns, &selection)?
                    .then_some(()))
            })
            .await?;
            self.fetched.drop_unused();
            stripe.window = window;
        }
        Ok(Some(rows))
    }

    /// Decodes a batch of fetched rows; it is shorter if not all of them fit.
    fn decode(&mut self, rows: Range<u64>) -> Result<RecordBatch> {
        let Some(stripe) = &self.stripe else {
            return Err(Error::corrupt("the stripe is not open"));
        };
        let (metadata, state) = (&self.format.metadata, &mut self.state);
        let artifacts = &metadata.artifacts;
        let (first, len) = (stripe.rows.start, to_usize(rows.end - rows.start)?);
        let (len, columns) = RowLimiter::default().read(len, |len| {
            let rows = rows.start..rows.start + len as u64;
            let step = StepBytes::new(artifacts, &self.fetched);
            let mut reader = StripeReader::new(metadata, &step, &stripe.fields, state, true);
            let place = || format!("rows {}..{}", first + rows.start, first + rows.end);
            let read = reader.read(&self.format.columns, &Selection::range(rows.clone()));
            read.within(place).within(|| artifacts.place())
        })?;
        let count = len as u64;
        let rows = || Selection::range(rows.start..rows.start + count);
        let batch = self.format.batch(columns, len, first, rows)?;
        self.rows.start += count;
        Ok(batch)
    }

    /// Whether all rows of the next stripe will be read, if the stripes are known.
    fn reads_whole_stripe(&self) -> bool {
        let stripes = self.format.metadata.known_stripes();
        let stripe = stripes.and_then(|stripes| stripe_of(stripes, self.rows.start));
        stripe.is_some_and(|(_, stripe)| {
            let end = stripe.record_offset + stripe.total_record_count;
            stripe.record_offset == self.rows.start && end <= self.rows.end
        })
    }

    /// Opens the stripe of the next row, unless it is open.
    async fn open_stripe(&mut self) -> Result<()> {
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
        let (metadata, columns) = (&self.format.metadata, &self.format.columns);
        let mut policy = self.policy;
        if !metadata.artifacts.are_near() {
            let stripes = metadata.run(|step| Ok(metadata.stripes(step)?.map(|_| ())));
            stripes.await?;
            if self.reads_whole_stripe() {
                policy = policy.with_along(metadata.artifacts.fetch_bytes());
            }
            let known = metadata.known_stripes();
            if let Some((stripe, _)) = known.and_then(|stripes| stripe_of(stripes, row)) {
                fetch_descriptors(metadata, &mut self.fetched, stripe, columns).await?;
            }
        }
        let (fields, rows) = drive(&metadata.artifacts, &mut self.fetched, policy, |step| {
            let stripes = ready!(metadata.stripes(step));
            let (ordinal, directory) = stripe_of(stripes, row)
                .ok_or_else(|| Error::corrupt(format!("no stripe holds row {row}")))?;
            let count = directory.total_record_count;
            let fields = ready!(open_fields(metadata, step, ordinal, count, columns));
            let first = directory.record_offset;
            Ok(Some((fields, first..first + count)))
        })
        .await?;
        let window_rows = scanned_rows(&fields, rows.end - rows.start, &metadata.artifacts);
        self.stripe = Some(OpenStripe {
            fields,
            rows,
            window: 0..0,
            window_rows,
        });
        Ok(())
    }
}
