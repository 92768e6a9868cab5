//! A running scan as a stream.

use super::batches::{BatchReader, RowPlan};
use super::cut::Cut;
use super::filter::{Filter, ScanMetrics};
use super::polled::PolledReader;
use super::scan::plan::{described_bytes, rows_of_bytes, stripe_of};
use super::scan::windows::Windows;
use super::shard::metadata::{WINDOW, ready};
use crate::error::Result;
use crate::io::BoxFuture;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use futures_core::Stream;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// Batches that are left out, and pieces that are begun, in one poll.
const TURNS: u32 = 4;

/// Windows of a piece of a scan with a filter, whose columns are fetched where rows match.
const FILTERED_WINDOWS: u64 = 16;

/// A running scan: a stream of batches, in order. Made by
/// [`ScanBuilder::build_stream`](super::ScanBuilder::build_stream).
///
/// Its errors are of the type `ArrowError`. [`Error::from`](crate::Error) makes such an error the one of this
/// crate that it was, with its kind and place.
#[derive(Debug)]
pub struct ShardStream {
    plan: RowPlan,
    pieces: Windows,
    cut: Cut,
    /// Pieces whose bytes are being fetched, in order.
    ahead: VecDeque<Ahead>,
    /// Pieces that are fetched at a time, beside the one that is being read.
    prefetch: usize,
    /// The stripes of which a piece has been fetched, with all that is known of their fields.
    known_stripes: BTreeSet<u64>,
    /// The piece that is being read.
    current: PolledReader,
    is_over: bool,
}

/// A piece of the rows, and the stripe that it is in.
struct Ahead {
    stripe: u64,
    state: Fetching,
}

enum Fetching {
    /// Until the first piece of the stripe has been fetched: they need the same metadata.
    Waits(Range<u64>),
    Fetches(BoxFuture<'static, (BatchReader, Result<()>)>),
    Done(BatchReader, Result<()>),
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            Fetching::Waits(_) => "waits",
            Fetching::Fetches(_) => "fetches",
            Fetching::Done(..) => "done",
        };
        f.debug_struct("Ahead")
            .field("stripe", &self.stripe)
            .field("state", &state)
            .finish()
    }
}

impl ShardStream {
    pub(in crate::read) async fn start(
        mut plan: RowPlan,
        rows: Range<u64>,
        cut: Cut,
        prefetch: usize,
    ) -> Result<Self> {
        plan.format.gives_way = true;
        let (metadata, batch) = (plan.format.metadata.clone(), plan.format.batch_size);
        // What is near costs no more when it is needed than before, and is fetched in smaller pieces.
        let (later, current) = match metadata.artifacts.are_near() {
            true => (rows.end..rows.end, PolledReader::Idle(plan.read(rows))),
            false => {
                plan.format.shared = Some(Arc::default());
                (rows, PolledReader::Over)
            }
        };
        let unit = piece_rows(&plan, &later).await?;
        Ok(Self {
            pieces: Windows::try_new(&metadata, &later, unit, batch).await?,
            plan,
            cut,
            ahead: VecDeque::new(),
            prefetch,
            known_stripes: BTreeSet::new(),
            current,
            is_over: false,
        })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.plan.format.schema.clone()
    }

    /// What the filter or the selection of rows has spared the scan so far; `None` if it has
    /// neither.
    pub fn metrics(&self) -> Option<ScanMetrics> {
        let filter: &Arc<Filter> = self.plan.filter.as_ref()?;
        Some(filter.counters.metrics())
    }

    /// Bytes that the scan has read from files and stores so far: of columns, of what lies between and
    /// came along, and of metadata that no scan of the shard had needed before. What opening the shard and
    /// planning the scan have read is not among them, and nothing of a shard in memory.
    pub fn bytes_read(&self) -> u64 {
        self.plan.format.bytes_read.load(Ordering::Relaxed)
    }

    /// Begins to fetch as many pieces as may be fetched at a time, and goes on with those.
    fn fetch_ahead(&mut self, context: &mut Context<'_>) {
        while self.ahead.len() < self.prefetch
            && let Some(stripe) = self.pieces.next_stripe()
            && let Some(rows) = self.pieces.next()
        {
            let state = Fetching::Waits(rows);
            self.ahead.push_back(Ahead { stripe, state });
        }
        if let Some(front) = self.ahead.front() {
            self.known_stripes = self.known_stripes.split_off(&front.stripe);
        }
        let mut before = None;
        for ahead in &mut self.ahead {
            let is_first = before != Some(ahead.stripe);
            before = Some(ahead.stripe);
            if let Fetching::Waits(rows) = &ahead.state
                && (is_first || self.known_stripes.contains(&ahead.stripe))
            {
                let mut reader = self.plan.read(rows.clone());
                ahead.state = Fetching::Fetches(Box::pin(async move {
                    let fetched = reader.prefetch().await;
                    (reader, fetched)
                }));
            }
            if let Fetching::Fetches(future) = &mut ahead.state
                && let Poll::Ready((reader, fetched)) = future.as_mut().poll(context)
            {
                ahead.state = Fetching::Done(reader, fetched);
                self.known_stripes.insert(ahead.stripe);
            }
        }
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        for _ in 0..TURNS {
            if self.is_over || self.cut.is_over() {
                return Poll::Ready(None);
            }
            self.fetch_ahead(context);
            match self.current.poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(batch))) => {
                    if let Some(batch) = self.cut.apply(batch) {
                        return Poll::Ready(Some(Ok(batch)));
                    }
                    continue;
                }
                Poll::Ready(Some(Err(error))) => return self.fail(error),
                Poll::Ready(None) => {}
            }
            let front = self.ahead.front();
            match front.map(|ahead| matches!(ahead.state, Fetching::Done(..))) {
                None => self.is_over = true,
                Some(false) => return Poll::Pending,
                Some(true) => {
                    if let Some(Ahead {
                        state: Fetching::Done(reader, fetched),
                        ..
                    }) = self.ahead.pop_front()
                    {
                        if let Err(error) = fetched {
                            return self.fail(error);
                        }
                        self.current = PolledReader::Idle(reader);
                    }
                }
            }
        }
        // Others want to run, too.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Ends with an error.
    fn fail(&mut self, error: crate::Error) -> Poll<Option<Result<RecordBatch>>> {
        self.is_over = true;
        self.ahead.clear();
        Poll::Ready(Some(Err(error)))
    }
}

impl Stream for ShardStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.get_mut().poll_batch(context);
        next.map(|next| next.map(|batch| batch.map_err(ArrowError::from)))
    }
}

/// Rows of a piece: those whose bytes come to what is fetched at a time.
async fn piece_rows(plan: &RowPlan, rows: &Range<u64>) -> Result<u64> {
    let (format, metadata) = (&plan.format, &plan.format.metadata);
    if plan.filter.is_some() {
        return Ok(FILTERED_WINDOWS * WINDOW);
    }
    let piece = metadata.run(|bench| {
        let stripes = ready!(metadata.stripes(bench));
        let Some((ordinal, directory)) = stripe_of(stripes, rows.start) else {
            return Ok(Some(WINDOW));
        };
        let count = directory.total_record_count;
        let bytes = ready!(described_bytes(metadata, bench, ordinal, &format.columns));
        let fetch_bytes = metadata.artifacts.fetch_bytes();
        Ok(Some(rows_of_bytes(bytes, count, fetch_bytes)))
    });
    piece.await
}
