//! Parts of a report that are computed concurrently if readers are asynchronous.

use crate::error::Result;
use crate::read::open_shard::Shard;
use crate::read::shard::metadata::ready;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Default number of columns of a stripe that are processed concurrently.
pub(super) const PREFETCH: usize = 8;

/// Approximate number of field list entries to fetch at once.
const AT_ONCE: usize = 1 << 15;

/// A future that has been polled, or its output.
enum Begun<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
}

impl<F: Future> Begun<F> {
    fn poll(&mut self, context: &mut Context<'_>) {
        if let Self::Running(future) = self
            && let Poll::Ready(output) = future.as_mut().poll(context)
        {
            *self = Self::Done(output);
        }
    }
}

/// Passes the outputs of all futures to `take`, in order. At most `most` futures run at a time, see [`in_order_until`].
pub(super) async fn in_order<F: Future>(
    futures: impl Iterator<Item = F>,
    most: usize,
    mut take: impl FnMut(F::Output),
) {
    let all = in_order_until(futures, most, |output| {
        take(output);
        ControlFlow::Continue(())
    });
    let _ = all.await;
}

/// Passes the outputs of the futures to `take`, in order, until one fails, or `take` does. At most `most` futures run
/// at a time, see [`in_order_until`].
pub(super) async fn try_in_order<T>(
    futures: impl Iterator<Item = impl Future<Output = Result<T>>>,
    most: usize,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut failed = Ok(());
    let all = in_order_until(futures, most, |output| match output.and_then(&mut take) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Err(error);
            ControlFlow::Break(())
        }
    });
    let _ = all.await;
    failed
}

/// Passes the outputs of the futures to `take`, in order, until it breaks. At most `most` futures, and at least one,
/// are started and not taken at a time. A future starts when all earlier ones wait, so futures that never wait run one
/// after the other.
pub(super) async fn in_order_until<F: Future>(
    futures: impl Iterator<Item = F>,
    most: usize,
    mut take: impl FnMut(F::Output) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut futures = futures.fuse();
    let mut begun: VecDeque<Begun<F>> = VecDeque::new();
    poll_fn(|context| {
        begun.iter_mut().for_each(|one| one.poll(context));
        loop {
            while let Some(first) = begun.pop_front() {
                match first {
                    Begun::Done(output) => {
                        if take(output).is_break() {
                            return Poll::Ready(ControlFlow::Break(()));
                        }
                    }
                    Begun::Running(_) => {
                        begun.push_front(first);
                        break;
                    }
                }
            }
            if begun.len() >= most.max(1) {
                return Poll::Pending;
            }
            match futures.next() {
                Some(future) => {
                    let mut next = Begun::Running(Box::pin(future));
                    next.poll(context);
                    begun.push_back(next);
                }
                None if begun.is_empty() => return Poll::Ready(ControlFlow::Continue(())),
                None => return Poll::Pending,
            }
        }
    })
    .await
}

/// Reads the field lists of the stripes in few rounds, and numbers their files in order, if a round takes long. Errors
/// are ignored here, because a later request for the list returns them again.
pub(super) async fn read_field_lists(shard: &Shard, fields: usize) {
    let metadata = &shard.metadata;
    if metadata.artifacts.are_near() {
        return;
    }
    let at_once = (AT_ONCE / fields.max(1)).max(1);
    let stripes = shard.num_stripes();
    for first in (0..stripes).step_by(at_once) {
        let last = first.saturating_add(at_once as u64).min(stripes);
        let read = metadata.run(|step| {
            ready!(metadata.stripes(step));
            let lists = (first..last).map(|stripe| metadata.field_list(step, stripe));
            let lacking = lists.filter(|list| matches!(list, Ok(None))).count();
            Ok((lacking == 0).then_some(()))
        });
        drop(read.await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::pin::pin;
    use std::task::Waker;

    /// Polls a future until it is done. Returns its output and the number of polls.
    fn run<T>(future: impl Future<Output = T>) -> (T, u32) {
        let mut future = pin!(future);
        for polls in 1.. {
            let polled = future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(output) = polled {
                return (output, polls);
            }
        }
        unreachable!()
    }

    /// A future that is ready after some polls.
    async fn after(mut polls: usize) {
        poll_fn(|_| match polls {
            0 => Poll::Ready(()),
            _ => {
                polls -= 1;
                Poll::Pending
            }
        })
        .await;
    }

    #[test]
    fn what_futures_give_is_taken_in_order_and_few_run_at_a_time() {
        for most in [0, 1, 3, 100] {
            let (running, most_running) = (Cell::new(0), Cell::new(0));
            let taken = RefCell::new(Vec::new());
            let futures = (0..20usize).map(|i| {
                let (running, most_running) = (&running, &most_running);
                async move {
                    running.set(running.get() + 1);
                    most_running.set(most_running.get().max(running.get()));
                    after(i * 7 % 5).await;
                    running.set(running.get() - 1);
                    i
                }
            });
            let (flow, _) = run(in_order_until(futures, most, |i| {
                taken.borrow_mut().push(i);
                match i {
                    15 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            }));
            assert_eq!(flow, ControlFlow::Break(()));
            assert_eq!(taken.into_inner(), (0..=15).collect::<Vec<_>>());
            assert!(most_running.get() <= most.max(1));
            assert_eq!(most_running.get() > 1, most > 1);
        }
    }

    #[test]
    fn futures_that_wait_for_nothing_run_one_after_the_other() {
        let (begun, taken) = (Cell::new(0), Cell::new(0));
        let futures = (0..20).map(|_| {
            let begun = &begun;
            async move { begun.set(begun.get() + 1) }
        });
        let ((), polls) = run(in_order(futures, 8, |()| {
            taken.set(taken.get() + 1);
            assert_eq!(begun.get(), taken.get());
        }));
        assert_eq!((taken.get(), polls), (20, 1));
    }
}
