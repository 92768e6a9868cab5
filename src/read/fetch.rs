//! Which bytes a plan needs, and those that it has been given.
//!
//! Plans do no I/O. A step of a plan looks for bytes in a [`Bench`]; what is not there is noted, and
//! the step is tried again once a driver has fetched it. What a step has parsed is kept, so that
//! trying again costs next to nothing.

use super::artifacts::Artifacts;
use crate::buffer::{ByteSource, Place};
use crate::error::{Error, Result, Within, to_usize};
use crate::format::{DataRef, open};
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Bytes of artifacts, by artifact and position.
#[derive(Debug, Default)]
pub(super) struct Fetched(BTreeMap<(u32, u64), Bytes>);

impl Fetched {
    /// Adds the bytes of a place.
    pub(super) fn insert(&mut self, place: Place, bytes: Bytes) {
        self.0.insert((place.artifact, place.range.start()), bytes);
    }

    /// Forgets all bytes.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The bytes of a place, if they lie in one piece.
    pub(super) fn get(&self, place: Place) -> Option<Bytes> {
        let start = place.range.start();
        let (&(artifact, piece_start), bytes) =
            self.0.range(..=(place.artifact, start)).next_back()?;
        if artifact != place.artifact {
            return None;
        }
        let from = usize::try_from(start - piece_start).ok()?;
        let to = from.checked_add(usize::try_from(place.range.len()).ok()?)?;
        (to <= bytes.len()).then(|| bytes.slice(from..to))
    }
}

/// Where a step of a plan finds bytes, and notes those that are missing.
pub(super) struct Bench<'a> {
    artifacts: &'a Artifacts,
    fetched: &'a Fetched,
    missing: RefCell<Vec<Place>>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(artifacts: &'a Artifacts, fetched: &'a Fetched) -> Self {
        Self {
            artifacts,
            fetched,
            missing: RefCell::default(),
        }
    }

    /// The bytes of a place; `None`, and a note of it, if they have to be fetched first.
    pub(super) fn get(&self, place: Place) -> Result<Option<Bytes>> {
        if place.range.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        if let Some(resident) = self.artifacts.resident(place.artifact) {
            let range = place.range.within_size(resident.len() as u64)?.to_usize()?;
            return Ok(Some(resident.slice(range)));
        }
        let found = self
            .artifacts
            .in_tail(place)
            .or_else(|| self.fetched.get(place));
        if found.is_none() {
            self.missing.borrow_mut().push(place);
        }
        Ok(found)
    }

    /// Whether all bytes of an artifact are in memory anyway.
    pub(super) fn is_resident(&self, artifact: u32) -> bool {
        self.artifacts.resident(artifact).is_some()
    }

    /// The payload of a framed message that an element of `artifact` refers to.
    pub(super) fn frame(&self, artifact: u32, reference: &DataRef) -> Result<Option<Bytes>> {
        let place = Place {
            artifact: self.artifacts.resolve(&reference.url, artifact)?,
            range: reference.range,
        };
        let limits = self.artifacts.limits();
        limits.check_message_bytes(place.range.len())?;
        let Some(frame) = self.get(place)? else {
            return Ok(None);
        };
        let payload = open(&frame).within(|| format!("bytes {}", place.range))?;
        // The payload starts after its length.
        Ok(Some(frame.slice(4..4 + payload.len())))
    }

    /// The places that were noted as missing.
    pub(super) fn into_missing(self) -> Vec<Place> {
        self.missing.into_inner()
    }
}

impl ByteSource for Bench<'_> {
    fn bytes(&self, place: Place) -> Result<Bytes> {
        self.get(place)?
            .ok_or_else(|| Error::corrupt(format!("bytes {} have not been fetched", place.range)))
    }

    fn resident(&self, place: Place) -> Result<Option<Bytes>> {
        if self.is_resident(place.artifact) {
            return self.get(place);
        }
        Ok(None)
    }
}

/// Takes a step of a plan again and again, fetching what it lacks, until it is done. This is the
/// synchronous driver.
///
/// # Errors
/// Those of the step and of reading.
pub(super) fn drive<T>(
    artifacts: &Artifacts,
    fetched: &mut Fetched,
    mut step: impl FnMut(&Bench<'_>) -> Result<Option<T>>,
) -> Result<T> {
    let mut asked: Vec<Place> = Vec::new();
    loop {
        let bench = Bench::new(artifacts, fetched);
        let done = step(&bench).within(|| artifacts.name().to_owned())?;
        if let Some(done) = done {
            return Ok(done);
        }
        let options = artifacts.options();
        let missing = coalesce(bench.into_missing(), options.coalesce_gap(), MAX_REQUEST)?;
        if missing == asked {
            return Err(Error::corrupt("the same bytes were needed twice").within(artifacts.name()));
        }
        let read = artifacts.read(&missing)?;
        for (place, bytes) in missing.iter().zip(read) {
            fetched.insert(*place, bytes);
        }
        asked = missing;
    }
}

/// Bytes after which a request is not made longer.
const MAX_REQUEST: u64 = 16 << 20;

/// Joins places into as few ranges as there are gaps of more than `gap` bytes between them.
pub(super) fn coalesce(mut places: Vec<Place>, gap: u64, most: u64) -> Result<Vec<Place>> {
    places.sort_unstable_by_key(|p| (p.artifact, p.range));
    let mut joined: Vec<Place> = Vec::new();
    for place in places {
        if let Some(last) = joined.last_mut()
            && last.artifact == place.artifact
            && place.range.start() <= last.range.end().saturating_add(gap)
            && (place.range.start() < last.range.end() || last.range.len() < most)
        {
            let end = last.range.end().max(place.range.end());
            last.range = crate::io::ByteRange::try_new(last.range.start(), end)?;
            to_usize(last.range.len())?;
            continue;
        }
        joined.push(place);
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ByteRange;

    fn place(artifact: u32, start: u64, end: u64) -> Place {
        Place {
            artifact,
            range: ByteRange::try_new(start, end).unwrap(),
        }
    }

    #[test]
    fn neighbours_become_one_request_and_others_stay_apart() {
        let places = vec![
            place(0, 100, 200),
            place(0, 0, 40),
            place(0, 50, 60),
            place(1, 60, 70),
        ];
        let joined = coalesce(places, 10, 1000).unwrap();
        assert_eq!(
            joined,
            [place(0, 0, 60), place(0, 100, 200), place(1, 60, 70)]
        );
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
}
