//! Threads that work on the parts of a whole. The results keep the order of the parts.

use crate::failure::Failure;
use arrow_array::RecordBatch;
use std::collections::VecDeque;
use std::iter;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Maximum number of threads unless the user names one: each holds parts of a file in memory.
const USUAL_THREADS: usize = 4;

/// Returns the number of threads if the user does not name one.
pub(crate) fn usual_threads() -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    processors.min(USUAL_THREADS)
}

/// The results of parts, in the order of the parts.
pub(crate) type Results<U> = Box<dyn Iterator<Item = Result<U, Failure>>>;

/// The parts of a whole, which threads take one after the other.
struct Parts<I, U> {
    parts: I,
    /// Gets a receiver for the result of each part.
    results: SyncSender<Receiver<Result<U, Failure>>>,
    has_failed: bool,
}

/// Applies `work` to parts of a whole in `threads` threads. Ends after the first error. The threads end when the
/// results are dropped, and at most two parts for each of them wait to be received.
pub(crate) fn in_order<T: 'static, U: Send + 'static>(
    parts: impl Iterator<Item = Result<T, Failure>> + Send + 'static,
    threads: usize,
    work: impl Fn(T) -> Result<U, Failure> + Send + Sync + 'static,
) -> Results<U> {
    if threads <= 1 {
        return until_error(parts.map(move |part| work(part?)));
    }
    let (results, ordered) = sync_channel(2 * threads);
    let shared = Arc::new(Mutex::new(Parts {
        parts,
        results,
        has_failed: false,
    }));
    let work = Arc::new(work);
    let mut started = 0;
    for _ in 0..threads {
        let (shared, work) = (shared.clone(), work.clone());
        let thread = thread::Builder::new().spawn(move || {
            while let Some((part, result)) = next(&shared) {
                // The receiver is gone if the results are not needed any more.
                let _sent = result.send(part.and_then(|part| work(part)));
            }
        });
        // With fewer threads than asked for, the others take more parts.
        started += usize::from(thread.is_ok());
    }
    if started == 0 {
        return until_error(iter::from_fn(move || {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.parts.next().map(|part| work(part?))
        }));
    }
    drop(shared);
    until_error(ordered.into_iter().map(|result| received(result.recv())))
}

fn received<U>(result: Result<Result<U, Failure>, RecvError>) -> Result<U, Failure> {
    result.unwrap_or_else(|_| Err(Failure::new("a thread has ended without a result")))
}

fn next<T, U>(
    shared: &Mutex<Parts<impl Iterator<Item = Result<T, Failure>>, U>>,
) -> Option<Handed<Result<T, Failure>, U>> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.has_failed {
        return None;
    }
    let part = shared.parts.next()?;
    shared.has_failed = part.is_err();
    let (sender, receiver) = sync_channel(1);
    if shared.results.send(receiver).is_err() {
        shared.has_failed = true;
        return None;
    }
    Some((part, sender))
}

/// Ends after the first error.
fn until_error<U: 'static>(
    results: impl Iterator<Item = Result<U, Failure>> + 'static,
) -> Results<U> {
    let mut results = Some(results);
    Box::new(iter::from_fn(move || {
        let next = results.as_mut()?.next();
        if !matches!(next, Some(Ok(_))) {
            results = None;
        }
        next
    }))
}

/// Returns batches that come in groups.
pub(crate) fn flattened(groups: Results<Vec<RecordBatch>>) -> Results<RecordBatch> {
    Box::new(groups.flat_map(|group| match group {
        Ok(batches) => batches.into_iter().map(Ok).collect(),
        Err(failure) => vec![Err(failure)],
    }))
}

/// A part, and where its result goes.
type Handed<T, U> = (T, SyncSender<Result<U, Failure>>);

type Work<T, U> = dyn Fn(T) -> Result<U, Failure> + Send + Sync;

/// Threads that work on parts as they are handed over.
pub(crate) struct Ahead<T, U> {
    work: Arc<Work<T, U>>,
    /// The parts and where their results go; `None` if the parts are worked on where they are handed over.
    parts: Option<SyncSender<Handed<T, U>>>,
    results: VecDeque<Receiver<Result<U, Failure>>>,
    threads: usize,
}

impl<T: Send + 'static, U: Send + 'static> Ahead<T, U> {
    /// Starts `threads` threads, or none if there would be only one.
    pub(crate) fn start(
        threads: usize,
        work: impl Fn(T) -> Result<U, Failure> + Send + Sync + 'static,
    ) -> Self {
        let work: Arc<Work<T, U>> = Arc::new(work);
        let (sender, receiver) = sync_channel::<Handed<T, U>>(threads);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut started = 0;
        for _ in 0..if threads > 1 { threads } else { 0 } {
            let (work, receiver) = (work.clone(), receiver.clone());
            let thread = thread::Builder::new().spawn(move || {
                let next = || {
                    let parts = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                    parts.recv()
                };
                while let Ok((part, result)) = next() {
                    let _sent = result.send(work(part));
                }
            });
            started += usize::from(thread.is_ok());
        }
        Self {
            work,
            parts: (started > 0).then_some(sender),
            results: VecDeque::new(),
            threads,
        }
    }

    /// Hands over a part. Returns the result of an earlier part, or of this one, if it is time to use it.
    pub(crate) fn push(&mut self, part: T) -> Option<Result<U, Failure>> {
        let Some(parts) = &self.parts else {
            return Some((self.work)(part));
        };
        let (sender, receiver) = sync_channel(1);
        self.results.push_back(receiver);
        // If all threads have ended, the result is missed.
        let _handed_over = parts.send((part, sender));
        if self.results.len() > self.threads {
            self.pop()
        } else {
            None
        }
    }

    /// Waits for the next result in the order of the parts. Returns `None` after the last one.
    pub(crate) fn pop(&mut self) -> Option<Result<U, Failure>> {
        let result = self.results.pop_front()?;
        Some(received(result.recv()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn results_are_in_the_order_of_the_parts() {
        for threads in [1, 2, 5] {
            let parts = (0..100_u64).map(Ok);
            let squares = in_order(parts, threads, |n| {
                thread::sleep(Duration::from_micros(n % 7 * 100));
                Ok(n * n)
            });
            let squares: Vec<u64> = squares.map(Result::unwrap).collect();
            assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_is_the_last_result() {
        for threads in [1, 3] {
            let parts = (0..50).map(|n| match n {
                20 => Err(Failure::new("a part is damaged")),
                n => Ok(n),
            });
            let found: Vec<_> = in_order(parts, threads, Ok).collect();
            assert_eq!(found.len(), 21);
            assert!(matches!(found.last(), Some(Err(Failure::Error(why))) if why.contains("part")));
            let panics = in_order((0..50).map(Ok), 3, |n| match n {
                7 => panic!("seven"),
                n => Ok(n),
            });
            let found: Vec<_> = panics.collect();
            assert_eq!(found.len(), 8);
            assert!(
                matches!(found.last(), Some(Err(Failure::Error(why))) if why.contains("without"))
            );
        }
    }

    #[test]
    fn results_of_parts_that_are_handed_over_keep_their_order() {
        for threads in [1, 2, 5] {
            let mut ahead = Ahead::start(threads, |n: u64| {
                thread::sleep(Duration::from_micros(n % 7 * 100));
                if n == 70 {
                    return Err(Failure::new("seventy"));
                }
                Ok(n)
            });
            let mut found = Vec::new();
            for n in 0..100 {
                found.extend(ahead.push(n));
            }
            found.extend(iter::from_fn(|| ahead.pop()));
            let found: Vec<Option<u64>> = found.into_iter().map(Result::ok).collect();
            let want = (0..100).map(|n| (n != 70).then_some(n));
            assert_eq!(found, want.collect::<Vec<_>>());
        }
    }

    #[test]
    fn threads_end_with_the_results() {
        let taken = Arc::new(AtomicU64::new(0));
        let count = taken.clone();
        let parts = iter::repeat_with(move || Ok(count.fetch_add(1, Ordering::Relaxed)));
        let mut results = in_order(parts, 2, Ok);
        assert_eq!(results.next().unwrap().unwrap(), 0);
        drop(results);
        thread::sleep(Duration::from_millis(50));
        let now = taken.load(Ordering::Relaxed);
        assert!(now < 20, "{now}");
        thread::sleep(Duration::from_millis(50));
        assert_eq!(taken.load(Ordering::Relaxed), now);
    }
}
