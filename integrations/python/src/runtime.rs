//! The threads for requests to stores, and functions that wait for their answers.

use crate::signals::{HEARING, hear};
use arrow_shard::{Error, ErrorKind, Result};
use std::mem::forget;
use std::pin::pin;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::runtime::{Builder, Runtime};

/// A value that each process makes for itself: a forked process can use neither the threads nor the connections of its
/// parent.
pub(crate) struct PerProcess<T>(Mutex<Option<(u32, Arc<T>)>>);

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns the value of this process, after making it if this is the first call.
    pub(crate) fn get(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = process::id();
        match known.take() {
            Some((process, value)) if process == own => {
                return Ok(known.insert((own, value)).1.clone());
            }
            // Dropping the value of the parent would wait for threads that do not exist in this process.
            other => forget(other),
        }
        Ok(known.insert((own, Arc::new(make()?))).1.clone())
    }
}

/// Returns the runtime of this process.
fn runtime() -> Result<Arc<Runtime>> {
    static RUNTIME: PerProcess<Runtime> = PerProcess::new();
    RUNTIME.get(|| {
        Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("arrow-shard")
            .enable_all()
            .build()
            .map_err(|e| {
                let message = "threads for requests cannot be started";
                Error::new(ErrorKind::Io, message).caused_by(e)
            })
    })
}

/// Returns a handle of the runtime.
#[cfg(feature = "datafusion")]
pub(crate) fn handle() -> Result<tokio::runtime::Handle> {
    Ok(runtime()?.handle().clone())
}

/// Waits for the answer of a future that may read a store. If the shard is local, the future never waits for a request,
/// so it is polled until it is ready, with a check for signals after each poll.
pub(crate) fn wait<T>(is_near: bool, answer: impl Future<Output = Result<T>>) -> Result<T> {
    if is_near {
        poll(answer, hear)
    } else {
        wait_for_store(answer)
    }
}

/// Polls a future until it is ready, with a check after each poll.
fn poll<T>(answer: impl Future<Output = Result<T>>, check: impl Fn() -> Result<()>) -> Result<T> {
    let mut answer = pin!(answer);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        check()?;
    }
}

/// Waits for the answer of a store, but stops early if a signal handler raises an exception.
pub(crate) fn wait_for_store<T>(answer: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(async {
        let mut answer = Box::pin(answer);
        loop {
            match tokio::time::timeout(HEARING, &mut answer).await {
                Ok(answer) => return answer,
                Err(_) => hear()?,
            }
        }
    })
}

/// Returns the number of threads of a scan or a writer: `asked`, or one per core. If this process was forked from one
/// that has used several threads, returns 1, because it does not have the threads of the parent's pool.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    static FIRST: Mutex<Option<u32>> = Mutex::new(None);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = asked.unwrap_or_else(cores).max(1);
    if threads == 1 {
        return 1;
    }
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if *first.get_or_insert_with(process::id) == process::id() {
        threads
    } else {
        1
    }
}

/// Waits for an answer to the end, and ignores signals. Local files answer at once, and need no runtime.
pub(crate) fn wait_to_the_end<T>(
    is_near: bool,
    answer: impl Future<Output = Result<T>>,
) -> Result<T> {
    if is_near {
        poll(answer, || Ok(()))
    } else {
        runtime()?.block_on(answer)
    }
}
