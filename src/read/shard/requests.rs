//! Requests for the bytes of many places.

use crate::buffer::StoredRange;
use crate::error::{Result, to_usize};
use crate::io::ByteRange;
use std::ops::Range;

/// A request of this many bytes is not extended further.
pub(super) const MAX_REQUEST: u64 = 16 << 20;

/// The gap that is read through between scattered rows if there are few requests.
pub(super) const SPARSE_GAP: u64 = 64 << 10;

/// Requests that are sent at a time. More of them take longer, unless they are so large that their transfer dominates.
const FEW_REQUESTS: usize = 16;

/// From this size on, the transfer of a request takes longer than its round trip.
const LARGE_REQUEST: u64 = 512 << 10;

/// Returns the smallest gap, between [`SPARSE_GAP`] and `most`, that leaves few requests for the places. Returns a
/// smaller gap if this one would read more unwanted than wanted bytes.
pub(super) fn sparse_gap(places: &[StoredRange], most: u64) -> Result<u64> {
    let least = most.min(SPARSE_GAP);
    let requests = coalesce(places.to_vec(), least, u64::MAX, &[])?;
    let small = requests.iter().filter(|r| r.range.len() < LARGE_REQUEST);
    let Some(excess) = small.count().checked_sub(FEW_REQUESTS + 1) else {
        return Ok(least);
    };
    let pairs = requests.iter().zip(requests.iter().skip(1));
    let mut gaps: Vec<u64> = pairs
        .filter(|(a, b)| a.artifact == b.artifact)
        .map(|(a, b)| b.range.start().saturating_sub(a.range.end()))
        .filter(|&gap| gap <= most)
        .collect();
    gaps.sort_unstable();
    let mut spare: u64 = requests.iter().map(|request| request.range.len()).sum();
    let spanned = gaps.iter().take(excess + 1).take_while(|&&gap| {
        let is_spared = gap <= spare;
        spare = spare.saturating_sub(gap);
        is_spared
    });
    Ok(spanned.last().copied().unwrap_or(least))
}

/// Returns the size of all places together.
pub(super) fn total_bytes(places: &[StoredRange]) -> u64 {
    let bytes = places.iter().map(|place| place.range.len());
    bytes.fold(0, u64::saturating_add)
}

/// Returns the size of the parts to cut the places into, so that large places take several requests as long as there
/// are few.
pub(super) fn part_bytes(places: &[StoredRange]) -> u64 {
    (total_bytes(places) / FEW_REQUESTS as u64).clamp(LARGE_REQUEST, MAX_REQUEST / 2)
}

/// Cuts a place into requests of at least `part` bytes, and less than twice as many, because several requests transfer
/// more bytes per second than one.
pub(super) fn cut(place: StoredRange, part: u64, requests: &mut Vec<StoredRange>) -> Result<()> {
    let StoredRange { artifact, range } = place;
    let parts = (range.len() / part).max(1);
    let border = |part: u64| range.start() + range.len() / parts * part;
    for part in 0..parts {
        let end = if part + 1 == parts {
            range.end()
        } else {
            border(part + 1)
        };
        let range = ByteRange::try_new(border(part), end)?;
        requests.push(StoredRange { artifact, range });
    }
    Ok(())
}

/// Joins places that are at most `gap` bytes apart, until a range has `most` bytes. A gap that contains bytes of the
/// sorted places `later` is never joined.
pub(super) fn coalesce(
    mut places: Vec<StoredRange>,
    gap: u64,
    most: u64,
    later: &[StoredRange],
) -> Result<Vec<StoredRange>> {
    let spares = |artifact: u32, gap: Range<u64>| {
        let behind = |p: &StoredRange| (p.artifact, p.range.end()) <= (artifact, gap.start);
        let next = later.get(later.partition_point(behind));
        gap.is_empty() || next.is_none_or(|p| (p.artifact, p.range.start()) >= (artifact, gap.end))
    };
    places.sort_unstable_by_key(|p| (p.artifact, p.range));
    let mut joined: Vec<StoredRange> = Vec::new();
    for place in places {
        if let Some(last) = joined.last_mut()
            && last.artifact == place.artifact
            && place.range.start() <= last.range.end().saturating_add(gap)
            && (place.range.start() < last.range.end() || last.range.len() < most)
            && spares(last.artifact, last.range.end()..place.range.start())
        {
            let end = last.range.end().max(place.range.end());
            last.range = ByteRange::try_new(last.range.start(), end)?;
            to_usize(last.range.len())?;
            continue;
        }
        joined.push(place);
    }
    Ok(joined)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::read::shard) fn place(artifact: u32, start: u64, end: u64) -> StoredRange {
        StoredRange {
            artifact,
            range: ByteRange::try_new(start, end).unwrap(),
        }
    }

    #[test]
    fn few_large_places_are_cut_into_several_requests() {
        let requests = |places: &[StoredRange]| {
            let mut requests = Vec::new();
            for place in places {
                cut(*place, part_bytes(places), &mut requests).unwrap();
            }
            requests.len()
        };
        let small = place(0, 0, LARGE_REQUEST);
        assert_eq!(requests(&[small]), 1);
        assert_eq!(requests(&[place(0, 0, 4 * LARGE_REQUEST + 1), small]), 5);
        assert_eq!(requests(&[place(0, 0, 64 << 20)]), FEW_REQUESTS);
        assert_eq!(requests(&[place(0, 0, 1 << 30)]), 128);
    }

    #[test]
    fn neighbors_become_one_request_and_others_stay_apart() {
        let places = vec![
            place(0, 100, 200),
            place(0, 0, 40),
            place(0, 50, 60),
            place(1, 60, 70),
        ];
        let joined = coalesce(places.clone(), 10, 1000, &[]).unwrap();
        assert_eq!(
            joined,
            [place(0, 0, 60), place(0, 100, 200), place(1, 60, 70)]
        );
        // Bytes that are read later are not fetched with the others, but may touch them.
        let touching = [place(0, 30, 40), place(0, 50, 60), place(1, 40, 50)];
        assert_eq!(
            coalesce(places.clone(), 10, 1000, &touching).unwrap(),
            joined
        );
        let between = [place(0, 20, 41)];
        assert_eq!(
            coalesce(places, 10, 1000, &between).unwrap(),
            [
                place(0, 0, 40),
                place(0, 50, 60),
                place(0, 100, 200),
                place(1, 60, 70)
            ]
        );
    }
}
