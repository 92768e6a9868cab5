//! Reads the matching rows, batch by batch.

use super::candidates::Candidates;
use super::metrics::{PruningLevel, count, discount};
use super::output::{OutputReader, Pending};
use super::plan::Filter;
use super::probe::Probe;
use super::stripe_plan::{Matching, StripePlan};
use crate::arrow::defeats_filter;
use crate::buffer::Selection;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::read::scan::opening::{ask_for_small_fields, open_fields, stripe_of};
use crate::read::scan::rows::ScanFormat;
use crate::read::scan::sizing::fetched_rows;
use crate::read::scan::source::StripeFields;
use crate::read::shard::artifacts::Artifacts;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{FetchPolicy, Fetched, Span, drive};
use crate::read::shard::metadata::{WINDOW_ROWS, ready};
use crate::read::shard::waiting::give_way;
use arrow_array::RecordBatch;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Most windows of rows to test at a time if bytes have to be fetched.
const MAX_TESTED_WINDOWS: u64 = 16;

/// Most windows of rows to test at a time in near files. Tested values are kept until the other columns of their rows
/// are read; the values of one window stay in the cache of a processor until then.
const MAX_NEAR_WINDOWS: u64 = 1;

/// Most nodes in a scan for which metadata are fetched along with the predicate's: in most stripes that are not
/// skipped, some rows match and need them.
const MAX_NODES_ALONG: usize = 256;

/// Reads the selected and matching rows of a range, on the calling thread.
#[derive(Debug)]
pub(in crate::read) struct FilteredReader {
    format: Arc<ScanFormat>,
    filter: Arc<Filter>,
    /// The selected rows, by number in the shard; `None` if all are.
    selection: Option<Arc<Selection>>,
    /// Rows of stripes that have not been opened yet.
    rows: Range<u64>,
    /// Whether a batch may be joined from several pieces.
    joins: bool,
    stripe: Option<FilteredStripe>,
}

/// The stripe that is being read.
#[derive(Debug)]
struct FilteredStripe {
    plan: Arc<StripePlan>,
    /// Number in the shard of the stripe's first row.
    first: u64,
    /// From this row of the stripe on, the remaining rows are planned again if the predicate has changed.
    next_look: u64,
    /// Rows that have not been tested yet, by number in the stripe.
    rows: Range<u64>,
    /// The selected rows, by number in the stripe.
    wanted: Option<Selection>,
    probe: Probe,
    output: OutputReader,
    /// Rows that have been tested, in pieces of at most one batch.
    parts: VecDeque<Candidates>,
    /// Scattered matching rows that wait until they make a batch.
    pending: Pending,
    /// Most rows to test at a time.
    chunk_rows: u64,
    /// Most rows to fetch at a time; `None` if all bytes are in memory.
    window_rows: Option<u64>,
    /// Columns of the scan that the predicate reads in part; the bytes fetched for the predicate are kept until these
    /// columns are read. Empty for near files.
    tested: Vec<usize>,
}

/// The plan of a stripe, and the metadata that were read with it.
struct PlannedStripe {
    plan: Arc<StripePlan>,
    /// All rows of the stripe, by number in the shard.
    rows: Range<u64>,
    /// The fields of the columns of the scan, if they are open.
    fields: Option<StripeFields>,
    /// The bytes that were fetched for the plan and the fields.
    fetched: Fetched,
    /// Whether the columns of the scan are fetched along with the columns of the predicate.
    along: bool,
}

impl PlannedStripe {
    /// Plans the stripe that contains row `row` of the shard.
    async fn load(format: &ScanFormat, filter: &Filter, row: u64) -> Result<Self> {
        let (metadata, columns) = (&format.metadata, &format.columns);
        let mut fetched = format.fetched();
        let policy = FetchPolicy::new(Span::NotOthers).with_small_gaps();
        let mut along = !metadata.artifacts.are_near() && count_nodes(columns) <= MAX_NODES_ALONG;
        let mut fields = None;
        let (plan, rows) = drive(&metadata.artifacts, &mut fetched, policy, |step| {
            let stripes = ready!(metadata.stripes(step));
            let (ordinal, directory) = stripe_of(stripes, row)
                .ok_or_else(|| Error::corrupt(format!("no stripe holds row {row}")))?;
            let (first, total) = (directory.record_offset, directory.total_record_count);
            let plan = filter.plan(metadata, step, ordinal, directory)?;
            let is_skipped = plan.as_ref().is_some_and(|plan| plan.matches_none());
            let are_described = plan.is_some() || filter.are_described(metadata, ordinal);
            if along && !are_described {
                ask_for_small_fields(metadata, step, ordinal, total, columns);
            } else if along && fields.is_none() && !is_skipped {
                match open_fields(metadata, step, ordinal, total, columns) {
                    Ok(Some(opened)) => fields = Some(opened),
                    // The rest is fetched together with the bytes of the first rows to test.
                    Ok(None) if plan.as_ref().is_some_and(|plan| !plan.fields.is_empty()) => {}
                    Ok(None) => return Ok(None),
                    // The error matters only if rows match; reading them will return it.
                    Err(_) => along = false,
                }
            }
            Ok(plan.map(|plan| (plan, first..first + total)))
        })
        .await?;
        Ok(Self {
            plan,
            rows,
            fields,
            fetched,
            along,
        })
    }
}

impl FilteredStripe {
    /// Opens a stripe to read `rows`, by number in the shard. `wanted` are the selected rows, by number in the stripe.
    async fn open(
        format: &Arc<ScanFormat>,
        filter: &Arc<Filter>,
        planned: PlannedStripe,
        rows: &Range<u64>,
        wanted: Option<Selection>,
    ) -> Result<Self> {
        let (plan, all) = (planned.plan, planned.rows);
        let artifacts = &format.metadata.artifacts;
        let first = all.start;
        let mut probe = Probe::new(format.clone(), filter.clone(), plan.clone());
        // Keep the metadata, so that requests for values do not fetch it again with the gaps between them.
        probe.adopt(&planned.fetched)?;
        let mut output = OutputReader::new(
            format.clone(),
            filter.counters.clone(),
            plan.fields.stripe,
            &all,
            planned.fields,
            planned.fetched,
        );
        // If no column is tested, only the columns of the scan are fetched.
        let window = if plan.fields.is_empty() {
            output.window_rows().await?
        } else {
            fetched_rows(&plan.fields, all.end - first, artifacts)
        };
        let most_windows = if artifacts.are_near() && !plan.fields.is_empty() {
            MAX_NEAR_WINDOWS
        } else {
            MAX_TESTED_WINDOWS
        };
        let tested = if artifacts.are_near() {
            Vec::new()
        } else {
            plan.tested(&format.columns)
        };
        Ok(Self {
            first,
            next_look: (rows.start - first).saturating_add(WINDOW_ROWS),
            tested,
            probe,
            plan,
            rows: rows.start - first..rows.end - first,
            wanted,
            output,
            parts: VecDeque::new(),
            pending: Pending::new(format.columns.len()),
            chunk_rows: format.batch_size,
            window_rows: window.map(|rows| rows.min(most_windows * WINDOW_ROWS)),
        })
    }

    /// Fetches the columns of the scan along with the columns of the predicate for the first rows to test: their
    /// metadata if these have not been read, otherwise the values if range indexes left few rows.
    async fn fetch_first(&mut self, artifacts: &Artifacts) -> Result<()> {
        let is_narrow = self.plan.rows.is_some() && artifacts.have_latency();
        if self.output.is_open() && !is_narrow {
            return Ok(());
        }
        let (_, chunks) = self.next_chunks(artifacts.limits())?;
        let (plan, probe) = (&self.plan, &mut self.probe);
        if self.output.is_open() {
            self.output.fetch_few(plan, probe, &chunks).await
        } else {
            self.output.open_with_test(plan, probe, &chunks).await
        }
    }

    /// Whether scattered matching rows have still to be read from the bytes that were fetched to test them.
    fn is_awaited(&self) -> bool {
        let is_unread = |&column: &usize| self.pending.values(column).is_none();
        !self.pending.is_empty() && self.tested.iter().any(is_unread)
    }

    /// Returns the next rows to test, and these rows in chunks.
    fn next_chunks(&self, limits: &Limits) -> Result<(Range<u64>, Vec<Candidates>)> {
        let next = match &self.wanted {
            None => Some(self.rows.start),
            Some(wanted) => wanted.next_from(self.rows.start),
        };
        let start = next.unwrap_or(self.rows.end).min(self.rows.end);
        // Data in memory are tested and read chunk by chunk.
        let most = self.window_rows.unwrap_or(0).max(self.chunk_rows);
        // Whole blocks, of a power of two rows, are arrays without a copy if the chunks end with them.
        let border = |from: u64, rows: u64| {
            let start = if rows.is_power_of_two() || rows.is_multiple_of(WINDOW_ROWS) {
                from / rows * rows
            } else {
                from
            };
            start.saturating_add(rows)
        };
        let end = border(start, most).min(self.rows.end);
        let mut chunks = Vec::new();
        let mut from = start;
        while from < end {
            let to = border(from, self.chunk_rows).min(end);
            // One bit per row.
            limits.check_batch_bytes((to - from).div_ceil(8), 1)?;
            chunks.push(Candidates::new(from..to, self.wanted.as_ref())?);
            from = to;
        }
        Ok((start..end, chunks))
    }

    /// Fetches the bytes for the pending rows, and for the rows of a part.
    async fn fetch(&mut self, part: Option<&Candidates>) -> Result<()> {
        let tested = self.probe.fetched();
        let fetched = self.output.fetch(&self.pending, part, &self.parts, tested);
        fetched.await
    }

    /// Returns a batch of pending rows.
    async fn flush(&mut self) -> Result<RecordBatch> {
        self.output.join(&mut self.pending);
        self.fetch(None).await?;
        self.output.flush(&mut self.pending)
    }

    /// Reads a part with few matching rows.
    async fn read_part(&mut self, part: &Candidates) -> Result<()> {
        self.fetch(Some(part)).await?;
        self.output.read_part(part, &mut self.pending)
    }

    /// Returns a batch of the matching rows of a part.
    async fn emit(&mut self, mut part: Candidates) -> Result<RecordBatch> {
        self.fetch(Some(&part)).await?;
        let batch = self.output.emit(&mut part)?;
        if part.matches() > 0 {
            self.parts.push_front(part);
        }
        Ok(batch)
    }
}

impl FilteredReader {
    pub(in crate::read) fn new(
        format: ScanFormat,
        filter: Arc<Filter>,
        selection: Option<Arc<Selection>>,
        rows: Range<u64>,
    ) -> Self {
        let mut columns = format.columns.iter();
        Self {
            joins: !columns.any(|column| defeats_filter(column.field.data_type())),
            format: Arc::new(format),
            filter,
            selection,
            rows,
            stripe: None,
        }
    }

    /// Continues with other rows after reading the previous ones.
    #[cfg(feature = "threads")]
    pub(in crate::read) fn restart(&mut self, rows: Range<u64>) {
        self.rows = rows;
        self.stripe = None;
    }

    /// Returns the number of rows that have not been tested yet or are known to match.
    pub(in crate::read) fn remaining_rows(&self) -> u64 {
        let open = self.stripe.as_ref().map_or(0, |stripe| {
            let parts: u64 = stripe.parts.iter().map(|part| part.matches() as u64).sum();
            stripe.rows.end - stripe.rows.start + parts + stripe.pending.len()
        });
        open + self.rows.end - self.rows.start
    }

    /// Ends the reader: rows after a damaged place must not be returned as if they were the next ones.
    pub(in crate::read) fn stop(&mut self) {
        self.rows.start = self.rows.end;
        self.stripe = None;
    }

    /// Tests the next rows until some match, and fetches the bytes for these.
    pub(in crate::read) async fn prefetch(&mut self) -> Result<()> {
        loop {
            let Some(stripe) = &mut self.stripe else {
                if self.rows.is_empty() {
                    return Ok(());
                }
                self.open_stripe().await?;
                continue;
            };
            if let Some(part) = stripe.parts.front().cloned() {
                return stripe.fetch(Some(&part)).await;
            }
            if stripe.rows.is_empty() {
                return Ok(());
            }
            self.test_rows().await?;
            self.give_way().await;
        }
    }

    /// Skips the rest of the stripe and returns its rows, if all of them are known to match. Returns `None` if the
    /// next rows have to be read, or at the end.
    pub(in crate::read) async fn take_known(&mut self) -> Result<Option<Range<u64>>> {
        loop {
            let Some(stripe) = &mut self.stripe else {
                if self.rows.is_empty() {
                    return Ok(None);
                }
                self.open_stripe().await?;
                self.give_way().await;
                continue;
            };
            let is_known = matches!(stripe.plan.matching, Matching::All) && stripe.wanted.is_none();
            let is_begun = !stripe.parts.is_empty() || !stripe.pending.is_empty();
            if !is_known || is_begun || stripe.rows.is_empty() {
                return Ok(None);
            }
            let rows = stripe.first + stripe.rows.start..stripe.first + stripe.rows.end;
            self.stripe = None;
            return Ok(Some(rows));
        }
    }

    /// Tests the next rows of the open stripe, unless matches wait to be read. Returns whether there was something to
    /// do.
    pub(in crate::read) async fn test_some(&mut self) -> Result<bool> {
        match &self.stripe {
            Some(stripe) if !stripe.parts.is_empty() || !stripe.pending.is_empty() => Ok(false),
            Some(stripe) if stripe.rows.is_empty() => {
                self.stripe = None;
                Ok(true)
            }
            Some(_) => {
                self.test_rows().await?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Yields to other tasks, if the scan is meant to.
    async fn give_way(&self) {
        if self.format.gives_way {
            give_way().await;
        }
    }

    /// Returns the next batch of matching rows; `None` after the last.
    pub(in crate::read) async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch_size = self.format.batch_size.min(self.format.most_matches).max(1);
        loop {
            let Some(stripe) = &mut self.stripe else {
                if self.rows.is_empty() {
                    return Ok(None);
                }
                self.open_stripe().await?;
                continue;
            };
            match stripe.parts.pop_front() {
                Some(part) if part.is_dense() => {
                    if !stripe.pending.is_empty() {
                        stripe.parts.push_front(part);
                        return stripe.flush().await.map(Some);
                    }
                    return stripe.emit(part).await.map(Some);
                }
                Some(part) => {
                    let reads_now = self.joins && stripe.pending.reads_now(&part);
                    let most = stripe.output.most_rows(batch_size);
                    let is_alike = stripe.pending.is_alike(&part, &stripe.tested);
                    if !stripe.pending.fits(&part, reads_now, most) || !is_alike {
                        stripe.parts.push_front(part);
                        return stripe.flush().await.map(Some);
                    }
                    if reads_now {
                        stripe.read_part(&part).await?;
                    } else {
                        stripe.pending.push(&part)?;
                    }
                }
                None if !stripe.rows.is_empty() => {
                    if stripe.rows.start >= stripe.next_look {
                        stripe.next_look = stripe.rows.start.saturating_add(WINDOW_ROWS);
                        if self.filter.is_stale() {
                            if !stripe.pending.is_empty() {
                                stripe.next_look = stripe.rows.start;
                                return stripe.flush().await.map(Some);
                            }
                            self.close_stripe();
                            continue;
                        }
                    }
                    let artifacts = &self.format.metadata.artifacts;
                    let has_much = stripe.probe.fetched().bytes() > artifacts.fetch_bytes();
                    if has_much && stripe.is_awaited() {
                        return stripe.flush().await.map(Some);
                    }
                    self.test_rows().await?;
                    self.give_way().await;
                }
                None if !stripe.pending.is_empty() => {
                    return stripe.flush().await.map(Some);
                }
                None => self.stripe = None,
            }
        }
    }

    /// Closes the stripe; [`open_stripe`](Self::open_stripe) opens it again for the rows that have not been tested.
    fn close_stripe(&mut self) {
        let Some(stripe) = self.stripe.take() else {
            return;
        };
        let left = stripe.rows.end - stripe.rows.start;
        self.rows.start = stripe.first + stripe.rows.start;
        // These rows will be counted again.
        let counters = &self.filter.counters;
        discount(&counters.rows, left);
        if matches!(stripe.plan.matching, Matching::All) {
            discount(&counters.rows_known_to_match, left);
        }
        if let Some(indexed) = &stripe.plan.rows {
            let skipped = &counters.skipped_by(PruningLevel::RangeIndexes).rows;
            discount(skipped, left - indexed.within(&stripe.rows).len());
        }
    }

    /// Opens the next stripe, unless no row of it can match.
    async fn open_stripe(&mut self) -> Result<()> {
        if let Some(filter) = self.filter.refreshed(&self.format.metadata).await? {
            self.filter = filter;
        }
        let start = self.rows.start;
        let planned = PlannedStripe::load(&self.format, &self.filter, start).await?;
        let rows = start..planned.rows.end.min(self.rows.end);
        self.rows.start = rows.end;
        let counters = &self.filter.counters;
        let looked_at = rows.end - rows.start;
        count(&counters.rows, looked_at);
        match planned.plan.matching {
            Matching::None(level) => {
                count(&counters.skipped_by(level).rows, looked_at);
                return Ok(());
            }
            Matching::All => count(&counters.rows_known_to_match, looked_at),
            Matching::Some(_) => {}
        }
        let wanted = self.wanted_rows(&planned, &rows);
        if wanted.as_ref().is_some_and(Selection::is_empty) {
            return Ok(());
        }
        let along = planned.along;
        let mut stripe =
            FilteredStripe::open(&self.format, &self.filter, planned, &rows, wanted).await?;
        if along {
            stripe.fetch_first(&self.format.metadata.artifacts).await?;
        }
        self.stripe = Some(stripe);
        Ok(())
    }

    /// Returns the rows of a stripe to test, by number in the stripe; `None` if all are. `rows` are the rows of the
    /// stripe that are read, by number in the shard. Counts the rows that range indexes skip.
    fn wanted_rows(&self, planned: &PlannedStripe, rows: &Range<u64>) -> Option<Selection> {
        let first = planned.rows.start;
        let selected = self.selection.as_ref().map(|selection| {
            let inside = selection.within(rows);
            let local = inside.ranges().iter();
            local
                .map(|r| r.start - first..r.end - first)
                .collect::<Selection>()
        });
        let Some(indexed) = &planned.plan.rows else {
            return selected;
        };
        let inside = indexed.within(&(rows.start - first..rows.end - first));
        let counters = &self.filter.counters;
        let skipped = &counters.skipped_by(PruningLevel::RangeIndexes).rows;
        count(skipped, rows.end - rows.start - inside.len());
        Some(match selected {
            Some(selected) => selected.intersection(&inside),
            None => inside,
        })
    }

    /// Tests the next rows of the stripe.
    async fn test_rows(&mut self) -> Result<()> {
        let Some(stripe) = &mut self.stripe else {
            return Ok(());
        };
        let limits = self.format.metadata.artifacts.limits();
        let (rows, mut chunks) = stripe.next_chunks(limits)?;
        stripe.rows.start = rows.end;
        let are_awaited = stripe.is_awaited();
        stripe.probe.test(&mut chunks, are_awaited).await?;
        // If few rows match, larger chunks cost less.
        let matches: u64 = chunks.iter().map(|chunk| chunk.matches() as u64).sum();
        let is_sparse = matches.saturating_mul(32) < rows.end - rows.start;
        stripe.chunk_rows = if is_sparse && stripe.probe.may_grow() {
            self.format.batch_size.max(WINDOW_ROWS)
        } else {
            self.format.batch_size
        };
        for chunk in chunks {
            chunk.split(self.format.batch_size, &mut stripe.parts);
        }
        Ok(())
    }
}

/// Returns the number of nodes in the columns, including nested ones.
fn count_nodes(columns: &[Column]) -> usize {
    let mut nodes = 0;
    for column in columns {
        column.node.walk(&mut |_| nodes += 1);
    }
    nodes
}
