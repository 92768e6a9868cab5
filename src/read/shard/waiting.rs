//! Whether the running method may wait for bytes that arrive later.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

thread_local! {
    /// The asynchronous method to recommend in errors, while a blocking method runs on this thread.
    static INSTEAD: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The recommendation if the name of the asynchronous method is not known.
const ITS_TWIN: &str = "the asynchronous one";

/// Runs a future to its end without waiting; blocking readers answer at once.
///
/// # Errors
/// Returns the errors of the future, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if it would ask an
/// asynchronous reader.
pub(crate) fn ready_now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    ready_now_or(ITS_TWIN, future)
}

/// Runs a future to its end without waiting. Errors recommend the method `instead`, which waits.
///
/// # Errors
/// Returns the same errors as [`ready_now`].
pub(crate) fn ready_now_or<T>(
    instead: &'static str,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    /// Restores the name, after a panic too.
    struct Before(Option<&'static str>);
    impl Drop for Before {
        fn drop(&mut self) {
            INSTEAD.set(self.0);
        }
    }
    // Recommend the twin of the outermost method, because that is the one that the user called.
    let before = Before(INSTEAD.get());
    INSTEAD.set(before.0.or(Some(instead)));
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(cannot_wait(instead)),
    }
}

/// Yields to other tasks once, unless a blocking method runs.
pub(in crate::read) async fn give_way() {
    let mut have_run = INSTEAD.get().is_some();
    poll_fn(|context| {
        if mem::replace(&mut have_run, true) {
            Poll::Ready(())
        } else {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Fails if a blocking method runs, because it cannot wait for an asynchronous reader.
pub(super) fn check_may_wait() -> Result<()> {
    match INSTEAD.get() {
        Some(instead) => Err(cannot_wait(instead)),
        None => Ok(()),
    }
}

fn cannot_wait(instead: &str) -> Error {
    Error::invalid(format!(
        "the shard is behind an asynchronous reader, and this method does not wait for bytes; use \
         {instead}"
    ))
}
