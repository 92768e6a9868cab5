//! The bytes that a step of reading needs, and the bytes that have been fetched for it.
//!
//! A step does no I/O. It looks up bytes in [`StepBytes`], which note the missing ones; the driver fetches those and
//! tries the step again. Parsed elements are kept, so trying again costs almost nothing.
//!
//! The steps of a scan need bytes in rounds: stripe list; field list; field descriptors; block maps and dictionaries;
//! then data, one window of rows after the other, with one more round for every level of lists.

use super::artifacts::Artifacts;
pub(in crate::read) use super::fetch_policy::{FetchPolicy, Span};
use super::requests::{MAX_REQUEST, coalesce, cut, part_bytes, sparse_gap, total_bytes};
use super::shared_bytes::{RangeClaim, SharedBytes};
use crate::buffer::{ByteSource, StoredRange};
use crate::error::{Error, Result, Within, to_usize};
use crate::format::{DataRef, open};
use crate::io::ByteRange;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Most bytes to fetch at a guess: in 30 ms, the latency of a round, a request transfers several times as many.
pub(in crate::read) const MAX_GUESSED: u64 = 256 << 10;

/// Bytes of artifacts, by artifact and position.
#[derive(Debug, Default)]
pub(in crate::read) struct Fetched {
    pieces: BTreeMap<(u32, u64), FetchedPiece>,
    /// The bytes that readers of other rows fetch.
    shared: Option<Arc<SharedBytes>>,
    /// Claims on kept bytes, which other readers then need not fetch.
    claims: Vec<RangeClaim>,
    /// Counter of the bytes that are read.
    bytes_read: Option<Arc<AtomicU64>>,
}

#[derive(Debug)]
struct FetchedPiece {
    bytes: Bytes,
    /// Whether the piece has been used since [`Fetched::retire`].
    is_used: AtomicBool,
}

impl Fetched {
    /// Does not fetch bytes that readers of other rows fetch at the same time.
    pub(in crate::read) fn share(mut self, shared: Option<&Arc<SharedBytes>>) -> Self {
        self.shared = shared.cloned();
        self
    }

    /// Adds the number of bytes that it reads to `bytes_read`.
    pub(in crate::read) fn count(mut self, bytes_read: &Arc<AtomicU64>) -> Self {
        self.bytes_read = Some(bytes_read.clone());
        self
    }

    /// Adds the bytes of a place.
    fn insert(&mut self, place: StoredRange, bytes: Bytes) {
        let is_used = AtomicBool::new(true);
        let StoredRange { artifact, range } = place;
        let key = (artifact, range.start());
        // `piece_at` looks for the last piece that begins before a position; a piece inside of this one would hide it.
        let begin_inside = self.pieces.range(key..(artifact, range.end()));
        let inside: Vec<_> = begin_inside
            .filter(|((_, start), p)| start + p.bytes.len() as u64 <= range.end())
            .map(|(key, _)| *key)
            .collect();
        for key in inside {
            self.pieces.remove(&key);
        }
        self.pieces.insert(key, FetchedPiece { bytes, is_used });
    }

    /// Also keeps the pieces of another, so that they are not fetched again. Pieces that are not used until
    /// [`drop_unused`](Self::drop_unused) are dropped then.
    pub(in crate::read) fn adopt(&mut self, other: &Self) -> Result<()> {
        for (&(artifact, start), piece) in &other.pieces {
            let end = start.saturating_add(piece.bytes.len() as u64);
            let range = ByteRange::try_new(start, end)?;
            let place = StoredRange { artifact, range };
            if !self.lacking(place)?.is_empty() {
                self.insert(place, piece.bytes.clone());
                if let Some(piece) = self.pieces.get(&(artifact, start)) {
                    piece.is_used.store(false, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    /// Returns the number of kept bytes.
    pub(in crate::read) fn bytes(&self) -> u64 {
        self.pieces.values().map(|p| p.bytes.len() as u64).sum()
    }

    /// Drops all bytes.
    pub(in crate::read) fn clear(&mut self) {
        self.pieces.clear();
        self.claims.clear();
    }

    /// Starts with other rows: pieces that are not used until [`drop_unused`](Self::drop_unused) are dropped then.
    pub(in crate::read) fn retire(&mut self) {
        self.pieces
            .values()
            .for_each(|p| p.is_used.store(false, Ordering::Relaxed));
    }

    /// Drops the pieces that have not been used.
    pub(in crate::read) fn drop_unused(&mut self) {
        self.pieces
            .retain(|_, piece| piece.is_used.load(Ordering::Relaxed));
        let mut claims = std::mem::take(&mut self.claims);
        claims.retain(|claim| self.lacking(claim.place()).is_ok_and(|l| l.is_empty()));
        self.claims = claims;
    }

    /// Reads missing places. Waits for those that other readers fetch.
    async fn read(&mut self, artifacts: &Artifacts, mut places: Vec<StoredRange>) -> Result<()> {
        if let Some(shared) = self.shared.clone() {
            let (claims, others) = shared.claim(&places)?;
            let own: Vec<StoredRange> = claims.iter().map(RangeClaim::place).collect();
            let read = self.read_own(artifacts, &own).await?;
            for (claim, bytes) in claims.into_iter().zip(read) {
                self.insert(claim.place(), bytes.clone());
                self.claims.push(claim.fulfil(bytes));
            }
            // The others did not provide these places, because they failed or were stopped.
            places = Vec::new();
            for awaited in others {
                match awaited.bytes().await? {
                    Some(bytes) => self.insert(awaited.place(), bytes),
                    None => places.push(awaited.place()),
                }
            }
        }
        if !places.is_empty() {
            let read = self.read_own(artifacts, &places).await?;
            for (place, bytes) in places.into_iter().zip(read) {
                self.insert(place, bytes);
            }
        }
        Ok(())
    }

    /// Reads places, and counts their bytes.
    async fn read_own(&self, artifacts: &Artifacts, places: &[StoredRange]) -> Result<Vec<Bytes>> {
        let read = artifacts.read(places).await?;
        if let Some(bytes_read) = &self.bytes_read {
            let bytes = read.iter().map(|bytes| bytes.len() as u64).sum();
            bytes_read.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(read)
    }

    /// Returns the last piece that begins at or before a position, and its bytes from that position on.
    fn piece_at(&self, artifact: u32, position: u64) -> Option<(&FetchedPiece, Bytes)> {
        let (&(of, start), piece) = self.pieces.range(..=(artifact, position)).next_back()?;
        if of != artifact {
            return None;
        }
        let skipped = usize::try_from(position - start).ok()?;
        (skipped < piece.bytes.len()).then(|| (piece, piece.bytes.slice(skipped..)))
    }

    /// Returns the bytes of a place, if one piece contains them all.
    pub(in crate::read) fn get(&self, place: StoredRange) -> Option<Bytes> {
        let (piece, bytes) = self.piece_at(place.artifact, place.range.start())?;
        let len = usize::try_from(place.range.len()).ok()?;
        let found = (len <= bytes.len()).then(|| bytes.slice(..len))?;
        piece.is_used.store(true, Ordering::Relaxed);
        Some(found)
    }

    /// Returns the parts of a place that are in no piece.
    fn lacking(&self, place: StoredRange) -> Result<Vec<StoredRange>> {
        let StoredRange { artifact, range } = place;
        let (mut at, mut parts) = (range.start(), Vec::new());
        while at < range.end() {
            if let Some((_, bytes)) = self.piece_at(artifact, at) {
                at = at.saturating_add(bytes.len() as u64);
                continue;
            }
            let behind = (artifact, at + 1)..(artifact, range.end());
            let mut behind = self.pieces.range(behind);
            let next = behind.next().map_or(range.end(), |(&(_, start), _)| start);
            let range = ByteRange::try_new(at, next)?;
            parts.push(StoredRange { artifact, range });
            at = next;
        }
        Ok(parts)
    }

    /// Returns the requests that bring all of these places into pieces and read no byte twice.
    fn requests(
        &self,
        missing: &[StoredRange],
        gap: u64,
        later: &[StoredRange],
        policy: FetchPolicy,
    ) -> Result<Vec<StoredRange>> {
        let mut lacking = Vec::new();
        for place in missing {
            lacking.extend(self.lacking(*place)?);
        }
        let (gap, part) = if policy.is_sparse {
            (sparse_gap(&lacking, gap)?, part_bytes(&lacking))
        } else {
            (gap, MAX_REQUEST / 2)
        };
        let mut requests = Vec::new();
        for place in coalesce(lacking, gap, u64::MAX, later)? {
            for place in self.lacking(place)? {
                cut(place, part, &mut requests)?;
            }
        }
        Ok(requests)
    }

    /// Joins the pieces that contain parts of a place into one, if there are several.
    fn join(&mut self, place: StoredRange) -> Result<()> {
        if self.get(place).is_some() {
            return Ok(());
        }
        let len = to_usize(place.range.len())?;
        let mut joined = Vec::with_capacity(len);
        while joined.len() < len {
            let at = place.range.start() + joined.len() as u64;
            let Some((piece, bytes)) = self.piece_at(place.artifact, at) else {
                let range = place.range;
                return Err(Error::corrupt(format!(
                    "bytes {range} have not been fetched"
                )));
            };
            piece.is_used.store(true, Ordering::Relaxed);
            let most = bytes.len().min(len - joined.len());
            joined.extend_from_slice(&bytes[..most]);
        }
        self.insert(place, joined.into());
        Ok(())
    }
}

/// The bytes available to a step; notes the bytes that are missing.
pub(in crate::read) struct StepBytes<'a> {
    artifacts: &'a Artifacts,
    fetched: &'a Fetched,
    policy: FetchPolicy,
    missing: RefCell<Vec<StoredRange>>,
    missing_bytes: Cell<u64>,
    /// Places of bytes that are read later.
    later: RefCell<Vec<StoredRange>>,
    /// Places of bytes that will be needed together with the missing ones.
    along: RefCell<Vec<StoredRange>>,
    /// Places of bytes that are likely to be needed after the missing ones.
    guessed: RefCell<Vec<StoredRange>>,
}

impl<'a> StepBytes<'a> {
    pub(in crate::read) fn new(artifacts: &'a Artifacts, fetched: &'a Fetched) -> Self {
        Self {
            artifacts,
            fetched,
            policy: FetchPolicy::default(),
            missing: RefCell::default(),
            missing_bytes: Cell::default(),
            later: RefCell::default(),
            along: RefCell::default(),
            guessed: RefCell::default(),
        }
    }

    /// Notes bytes that are read later and must not be fetched twice.
    pub(in crate::read) fn note_later(&self, place: StoredRange) {
        let is_small = place.range.len() <= self.policy.along_each && !self.artifacts.are_near();
        // The members of a packed group note the same place one after the other.
        let push = |places: &RefCell<Vec<StoredRange>>| {
            let mut places = places.borrow_mut();
            if places.last() != Some(&place) {
                places.push(place);
            }
        };
        if self.policy.along > 0 || is_small {
            push(&self.along);
        }
        if self.policy.span != Span::Any {
            push(&self.later);
        }
    }

    /// Whether to [`guess`](Self::guess) places.
    pub(in crate::read) fn guesses(&self) -> bool {
        self.policy.guesses && self.artifacts.have_latency()
    }

    /// Notes places that only missing bytes determine. They are estimates: fetching them with the missing bytes saves a
    /// round if they are right, and costs their bytes if not, so larger places are ignored.
    pub(in crate::read) fn guess(&self, places: Vec<StoredRange>) {
        if total_bytes(&places) <= MAX_GUESSED {
            self.guessed.borrow_mut().extend(places);
        }
    }

    /// Returns the bytes of a place. If they have to be fetched first, notes the place and returns `None`.
    pub(in crate::read) fn get(&self, place: StoredRange) -> Result<Option<Bytes>> {
        if place.range.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        if let Some(resident) = self.artifacts.resident(place.artifact) {
            let range = self.artifacts.within_size(place, resident.len() as u64);
            let range = self.artifacts.placed(place.artifact, range)?;
            return Ok(Some(resident.slice(range.to_usize()?)));
        }
        self.artifacts.check_may_wait()?;
        let found = self
            .artifacts
            .in_tail(place)
            .or_else(|| self.fetched.get(place));
        if found.is_none() {
            self.missing.borrow_mut().push(place);
            let bytes = self.missing_bytes.get().saturating_add(place.range.len());
            self.missing_bytes.set(bytes);
        }
        Ok(found)
    }

    /// Returns the total size of the missing places; places that overlap count repeatedly.
    pub(in crate::read) fn missing_bytes(&self) -> u64 {
        self.missing_bytes.get()
    }

    /// Whether all bytes of an artifact are in memory anyway.
    pub(in crate::read) fn is_resident(&self, artifact: u32) -> bool {
        self.artifacts.resident(artifact).is_some()
    }

    /// Returns the payload of a framed message that an element of `artifact` refers to.
    pub(in crate::read) fn frame(
        &self,
        artifact: u32,
        reference: &DataRef,
    ) -> Result<Option<Bytes>> {
        let place = StoredRange {
            artifact: self.artifacts.resolve(&reference.url, artifact)?,
            range: reference.range,
        };
        let limits = self.artifacts.limits();
        limits.check_message_bytes(place.range.len())?;
        let Some(frame) = self.get(place)? else {
            return Ok(None);
        };
        let payload = open(&frame).within(|| format!("bytes {}", place.range));
        let payload = self.artifacts.placed(place.artifact, payload)?;
        // The payload starts after its length.
        Ok(Some(frame.slice(4..4 + payload.len())))
    }

    /// Returns the missing places, the places to fetch along with them, and the places that requests must not span.
    fn into_missing(self) -> (Vec<StoredRange>, Vec<StoredRange>, Vec<StoredRange>) {
        let fetch_bytes = self.artifacts.fetch_bytes();
        let mut guessed = self.guessed.into_inner();
        if total_bytes(&guessed) > fetch_bytes {
            guessed.clear();
        }
        let along = self.along.into_inner();
        let most = if self.policy.is_sparse {
            fetch_bytes
        } else {
            self.policy.along
        };
        if !along.is_empty() && total_bytes(&along) <= most {
            let along = [along, guessed].concat();
            return (self.missing.into_inner(), along, Vec::new());
        }
        let mut later = self.later.into_inner();
        if self.policy.span == Span::Few && total_bytes(&later) <= fetch_bytes {
            later.clear();
        }
        later.sort_unstable_by_key(|p| (p.artifact, p.range));
        (self.missing.into_inner(), guessed, later)
    }
}

impl ByteSource for StepBytes<'_> {
    fn bytes(&self, place: StoredRange) -> Result<Bytes> {
        self.get(place)?
            .ok_or_else(|| Error::corrupt(format!("bytes {} have not been fetched", place.range)))
    }

    fn resident(&self, place: StoredRange) -> Result<Option<Bytes>> {
        if self.is_resident(place.artifact) {
            return self.get(place);
        }
        Ok(None)
    }

    fn name(&self, artifact: u32) -> Option<String> {
        (artifact > 0).then(|| self.artifacts.place_of(artifact))
    }
}

/// Repeats a step, and fetches the bytes that it lacks, until it is done.
///
/// # Errors
/// Returns the errors of the step and of reading.
pub(in crate::read) async fn drive<T>(
    artifacts: &Artifacts,
    fetched: &mut Fetched,
    policy: FetchPolicy,
    mut step: impl FnMut(&StepBytes<'_>) -> Result<Option<T>>,
) -> Result<T> {
    let mut asked: Vec<StoredRange> = Vec::new();
    loop {
        let (missing, requests) = match attempt(artifacts, fetched, policy, &mut step, &asked)? {
            Attempt::Done(done) => return Ok(done),
            Attempt::Lacks { missing, requests } => (missing, requests),
        };
        fetched.read(artifacts, requests).await?;
        for place in &missing {
            fetched.join(*place)?;
        }
        asked = missing;
    }
}

/// The result of trying a step.
enum Attempt<T> {
    Done(T),
    /// The places that it lacks, and the requests for them.
    Lacks {
        missing: Vec<StoredRange>,
        requests: Vec<StoredRange>,
    },
}

fn attempt<T>(
    artifacts: &Artifacts,
    fetched: &mut Fetched,
    policy: FetchPolicy,
    step: &mut impl FnMut(&StepBytes<'_>) -> Result<Option<T>>,
    asked: &[StoredRange],
) -> Result<Attempt<T>> {
    let bytes = StepBytes {
        policy,
        ..StepBytes::new(artifacts, fetched)
    };
    let done = step(&bytes).within(|| artifacts.place())?;
    if let Some(done) = done {
        return Ok(Attempt::Done(done));
    }
    let (missing, along, later) = bytes.into_missing();
    if missing == asked {
        return Err(Error::corrupt("the same bytes were needed twice").within(artifacts.place()));
    }
    let gap = artifacts.coalesce_gap();
    let places = [missing.as_slice(), &along].concat();
    let requests = if artifacts.are_near() {
        // Reading a part again costs no more than joining it with the other parts.
        coalesce(places, gap, MAX_REQUEST, &later)?
    } else {
        // The end of the file was read when the shard was opened.
        let (place, tail) = artifacts.tail()?;
        fetched.insert(place, tail);
        fetched.requests(&places, gap, &later, policy)?
    };
    Ok(Attempt::Lacks { missing, requests })
}

#[cfg(test)]
mod tests {
    use super::super::requests::tests::place;
    use super::*;

    #[test]
    fn a_piece_is_found_behind_a_smaller_one_that_lay_in_it() {
        let mut fetched = Fetched::default();
        fetched.insert(place(1, 12, 14), Bytes::from_static(b"23"));
        fetched.insert(place(1, 10, 20), Bytes::from_static(b"0123456789"));
        fetched.insert(place(1, 18, 23), Bytes::from_static(b"89abc"));
        assert_eq!(fetched.get(place(1, 13, 18)).unwrap(), "34567");
        assert_eq!(fetched.get(place(1, 18, 22)).unwrap(), "89ab");
        assert_eq!(fetched.get(place(1, 17, 20)).unwrap(), "789");
    }

    #[test]
    fn a_piece_serves_every_range_inside_it() {
        let mut fetched = Fetched::default();
        fetched.insert(place(1, 10, 20), Bytes::from_static(b"0123456789"));
        assert_eq!(fetched.get(place(1, 12, 15)).unwrap(), "234");
        assert_eq!(fetched.get(place(1, 12, 21)), None);
        assert_eq!(fetched.get(place(2, 12, 15)), None);
        assert_eq!(fetched.get(place(1, 9, 15)), None);
    }

    #[test]
    fn what_lies_in_several_pieces_is_joined_and_only_the_rest_is_lacking() {
        let mut fetched = Fetched::default();
        fetched.insert(place(1, 10, 20), Bytes::from_static(b"0123456789"));
        fetched.insert(place(1, 20, 22), Bytes::from_static(b"ab"));
        fetched.insert(place(1, 25, 27), Bytes::from_static(b"xy"));
        let lacking =
            |fetched: &Fetched, start, end| fetched.lacking(place(1, start, end)).unwrap();
        assert_eq!(lacking(&fetched, 12, 22), []);
        assert_eq!(fetched.get(place(2, 5, 6)), None);
        assert_eq!(
            lacking(&fetched, 5, 30),
            [place(1, 5, 10), place(1, 22, 25), place(1, 27, 30)]
        );
        assert_eq!(
            fetched.lacking(place(2, 12, 15)).unwrap(),
            [place(2, 12, 15)]
        );
        assert!(fetched.join(place(1, 18, 26)).is_err());
        fetched.insert(place(1, 22, 25), Bytes::from_static(b"..."));
        fetched.join(place(1, 18, 26)).unwrap();
        assert_eq!(fetched.get(place(1, 18, 26)).unwrap(), "89ab...x");
        assert_eq!(lacking(&fetched, 10, 27), []);
    }

    #[test]
    fn what_nobody_asks_for_again_is_dropped() {
        let mut fetched = Fetched::default();
        for start in [0, 10, 20] {
            fetched.insert(
                place(0, start, start + 10),
                Bytes::from_static(b"0123456789"),
            );
        }
        fetched.retire();
        fetched.get(place(0, 12, 13)).unwrap();
        fetched.drop_unused();
        let held: Vec<u64> = fetched.pieces.keys().map(|(_, start)| *start).collect();
        assert_eq!(held, [10]);
    }
}
