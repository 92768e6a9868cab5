//! Whether somebody waits for bytes that come later.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

thread_local! {
    /// The method that waits in place of the one that runs on this thread, if that waits for nothing.
    static INSTEAD: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// What errors advise to use where they do not know the name of the method.
const ITS_TWIN: &str = "the asynchronous one";

/// What a future gives that waits for nothing: readers that block answer at once.
///
/// # Errors
/// Those of the future, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) where it would ask
/// an asynchronous reader.
pub(crate) fn now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    now_or(ITS_TWIN, future)
}

/// As [`now`], in a method whose users may use the method `instead`, which waits.
///
/// # Errors
/// Those of [`now`].
pub(crate) fn now_or<T>(
    instead: &'static str,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    /// Sets the name back, after a panic too.
    struct Before(Option<&'static str>);
    impl Drop for Before {
        fn drop(&mut self) {
            INSTEAD.set(self.0);
        }
    }
    // The outermost method is the one that was called.
    let before = Before(INSTEAD.get());
    INSTEAD.set(before.0.or(Some(instead)));
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(cannot_wait(instead)),
    }
}

/// Lets others run, where somebody waits.
pub(in crate::read) async fn give_way() {
    let mut have_run = INSTEAD.get().is_some();
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
