//! Returns the matching rows of a stripe in batches.

mod columns;
mod pending;

pub(super) use pending::Pending;

use super::Counters;
use super::candidates::Candidates;
use super::metrics::count;
use super::probe::Probe;
use super::stripe_plan::StripePlan;
use crate::buffer::Selection;
use crate::error::{Error, Result, to_usize};
use crate::read::scan::opening::open_fields;
use crate::read::scan::row_limiter::{RowLimiter, fewer_may_fit};
use crate::read::scan::rows::ScanFormat;
use crate::read::scan::sizing::{fetched_rows, scanned_rows, stored_bytes, window_end};
use crate::read::scan::source::{ReadState, StripeFields};
use crate::read::scan::stripe_reader::StripeReader;
use crate::read::shard::fetch::{FetchPolicy, Fetched, Span, StepBytes, drive};
use arrow_array::{Array, ArrayRef, RecordBatch};
use columns::ColumnsReader;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// If at least one row of a part in this many matches, read all of its rows, and keep the matching ones until they make
/// a batch. If fewer match, read single rows once they make a batch.
const SCATTERED: usize = 35;
/// Factor by which the share of matching rows must cross that threshold before the way of reading parts changes.
const LATITUDE: usize = 4;

/// Most bytes of columns to fetch before the rows are tested: several requests transfer about as many in the time that
/// another round would take.
const MAX_ALONG_BYTES: u64 = 4 << 20;

/// Returns the rows that may have to be read for the matching rows of a part.
fn read_rows(part: &Candidates) -> Selection {
    part.selection(SCATTERED * LATITUDE)
}

/// Returns some rows of each part that has rows in question.
fn rows_in(parts: &[Candidates], some: impl Fn(&Candidates) -> Selection) -> Selection {
    let mut rows = Selection::default();
    for part in parts.iter().filter(|part| part.matches() > 0) {
        for range in some(part).ranges() {
            rows.push(range.clone());
        }
    }
    rows
}

/// Reads the columns of the scan.
#[derive(Debug)]
pub(super) struct OutputReader {
    format: Arc<ScanFormat>,
    counters: Arc<Counters>,
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
    fit: RowLimiter,
}

impl OutputReader {
    /// Creates the output for stripe number `stripe`, which has these rows. `fields` are the fields of the columns, if
    /// they are open already. `fetched` are the bytes that were fetched with the metadata.
    pub(super) fn new(
        format: Arc<ScanFormat>,
        counters: Arc<Counters>,
        stripe: u64,
        rows: &Range<u64>,
        fields: Option<StripeFields>,
        fetched: Fetched,
    ) -> Self {
        let (first, total) = (rows.start, rows.end - rows.start);
        Self {
            stripe,
            first,
            total,
            fields,
            state: ReadState::default(),
            fetched,
            format,
            counters,
            window: 0..0,
            fit: RowLimiter::default(),
        }
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
        mut read: impl FnMut(&mut ColumnsReader<'_>, usize) -> Result<T>,
    ) -> Result<(usize, T)> {
        let (mut reader, fit) = self.reader()?;
        fit.read(len, |len| read(&mut reader, len))
    }

    /// Returns a reader of fetched rows, and the number of rows that fit.
    fn reader(&mut self) -> Result<(ColumnsReader<'_>, &mut RowLimiter)> {
        let Some(fields) = &self.fields else {
            return Err(Error::corrupt("the stripe is not open"));
        };
        let reader = ColumnsReader {
            format: &self.format,
            first: self.first,
            fields,
            state: &mut self.state,
            step: StepBytes::new(&self.format.metadata.artifacts, &self.fetched),
        };
        Ok((reader, &mut self.fit))
    }

    /// Whether the fields of the columns are open.
    pub(super) fn is_open(&self) -> bool {
        self.fields.is_some()
    }

    /// Opens the fields of the columns, unless they are open.
    async fn open(&mut self) -> Result<()> {
        if self.fields.is_none() {
            let format = &self.format;
            let metadata = &format.metadata;
            let (stripe, total) = (self.stripe, self.total);
            let policy = FetchPolicy::default();
            let opened = drive(&metadata.artifacts, &mut self.fetched, policy, |step| {
                open_fields(metadata, step, stripe, total, &format.columns)
            });
            self.fields = Some(opened.await?);
        }
        Ok(())
    }

    /// Opens the fields of the columns, unless they are open, and fetches the bytes to test the first rows in the same
    /// round.
    ///
    /// Errors of the columns matter only if rows match; reading these then returns them.
    pub(super) async fn open_with_test(
        &mut self,
        plan: &StripePlan,
        probe: &mut Probe,
        chunks: &[Candidates],
    ) -> Result<()> {
        let (format, stripe, total) = (&self.format, self.stripe, self.total);
        let metadata = &format.metadata;
        let (rows, tested) = (rows_in(chunks, Candidates::tested), probe.first_columns());
        let (fields, mut tests, mut opens) = (&mut self.fields, ReadState::default(), true);
        let policy = FetchPolicy::new(Span::NotOthers);
        drive(&metadata.artifacts, probe.fetched_mut(), policy, |step| {
            let mut test = StripeReader::new(metadata, step, &plan.fields, &mut tests, true);
            let is_fetched = test.fetch(&tested, &rows)?;
            if opens {
                let opened = open_fields(metadata, step, stripe, total, &format.columns);
                opens = matches!(opened, Ok(None));
                *fields = opened.ok().flatten();
            }
            Ok((is_fetched && !opens).then_some(()))
        })
        .await
    }

    /// If range indexes leave few rows, fetches the bytes to test and to read them in one round, because most of them
    /// are likely to match.
    ///
    /// Errors of the columns matter only if rows match; reading these then returns them.
    pub(super) async fn fetch_few(
        &mut self,
        plan: &StripePlan,
        probe: &mut Probe,
        chunks: &[Candidates],
    ) -> Result<()> {
        let format = &self.format;
        let metadata = &format.metadata;
        let Some(fields) = &self.fields else {
            return Ok(());
        };
        let start = chunks.first().map_or(0, |chunk| chunk.rows().start);
        let window_rows = scanned_rows(fields, self.total, &metadata.artifacts);
        let window = start..window_end(start, window_rows);
        let inside = chunks.partition_point(|chunk| chunk.rows().end <= window.end);
        let rows = rows_in(&chunks[..inside], read_rows);
        let stored = stored_bytes(fields).saturating_add(stored_bytes(&plan.fields));
        let most = MAX_ALONG_BYTES.min(metadata.artifacts.fetch_bytes());
        let are_few = u128::from(stored) * u128::from(rows.len())
            <= u128::from(most) * u128::from(self.total);
        if rows.is_empty() || !are_few {
            return Ok(());
        }
        let tested = probe.columns();
        let (state, mut tests) = (&mut self.state, ReadState::default());
        let policy = FetchPolicy::for_sparse_rows();
        drive(&metadata.artifacts, &mut self.fetched, policy, |step| {
            let mut test = StripeReader::new(metadata, step, &plan.fields, &mut tests, true);
            // The test returns the errors of its columns.
            let is_fetched = test.fetch(&tested, &rows).unwrap_or(true);
            let mut reader = StripeReader::new(metadata, step, fields, state, true);
            let fetched = reader.fetch(&format.columns, &rows);
            Ok((is_fetched && fetched.unwrap_or(true)).then_some(()))
        })
        .await?;
        probe.adopt(&self.fetched)
    }

    /// Returns the number of rows to fetch at a time; `None` if all bytes are in memory.
    pub(super) async fn window_rows(&mut self) -> Result<Option<u64>> {
        self.open().await?;
        let artifacts = &self.format.metadata.artifacts;
        let fields = self.fields.as_ref();
        Ok(fields.and_then(|fields| fetched_rows(fields, self.total, artifacts)))
    }

    /// Fetches the bytes for the pending rows, or for the rows of a part, and for the following matches that belong to
    /// the same fetch. Does not fetch again the bytes that were fetched for tests.
    pub(super) async fn fetch(
        &mut self,
        pending: &Pending,
        part: Option<&Candidates>,
        parts: &VecDeque<Candidates>,
        tested: &Fetched,
    ) -> Result<()> {
        self.open().await?;
        let format = &self.format;
        let metadata = &format.metadata;
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
        let window_rows = scanned_rows(fields, self.total, &metadata.artifacts);
        let window = start..window_end(start, window_rows);
        let mut end = rows.end();
        let ahead = parts
            .iter()
            .take_while(|part| part.rows().end <= window.end);
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
        let policy = FetchPolicy::default();
        drive(&metadata.artifacts, &mut self.fetched, policy, |step| {
            let mut reader = StripeReader::new(metadata, step, fields, state, true);
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
    pub(super) fn emit(&mut self, part: &mut Candidates) -> Result<RecordBatch> {
        let (now, columns) = loop {
            let most = part.len_with(self.format.most_matches).max(1);
            let (len, columns) =
                self.fitting(most, |reader, len| reader.matching(&part.slice(0, len)))?;
            let now = part.slice(0, len);
            *part = part.slice(len, part.len() - len);
            count(&self.counters.rows_read, len as u64);
            if now.matches() > 0 || part.matches() == 0 {
                break (now, columns);
            }
        };
        count(&self.counters.rows_matched, now.matches() as u64);
        self.format
            .batch(columns, now.matches(), self.first, || now.selection(0))
    }

    /// Reads a part with few matching rows now, and keeps these rows until they make a batch.
    pub(super) fn read_part(&mut self, part: &Candidates, pending: &mut Pending) -> Result<()> {
        let (mut reader, _) = self.reader()?;
        match reader.matching(part) {
            // Rows that do not fit are read one by one later.
            Err(e) if fewer_may_fit(&e) => pending.push(part),
            columns => {
                count(&self.counters.rows_read, part.len() as u64);
                pending.push_read(part, columns?);
                Ok(())
            }
        }
    }

    /// Returns a batch of pending rows. Rows that do not fit stay pending.
    pub(super) fn flush(&mut self, pending: &mut Pending) -> Result<RecordBatch> {
        let (values, total) = (pending.joined(), to_usize(pending.len())?);
        if pending.is_complete() {
            let columns = values.into_iter().flatten().collect();
            let format = &self.format;
            let batch = format.batch(columns, total, self.first, || pending.rows());
            count(&self.counters.rows_matched, pending.len());
            pending.clear();
            return batch;
        }
        let rows = pending.rows();
        let (len, (now, columns)) = self.fitting(total, |reader, len| {
            let now = rows.slice(0..len as u64);
            let slice = |values: &Option<ArrayRef>| values.as_ref().map(|v| v.slice(0, len));
            let values: Vec<_> = values.iter().map(slice).collect();
            let columns = reader.read(&now, &values)?;
            Ok((now, columns))
        })?;
        count(&self.counters.rows_read, len as u64);
        count(&self.counters.rows_matched, len as u64);
        pending.skip(&rows, len as u64)?;
        self.format.batch(columns, len, self.first, || now)
    }
}
