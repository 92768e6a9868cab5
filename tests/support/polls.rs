//! Delays answers.

use std::future::poll_fn;
use std::task::Poll;

/// Waits for a number of polls.
pub(crate) async fn polls(mut left: usize) {
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
