//! Opening and scanning without I/O: a decoder names the bytes that it needs, and the caller supplies them.

use super::batches::BatchReader;
use super::offset_limit::OffsetLimit;
use super::open_shard::Shard;
use super::polled_reader::PolledReader;
use super::scan_builder::ScanBuilder;
use super::shard::options::ShardOptions;
use crate::error::{Error, Result};
use crate::io::{AsyncContainer, AsyncReadAt, BoxFuture, ByteRange, ExternalFiles, RelativeUrl};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use hashbrown::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::ThreadId;

/// The result of a step of a decoder.
#[derive(Debug)]
pub enum Step<T> {
    /// The decoder continues when all of these bytes have been supplied. A step that is tried before that does not list
    /// them again.
    Needs(Vec<Request>),
    /// The step is done.
    Ready(T),
}

/// A range of bytes that a decoder needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    id: u64,
    file: Option<RelativeUrl>,
    range: ByteRange,
}

impl Request {
    /// Returns the file of a stripe, as the directory file refers to it; `None` for the directory file.
    pub fn file(&self) -> Option<&RelativeUrl> {
        self.file.as_ref()
    }

    /// Returns the place of the bytes in the file.
    pub fn range(&self) -> ByteRange {
        self.range
    }
}

/// Requests of the decoders of a shard, and the supplied bytes.
#[derive(Debug, Default)]
struct Mailbox {
    /// Held by the decoder that is being polled, so that the requests made meanwhile are its own.
    turn: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The thread that is polling; only it may make requests.
    turn: Option<ThreadId>,
    /// Requests made by the current poll.
    made: Vec<u64>,
    /// Requests that a future is waiting for.
    waiting: HashMap<u64, Request>,
    answers: HashMap<u64, Bytes>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No operation leaves it half changed, so another thread's panic does no harm.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailbox {
    /// Polls once. Returns the output, or the requests that the poll made.
    fn take_turn<T>(&self, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Step<T> {
        let _turn = lock(&self.turn);
        lock(&self.state).turn = Some(std::thread::current().id());
        let polled = poll(&mut Context::from_waker(Waker::noop()));
        let mut state = lock(&self.state);
        state.turn = None;
        let made = std::mem::take(&mut state.made);
        match polled {
            Poll::Ready(ready) => Step::Ready(ready),
            Poll::Pending => {
                let made = made.iter().filter_map(|id| state.waiting.get(id));
                Step::Needs(made.cloned().collect())
            }
        }
    }

    fn supply(&self, request: &Request, bytes: Bytes) -> Result<()> {
        if bytes.len() as u64 != request.range.len() {
            return Err(Error::invalid(format!(
                "bytes {} were asked for, and {} bytes supplied",
                request.range,
                bytes.len()
            )));
        }
        let mut state = lock(&self.state);
        match state.waiting.get(&request.id) {
            // The future that asked was dropped.
            None => Ok(()),
            Some(waiting) if waiting == request => {
                state.answers.insert(request.id, bytes);
                Ok(())
            }
            Some(_) => Err(Error::invalid(
                "the request is of a decoder of another shard",
            )),
        }
    }

    /// Requests ranges of a file, and waits for their bytes.
    async fn ask(&self, file: Option<&RelativeUrl>, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let asked = {
            let mut state = lock(&self.state);
            if state.turn != Some(std::thread::current().id()) {
                return Err(Error::invalid(
                    "the bytes of this shard are brought to decoders; scan it by `ShardDecoder::scan`",
                ));
            }
            let first = state.next;
            state.next += ranges.len() as u64;
            for (id, range) in (first..).zip(ranges) {
                let file = file.cloned();
                let range = *range;
                state.waiting.insert(id, Request { id, file, range });
                state.made.push(id);
            }
            Asked {
                mailbox: self,
                ids: first..first + ranges.len() as u64,
            }
        };
        poll_fn(|_| {
            let mut state = lock(&self.state);
            let mut ids = asked.ids.clone();
            if !ids.all(|id| state.answers.contains_key(&id)) {
                return Poll::Pending;
            }
            let answers = asked.ids.clone();
            let answers = answers.filter_map(|id| state.answers.remove(&id));
            Poll::Ready(Ok(answers.collect()))
        })
        .await
    }
}

/// Requests that a future is waiting for; dropping this withdraws them.
struct Asked<'a> {
    mailbox: &'a Mailbox,
    ids: Range<u64>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.mailbox.state);
        for id in self.ids.clone() {
            state.waiting.remove(&id);
            state.answers.remove(&id);
        }
    }
}

/// A file that asks the caller for its bytes.
#[derive(Debug)]
struct Supplied {
    mailbox: Arc<Mailbox>,
    file: Option<RelativeUrl>,
    size: Option<u64>,
}

impl AsyncReadAt for Supplied {
    fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>> {
        Box::pin(async move {
            let size = self.size.unwrap_or_default();
            let range = ByteRange::try_new(size.saturating_sub(len), size)?;
            let tail = self.mailbox.ask(self.file.as_ref(), &[range]).await?;
            Ok((tail.into_iter().next().unwrap_or_default(), size))
        })
    }

    fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        Box::pin(async move { self.mailbox.ask(self.file.as_ref(), &ranges).await })
    }

    fn known_size(&self) -> Option<u64> {
        self.size
    }
}

/// The files of a shard, all of them supplied by the caller.
#[derive(Debug)]
struct SuppliedFiles(Arc<Mailbox>);

impl AsyncContainer for SuppliedFiles {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>> {
        Ok(Arc::new(Supplied {
            mailbox: self.0.clone(),
            file: Some(url.clone()),
            size: None,
        }))
    }
}

/// Opens a shard without I/O.
///
/// ```
/// # use arrow_shard::{Shard, write::ShardWriter};
/// # use arrow_array::{ArrayRef, Int32Array, RecordBatch};
/// # use std::sync::Arc;
/// use arrow_shard::read::{ShardDecoder, ShardOptions, Step};
/// # let ids = Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
/// # let batch = RecordBatch::try_from_iter([("id", ids)])?;
/// # let mut file = Vec::new();
/// # let mut writer = ShardWriter::try_new(&mut file, batch.schema(), Default::default())?;
/// # writer.write(&batch)?;
/// # writer.finish()?;
/// # let file = bytes::Bytes::from(file);
///
/// let mut decoder = ShardDecoder::new(file.len() as u64, ShardOptions::default());
/// let shard = loop {
///     match decoder.open()? {
///         Step::Ready(shard) => break shard,
///         Step::Needs(requests) => {
///             for request in requests {
///                 // Wherever they come from.
///                 let bytes = file.slice(request.range().to_usize()?);
///                 decoder.supply(&request, bytes)?;
///             }
///         }
///     }
/// };
/// let mut scan = decoder.scan(shard.scan().with_projection(["id"]))?;
/// let mut rows = 0;
/// loop {
///     match scan.next_batch()? {
///         Step::Ready(Some(batch)) => rows += batch.num_rows(),
///         Step::Ready(None) => break,
///         Step::Needs(requests) => {
///             for request in requests {
///                 scan.supply(&request, file.slice(request.range().to_usize()?))?;
///             }
///         }
///     }
/// }
/// assert_eq!(rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ShardDecoder {
    mailbox: Arc<Mailbox>,
    opening: Option<BoxFuture<'static, Result<Shard>>>,
    shard: Option<Shard>,
}

impl fmt::Debug for ShardDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardDecoder")
            .field("shard", &self.shard)
            .finish_non_exhaustive()
    }
}

impl ShardDecoder {
    /// Creates a decoder for a shard with a directory file of `size` bytes. Files outside of the shard's folder are not
    /// read, whatever the options allow.
    pub fn new(size: u64, options: ShardOptions) -> Self {
        let options = options.with_external_files(ExternalFiles::default());
        let mailbox = Arc::new(Mailbox::default());
        let root = Supplied {
            mailbox: mailbox.clone(),
            file: None,
            size: Some(size),
        };
        let files = Arc::new(SuppliedFiles(mailbox.clone()));
        Self {
            mailbox,
            opening: Some(Box::pin(Shard::from_async_reader(
                Arc::new(root),
                files,
                options,
            ))),
            shard: None,
        }
    }

    /// Opens the shard, as far as the supplied bytes allow. Blocking methods of the shard fail if they need bytes.
    ///
    /// # Errors
    /// Returns the same errors as [`Shard::from_async_reader`].
    pub fn open(&mut self) -> Result<Step<Shard>> {
        if let Some(shard) = &self.shard {
            return Ok(Step::Ready(shard.clone()));
        }
        let Some(mut opening) = self.opening.take() else {
            return Err(Error::invalid("the shard could not be opened"));
        };
        let polled = self
            .mailbox
            .take_turn(|context| opening.as_mut().poll(context));
        Ok(match polled {
            Step::Needs(requests) => {
                self.opening = Some(opening);
                Step::Needs(requests)
            }
            Step::Ready(opened) => Step::Ready(self.shard.insert(opened?).clone()),
        })
    }

    /// Supplies bytes that a step needs.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a wrong number of bytes, or a request of another
    /// shard's decoder.
    pub fn supply(&self, request: &Request, bytes: Bytes) -> Result<()> {
        self.mailbox.supply(request, bytes)
    }

    /// Creates a decoder for a scan of the shard.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a scan of another shard.
    pub fn scan(&self, scan: ScanBuilder) -> Result<ScanDecoder> {
        let shard = self.shard.as_ref();
        if !shard.is_some_and(|shard| scan.is_of(&shard.metadata)) {
            return Err(Error::invalid(
                "the scan is not of the shard that was opened here",
            ));
        }
        Ok(ScanDecoder {
            mailbox: self.mailbox.clone(),
            schema: None,
            state: ScanState::Planning(Box::pin(scan.planned(false))),
        })
    }
}

/// A scan without I/O: returns a batch as soon as its bytes have been supplied. Created by [`ShardDecoder::scan`]. The
/// decoders of one shard take turns; to decode on several threads, open the shard several times.
pub struct ScanDecoder {
    mailbox: Arc<Mailbox>,
    schema: Option<SchemaRef>,
    state: ScanState,
}

/// The batches of a scan, its offset and limit, and the schema.
type PlannedBatches = (BatchReader, OffsetLimit, SchemaRef);

enum ScanState {
    Planning(BoxFuture<'static, Result<PlannedBatches>>),
    Reading(PolledReader, OffsetLimit),
    Over,
}

impl fmt::Debug for ScanDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            ScanState::Planning(_) => "planning",
            ScanState::Reading(..) => "reading",
            ScanState::Over => "over",
        };
        f.debug_struct("ScanDecoder")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

impl ScanDecoder {
    /// Returns the next batch, or `None` after the last, as far as the supplied bytes allow. Rows that have been tested
    /// or decoded are kept between calls.
    ///
    /// # Errors
    /// Returns the errors of [`ScanBuilder::build`], and then those in the data; nothing follows an error.
    pub fn next_batch(&mut self) -> Result<Step<Option<RecordBatch>>> {
        loop {
            let state = std::mem::replace(&mut self.state, ScanState::Over);
            match state {
                ScanState::Planning(mut planning) => {
                    match self
                        .mailbox
                        .take_turn(|context| planning.as_mut().poll(context))
                    {
                        Step::Needs(requests) => {
                            self.state = ScanState::Planning(planning);
                            return Ok(Step::Needs(requests));
                        }
                        Step::Ready(planned) => {
                            let (reader, cut, schema) = planned?;
                            self.schema = Some(schema);
                            self.state = ScanState::Reading(PolledReader::Idle(reader), cut);
                        }
                    }
                }
                ScanState::Reading(_, cut) if cut.is_over() => return Ok(Step::Ready(None)),
                ScanState::Reading(mut reader, mut cut) => {
                    let next = match self.mailbox.take_turn(|context| reader.poll(context)) {
                        Step::Needs(requests) => {
                            self.state = ScanState::Reading(reader, cut);
                            return Ok(Step::Needs(requests));
                        }
                        Step::Ready(next) => next.transpose()?,
                    };
                    let Some(batch) = next else {
                        return Ok(Step::Ready(None));
                    };
                    let batch = cut.apply(batch);
                    self.state = ScanState::Reading(reader, cut);
                    if batch.is_some() {
                        return Ok(Step::Ready(batch));
                    }
                }
                ScanState::Over => return Ok(Step::Ready(None)),
            }
        }
    }

    /// Returns the schema of the batches once the scan is planned, which it is when the first step is ready.
    pub fn schema(&self) -> Option<&SchemaRef> {
        self.schema.as_ref()
    }

    /// Supplies bytes that a step needs.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a wrong number of bytes, or a request of another
    /// shard's decoder.
    pub fn supply(&self, request: &Request, bytes: Bytes) -> Result<()> {
        self.mailbox.supply(request, bytes)
    }
}
