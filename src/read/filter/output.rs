//! Reads the columns of a scan in the matching rows.

mod pending;

pub(super) use pending::Pending;

use super::Counters;
use super::candidates::Candidates;
use super::metrics::count;
use crate::arrow::defeats_filter;
use crate::buffer::{Body, Selection, Storage};
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::read::scan::fit::{Fit, fewer_may_fit};
use crate::read::scan::plan::{
    StripeReader, fetched_rows, is_blockwise, open_fields, scanned_rows,
};
use crate::read::scan::rows::RowFormat;
use crate::read::scan::source::{ReadState, StripeFields};
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{Bench, Fetched, Span, drive};
use crate::read::shard::metadata::WINDOW;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::Range;

/// If at least one row of a part in this many matches, read all of its rows, and keep the matching ones until they make
/// a batch. If fewer match, read single rows once they make a batch.
const SCATTERED: usize = 35;
/// Factor by which the share of matching rows must cross that threshold before the way of reading parts changes.
const LATITUDE: usize = 4;

/// Returns the rows that may have to be read for the matching rows of a part.
fn read_rows(part: &Candidates) -> Selection {
    part.selection(SCATTERED * LATITUDE)
}

/// Reads the columns of the scan.
#[derive(Debug)]
pub(super) struct Output {
    stripe: u64,
    /// Number of the stripe's first row.
    first: u64,
    /// Number of rows of the stripe.
    total: u64,
    fields: Option<StripeFields>,
    state: ReadState,
    fetched: Fetched,
    /// Rows covered by the last fetch, which fetched bytes only where they match.
    window: Range<u64>,
    fit: Fit,
}

impl Output {
    /// Creates the output for stripe number `stripe`, which has these rows. `fields` are the fields of the columns, if
    /// they are open already.
    pub(super) fn new(
        format: &RowFormat,
        stripe: u64,
        rows: &Range<u64>,
        fields: Option<StripeFields>,
    ) -> Self {
        let (first, total) = (rows.start, rows.end - rows.start);
        Self {
            stripe,
            first,
            total,
            fields,
            state: ReadState::default(),
            fetched: format.fetched(Span::Any),
            window: 0..0,
            fit: Fit::default(),
        }
    }

    /// Also keeps the bytes in `fetched`, so that they are not fetched again.
    pub(super) fn adopt(&mut self, fetched: &Fetched) -> Result<()> {
        self.fetched.adopt(fetched)
    }

    /// Returns the most scattered rows that a batch may have.
    pub(super) fn most_rows(&self, batch_size: u64) -> u64 {
        batch_size.min(self.fit.most() as u64)
    }

    /// Joins the values of the pending rows. Values that do not fit in one array are read again; their bytes may not
    /// have been fetched together with other columns.
    pub(super) fn join(&mut self, pending: &mut Pending) {
        if !pending.join() {
            self.window = 0..0;
        }
    }

    /// Reads the first of `len` rows; fewer if not all of them fit. Returns the number of rows and the result.
    fn fitting<T>(
        &mut self,
        len: usize,
        mut read: impl FnMut(&mut Self, usize) -> Result<T>,
    ) -> Result<(usize, T)> {
        let mut fit = std::mem::take(&mut self.fit);
        let read = fit.read(len, |len| read(self, len));
        self.fit = fit;
        read
    }

    /// Opens the fields of the columns, unless they are open.
    async fn open(&mut self, format: &RowFormat) -> Result<()> {
        if self.fields.is_none() {
            let inner = &format.metadata;
            let (stripe, total) = (self.stripe, self.total);
            let opened = drive(&inner.artifacts, &mut self.fetched, |bench| {
                open_fields(inner, bench, stripe, total, &format.columns)
            });
            self.fields = Some(opened.await?);
        }
        Ok(())
    }

    /// Returns the number of rows to fetch at a time; `None` if all bytes are in memory.
    pub(super) async fn window_rows(&mut self, format: &RowFormat) -> Result<Option<u64>> {
        self.open(format).await?;
        let artifacts = &format.metadata.artifacts;
        let fields = self.fields.as_ref();
        Ok(fields.and_then(|fields| fetched_rows(fields, self.total, artifacts)))
    }

    /// Fetches the bytes for the pending rows, or for the rows of a part, and for the following matches that belong to
    /// the same fetch. Does not fetch again the bytes that were fetched for tests.
    pub(super) async fn fetch(
        &mut self,
        format: &RowFormat,
        pending: &Pending,
        part: Option<&Candidates>,
        parts: &VecDeque<Candidates>,
        tested: &Fetched,
    ) -> Result<()> {
        let inner = &format.metadata;
        self.open(format).await?;
        let Some(fields) = &self.fields else {
            return Ok(());
        };
        if fields.are_resident() {
            return Ok(());
        }
        // Rows that were read need no bytes.
        let mut rows = if pending.is_complete() {
            Selection::default()
        } else {
            pending.rows()
        };
        for range in part.map_or_else(Selection::default, read_rows).ranges() {
            rows.push(range.clone());
        }
        let Some(start) = rows.ranges().first().map(|range| range.start) else {
            return Ok(());
        };
        if self.window.start <= start && rows.end() <= self.window.end {
            return Ok(());
        }
        let window = scanned_rows(fields, self.total, &inner.artifacts);
        let unit = window.clamp(1, WINDOW);
        let border = start.saturating_add(window) / unit * unit;
        let mut end = rows.end();
        let ahead = parts.iter().take_while(|part| part.rows().end <= border);
        let mut kept = vec![true; format.columns.len()];
        let mut needs = |values: &dyn Fn(usize) -> bool| {
            for (i, kept) in kept.iter_mut().enumerate() {
                *kept &= values(i);
            }
        };
        needs(&|i| pending.values[i].is_some());
        for part in part.into_iter().chain(ahead) {
            needs(&|i| part.values(i).is_some());
            if part.rows().start >= end {
                for range in read_rows(part).ranges() {
                    rows.push(range.clone());
                }
            }
            end = end.max(part.rows().end);
        }
        self.fetched.retire();
        self.fetched.adopt(tested)?;
        let state = &mut self.state;
        drive(&inner.artifacts, &mut self.fetched, |bench| {
            let mut reader = StripeReader {
                metadata: inner,
                bench,
                fields,
                state,
                sequential: true,
            };
            let mut complete = true;
            for (column, kept) in format.columns.iter().zip(&kept) {
                if !kept {
                    complete &= reader.fetch(std::slice::from_ref(column), &rows)?;
                }
            }
            Ok(complete.then_some(()))
        })
        .await?;
        self.fetched.drop_unused();
        self.window = start..end;
        Ok(())
    }

    /// Returns a batch of the matching rows of a part. Rows that do not fit stay in the part.
    pub(super) fn emit(
        &mut self,
        format: &RowFormat,
        part: &mut Candidates,
        counters: &Counters,
    ) -> Result<RecordBatch> {
        let (now, columns) = loop {
            let most = part.len_with(format.most_matches).max(1);
            let (len, columns) = self.fitting(most, |output, len| {
                output.matching(format, &part.slice(0, len))
            })?;
            let now = part.slice(0, len);
            *part = part.slice(len, part.len() - len);
            count(&counters.rows_read, len as u64);
            if now.matches() > 0 || part.matches() == 0 {
                break (now, columns);
            }
        };
        count(&counters.rows_matched, now.matches() as u64);
        format.batch(columns, now.matches(), self.first, || now.selection(0))
    }

    /// Reads the columns in the matching rows of a part.
    fn matching(&mut self, format: &RowFormat, part: &Candidates) -> Result<Vec<ArrayRef>> {
        match self.filtered(format, part) {
            // The error may be about a value of another row, which the caller did not request in this type. Columns
            // that tests have read are kept, because their bytes may be gone.
            Err(e) if e.kind() == ErrorKind::ValueOutOfRange => {
                let kept = part.filtered(part.all_values())?;
                self.read(format, &part.selection(0), &kept)
            }
            columns => columns,
        }
    }

    /// Reads the columns in all rows of a part, and filters the matching rows.
    fn filtered(&mut self, format: &RowFormat, part: &Candidates) -> Result<Vec<ArrayRef>> {
        let rows = Selection::range(part.rows().clone());
        if part.matches() == part.len() {
            return self.read(format, &rows, part.all_values());
        }
        let filter = part.filter(format.columns.len());
        let matching = OnceCell::new();
        let has_runs = part.has_long_runs();
        let mut columns = Vec::with_capacity(format.columns.len());
        for (i, column) in format.columns.iter().enumerate() {
            let is_read = part.values(i).is_some();
            let is_cut = has_runs && !is_read && self.is_of_blocks(column);
            // Each column is filtered while it is in the processor's cache, and freed before the next is read.
            columns.push(if is_cut || defeats_filter(column.field.data_type()) {
                let matching = matching.get_or_init(|| part.selection(0));
                self.read_column(format, i, matching, &[])?
            } else {
                filter.filter(&self.read_column(format, i, &rows, part.all_values())?)?
            });
        }
        Ok(columns)
    }

    /// Whether a column is a leaf that copies its values, or their codes, out of decoded blocks, where they take fewer
    /// bytes than in arrays. Views do not: their values stay in the blocks.
    fn is_of_blocks(&self, column: &Column) -> bool {
        let layout = self
            .fields
            .as_ref()
            .and_then(|fields| fields.layout(column.node.schema_id));
        layout.is_some_and(|layout| match &layout.storage {
            Storage::Buffers(buffers) => {
                let data = buffers.data.as_ref();
                let is_view = matches!(
                    column.field.data_type(),
                    DataType::Utf8View | DataType::BinaryView
                );
                column.node.children.is_empty()
                    && !buffers.has_separate_offsets()
                    && (buffers.dictionary.is_some() || !is_view)
                    && data.is_some_and(|data| matches!(data.body, Body::Blocks(_)))
            }
            Storage::Null | Storage::Constant(_) => true,
        })
    }

    /// Reads a part with few matching rows now, and keeps these rows until they make a batch.
    pub(super) fn read_part(
        &mut self,
        format: &RowFormat,
        part: &Candidates,
        pending: &mut Pending,
        counters: &Counters,
    ) -> Result<()> {
        match self.matching(format, part) {
            // Rows that do not fit are read one by one later.
            Err(e) if fewer_may_fit(&e) => pending.push(part),
            columns => {
                count(&counters.rows_read, part.len() as u64);
                pending.push_read(part, columns?);
                Ok(())
            }
        }
    }

    /// Returns a batch of pending rows. Rows that do not fit stay pending.
    pub(super) fn flush(
        &mut self,
        format: &RowFormat,
        pending: &mut Pending,
        counters: &Counters,
    ) -> Result<RecordBatch> {
        let (values, total) = (pending.joined(), to_usize(pending.len())?);
        if pending.is_complete() {
            let columns = values.into_iter().flatten().collect();
            let batch = format.batch(columns, total, self.first, || pending.rows());
            count(&counters.rows_matched, pending.len());
            pending.clear();
            return batch;
        }
        let rows = pending.rows();
        let (len, (now, columns)) = self.fitting(total, |output, len| {
            let now = rows.slice(0..len as u64);
            let slice = |values: &Option<ArrayRef>| values.as_ref().map(|v| v.slice(0, len));
            let values: Vec<_> = values.iter().map(slice).collect();
            let columns = output.read(format, &now, &values)?;
            Ok((now, columns))
        })?;
        count(&counters.rows_read, len as u64);
        count(&counters.rows_matched, len as u64);
        pending.skip(&rows, len as u64)?;
        format.batch(columns, len, self.first, || now)
    }

    /// Reads the columns in some rows of the stripe, except for columns with known values.
    fn read(
        &mut self,
        format: &RowFormat,
        rows: &Selection,
        values: &[Option<ArrayRef>],
    ) -> Result<Vec<ArrayRef>> {
        let columns = 0..format.columns.len();
        columns
            .map(|i| self.read_column(format, i, rows, values))
            .collect()
    }

    /// Reads a column in some rows of the stripe, unless its values are known.
    fn read_column(
        &mut self,
        format: &RowFormat,
        i: usize,
        rows: &Selection,
        values: &[Option<ArrayRef>],
    ) -> Result<ArrayRef> {
        if let Some(Some(values)) = values.get(i) {
            return Ok(values.clone());
        }
        let artifacts = &format.metadata.artifacts;
        let Some(fields) = &self.fields else {
            return Err(Error::corrupt("the stripe is not open"));
        };
        let bench = Bench::new(artifacts, &self.fetched);
        let start = rows.ranges().first().map_or(0, |range| range.start);
        let mut reader = StripeReader {
            metadata: &format.metadata,
            bench: &bench,
            fields,
            state: &mut self.state,
            sequential: is_blockwise(rows),
        };
        let place = || format!("rows {}..{}", self.first + start, self.first + rows.end());
        let read = reader.read(std::slice::from_ref(&format.columns[i]), rows);
        let mut read = read.within(place).within(|| artifacts.place())?;
        read.pop()
            .ok_or_else(|| Error::corrupt("a column was not read"))
    }
}
