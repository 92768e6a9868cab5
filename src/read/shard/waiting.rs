//! Whether somebody waits for bytes that come later.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

thread_local! {
    /// Whether whoever runs on this thread waits for nothing.
    static IS_NOW: Cell<bool> = const { Cell::new(false) };
}

/// What a future gives that waits for nothing: readers that block answer at once.
///
/// # Errors
/// Those of the future, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) where it would ask
/// an asynchronous reader.
pub(crate) fn now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    /// Sets the flag back, after a panic too.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_NOW.set(self.0);
        }
    }
    let _before = Before(IS_NOW.replace(true));
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(cannot_wait()),
    }
}

/// Lets others run, where somebody waits.
pub(in crate::read) async fn give_way() {
    let mut have_run = IS_NOW.get();
    poll_fn(|context| match mem::replace(&mut have_run, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Refuses to ask a reader that answers later where nobody waits.
pub(super) fn check_may_wait() -> Result<()> {
    match IS_NOW.get() {
        true => Err(cannot_wait()),
        false => Ok(()),
    }
}

fn cannot_wait() -> Error {
    Error::invalid(
        "the bytes are behind an asynchronous reader, and this method waits for nothing; use the \
         asynchronous one",
    )
}
