//! Bytes that readers of adjacent rows need at the same time: if both have rows in a block, one of them fetches it.

use crate::buffer::StoredRange;
use crate::error::Result;
use crate::io::ByteRange;
use bytes::Bytes;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

/// Places that the readers of a scan fetch, or have fetched and still keep.
#[derive(Debug, Default)]
pub(in crate::read) struct SharedBytes(Mutex<Vec<Weak<Claimed>>>);

/// A place that one of the readers fetches.
#[derive(Debug)]
struct Claimed {
    place: StoredRange,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Being fetched; these tasks wait for it.
    Fetched(Vec<Waker>),
    Here(Bytes),
    /// The owner failed, was stopped, or no longer needs the bytes.
    Gone,
}

/// A place that only its owner fetches, as long as the claim lives.
#[derive(Debug)]
pub(super) struct RangeClaim(Arc<Claimed>);

/// A part of a place that another reader fetches.
#[derive(Debug)]
pub(super) struct Awaited {
    place: StoredRange,
    claimed: Arc<Claimed>,
}

impl SharedBytes {
    /// Claims the parts of places that no other reader fetches. Returns these claims, and the parts that other readers
    /// fetch.
    pub(super) fn claim(&self, places: &[StoredRange]) -> Result<(Vec<RangeClaim>, Vec<Awaited>)> {
        let mut all = lock(&self.0);
        all.retain(|claimed| claimed.strong_count() > 0);
        let (mut claims, mut others) = (Vec::new(), Vec::new());
        let known: Vec<Arc<Claimed>> = all.iter().filter_map(Weak::upgrade).collect();
        for place in places {
            let mut left = vec![*place];
            for claimed in known.iter().filter(|claimed| !claimed.is_gone()) {
                let mut rest = Vec::with_capacity(left.len());
                for part in left {
                    let Some(common) = common(part, claimed.place)? else {
                        rest.push(part);
                        continue;
                    };
                    rest.extend(without(part, common.range)?);
                    others.push(Awaited {
                        place: common,
                        claimed: claimed.clone(),
                    });
                }
                left = rest;
            }
            claims.extend(left.into_iter().map(|place| {
                let state = Mutex::new(State::Fetched(Vec::new()));
                RangeClaim(Arc::new(Claimed { place, state }))
            }));
        }
        all.extend(
            claims
                .iter()
                .map(|claim: &RangeClaim| Arc::downgrade(&claim.0)),
        );
        Ok((claims, others))
    }
}

impl Claimed {
    fn is_gone(&self) -> bool {
        matches!(*lock(&self.state), State::Gone)
    }

    /// Replaces the state, and wakes the tasks that wait.
    fn set(&self, state: State) {
        let before = std::mem::replace(&mut *lock(&self.state), state);
        if let State::Fetched(waiting) = before {
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

impl RangeClaim {
    pub(super) fn place(&self) -> StoredRange {
        self.0.place
    }

    /// Provides the bytes to readers that wait for them, or that ask while the claim lives.
    pub(super) fn fulfil(self, bytes: Bytes) -> Self {
        self.0.set(State::Here(bytes));
        self
    }
}

impl Drop for RangeClaim {
    fn drop(&mut self) {
        self.0.set(State::Gone);
    }
}

impl Awaited {
    pub(super) fn place(&self) -> StoredRange {
        self.place
    }

    /// Returns the bytes once they are there; `None` if the owner does not provide them.
    pub(super) async fn bytes(&self) -> Result<Option<Bytes>> {
        let found = poll_fn(|context| match &mut *lock(&self.claimed.state) {
            State::Fetched(waiting) => {
                waiting.retain(|waker| !waker.will_wake(context.waker()));
                waiting.push(context.waker().clone());
                Poll::Pending
            }
            State::Here(bytes) => Poll::Ready(Some(bytes.clone())),
            State::Gone => Poll::Ready(None),
        });
        let Some(bytes) = found.await else {
            return Ok(None);
        };
        let start = self.claimed.place.range.start();
        let StoredRange { range, .. } = self.place;
        let range = ByteRange::try_new(range.start() - start, range.end() - start)?;
        Ok(Some(
            bytes.slice(range.within_size(bytes.len() as u64)?.to_usize()?),
        ))
    }
}

/// Returns the intersection of two places.
fn common(a: StoredRange, b: StoredRange) -> Result<Option<StoredRange>> {
    let start = a.range.start().max(b.range.start());
    let end = a.range.end().min(b.range.end());
    if a.artifact != b.artifact || start >= end {
        return Ok(None);
    }
    let range = ByteRange::try_new(start, end)?;
    Ok(Some(StoredRange { range, ..a }))
}

/// Returns the rest of a place before and after a part of it.
fn without(place: StoredRange, part: ByteRange) -> Result<impl Iterator<Item = StoredRange>> {
    let before = ByteRange::try_new(place.range.start(), part.start())?;
    let behind = ByteRange::try_new(part.end(), place.range.end())?;
    let parts = [before, behind].into_iter();
    let parts = parts.filter(|range| !range.is_empty());
    Ok(parts.map(move |range| StoredRange { range, ..place }))
}

/// Locks the mutex. A poisoned lock is used as it is, because no code panics while it holds one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::requests::tests::place;
    use super::*;
    use std::pin::pin;
    use std::task::Context;

    fn places(claims: &[RangeClaim]) -> Vec<StoredRange> {
        claims.iter().map(RangeClaim::place).collect()
    }

    fn poll(awaited: &Awaited) -> Poll<Option<Bytes>> {
        let found = pin!(awaited.bytes()).poll(&mut Context::from_waker(Waker::noop()));
        found.map(Result::unwrap)
    }

    #[test]
    fn one_fetches_what_several_need() {
        let shared = SharedBytes::default();
        let (mut first, others) = shared.claim(&[place(1, 10, 20), place(1, 30, 40)]).unwrap();
        assert_eq!(places(&first), [place(1, 10, 20), place(1, 30, 40)]);
        assert!(others.is_empty());
        let (second, others) = shared.claim(&[place(1, 15, 35), place(2, 10, 20)]).unwrap();
        assert_eq!(places(&second), [place(1, 20, 30), place(2, 10, 20)]);
        let waits: Vec<StoredRange> = others.iter().map(Awaited::place).collect();
        assert_eq!(waits, [place(1, 15, 20), place(1, 30, 35)]);
        assert_eq!(poll(&others[0]), Poll::Pending);
        let last = first.pop().unwrap();
        let kept = first.remove(0).fulfil(Bytes::from_static(b"0123456789"));
        let bytes = Bytes::from_static(b"56789");
        assert_eq!(poll(&others[0]), Poll::Ready(Some(bytes)));
        // A dropped claim provides nothing; others then fetch the place.
        drop(last);
        assert_eq!(poll(&others[1]), Poll::Ready(None));
        drop(kept);
        let (third, others) = shared.claim(&[place(1, 10, 30)]).unwrap();
        assert_eq!(places(&third), [place(1, 10, 20)]);
        assert_eq!(others[0].place(), place(1, 20, 30));
    }
}
