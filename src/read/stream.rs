//! A running scan as a stream.

use super::batches::{BatchReader, RowPlan};
use super::filter::{Filter, ScanMetrics};
use super::offset_limit::OffsetLimit;
use super::polled_reader::PolledReader;
use super::scan::opening::{described_bytes, stripe_of};
use super::scan::sizing::rows_of_bytes;
use super::scan::windows::Windows;
use super::shard::fetch::{FetchPolicy, Fetched, drive};
use super::shard::metadata::{WINDOW_ROWS, ready};
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

/// Turns of the loop in one poll; each turn skips a batch or begins a piece.
const TURNS: u32 = 4;

/// Windows per piece of a scan with a filter, which fetches the other columns only where rows match.
const FILTERED_WINDOWS: u64 = 16;

/// A running scan: a stream of batches, in order. Created by
/// [`ScanBuilder::build_stream`](super::ScanBuilder::build_stream).
///
/// Its errors are of the type `ArrowError`. [`Error::from`](crate::Error) turns such an error back into the original
/// error of this crate, with its kind and place.
#[derive(Debug)]
pub struct ShardStream {
    plan: RowPlan,
    pieces: Windows,
    cut: OffsetLimit,
    /// Pieces that are being fetched, in order.
    ahead: VecDeque<PrefetchedPiece>,
    /// Most pieces to fetch at a time, not counting the current one.
    prefetch: usize,
    /// Stripes with a fetched piece, so that the metadata of their fields are known.
    known_stripes: BTreeSet<u64>,
    /// The piece that is being read.
    current: PolledReader,
    is_over: bool,
}

/// A piece of the rows, and its stripe.
struct PrefetchedPiece {
    stripe: u64,
    state: Fetching,
}

enum Fetching {
    /// Waits until the first piece of the stripe has been fetched, because both need the same metadata.
    Waits(Range<u64>),
    Fetches(BoxFuture<'static, (BatchReader, Result<()>)>),
    Done(BatchReader, Result<()>),
}

impl fmt::Debug for PrefetchedPiece {
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
        cut: OffsetLimit,
        prefetch: usize,
    ) -> Result<Self> {
        plan.format.gives_way = true;
        let (metadata, batch) = (plan.format.metadata.clone(), plan.format.batch_size);
        // Reading a near file early gains nothing, and its pieces are smaller, so nothing is fetched ahead.
        let (later, current) = if metadata.artifacts.are_near() {
            (rows.end..rows.end, PolledReader::Idle(plan.read(rows)))
        } else {
            plan.format.shared = Some(Arc::default());
            (rows, PolledReader::Over)
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

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.plan.format.schema.clone()
    }

    /// Returns how much the filter or the selection of rows has let the scan skip so far; `None` if it has neither, and
    /// no deleted rows to skip.
    pub fn metrics(&self) -> Option<ScanMetrics> {
        let filter: &Arc<Filter> = self.plan.filter.as_ref()?;
        Some(filter.counters.metrics())
    }

    /// Returns the number of bytes that the scan has read from files and stores so far: columns, gaps that were read
    /// along with them, and metadata that no earlier scan of the shard had needed. Bytes read by opening the shard and
    /// by planning the scan do not count, nor does any byte of a shard in memory.
    pub fn bytes_read(&self) -> u64 {
        self.plan.format.bytes_read.load(Ordering::Relaxed)
    }

    /// Starts fetching until `prefetch` pieces are queued, and polls the fetches.
    fn fetch_ahead(&mut self, context: &mut Context<'_>) {
        while self.ahead.len() < self.prefetch
            && let Some(stripe) = self.pieces.next_stripe()
            && let Some(rows) = self.pieces.next()
        {
            let state = Fetching::Waits(rows);
            self.ahead.push_back(PrefetchedPiece { stripe, state });
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
                    if let Some(PrefetchedPiece {
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
        // Let other tasks run, too.
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

/// Returns the number of rows per piece: about as many as one fetch (`fetch_bytes`) holds.
async fn piece_rows(plan: &RowPlan, rows: &Range<u64>) -> Result<u64> {
    let (format, metadata) = (&plan.format, &plan.format.metadata);
    if plan.filter.is_some() {
        return Ok(FILTERED_WINDOWS * WINDOW_ROWS);
    }
    let artifacts = &metadata.artifacts;
    let fetch_bytes = artifacts.fetch_bytes();
    let fits_in_fetch = metadata.is_one_file() && artifacts.root_size() <= fetch_bytes;
    let (mut fetched, policy) = (Fetched::default(), FetchPolicy::for_sparse_rows());
    let piece = drive(artifacts, &mut fetched, policy, |step| {
        let stripes = ready!(metadata.stripes(step));
        let Some((ordinal, directory)) = stripe_of(stripes, rows.start) else {
            return Ok(Some(WINDOW_ROWS));
        };
        let count = directory.total_record_count;
        let bytes = match described_bytes(metadata, step, ordinal, &format.columns)? {
            Some(bytes) => bytes,
            // The reader fetches the descriptors along with other bytes.
            None if fits_in_fetch => 0,
            None => return Ok(None),
        };
        Ok(Some(rows_of_bytes(bytes, count, fetch_bytes)))
    });
    piece.await
}
