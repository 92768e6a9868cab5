//! Spec: docs/format.md, "Raw buffers": elements out of raw buffers.

use super::Selection;
use super::raw_part::{RawPart, raw_bytes, raw_stretches};
use super::read_context::{ReadContext, in_file};
use super::stored_buffer::{StoredBuffer, StoredRange};
use crate::encoding::Word;
use crate::error::{Result, to_usize};
use crate::kernels::{Growing, prefetch};
use arrow_buffer::Buffer;
use bytes::Bytes;
use std::ops::Range;

/// Returns the bytes of elements of a raw buffer, after verifying their checksums.
pub(super) fn raw_slice(
    buffer: &StoredBuffer,
    elements: &Range<u64>,
    width: usize,
    cx: &ReadContext<'_>,
) -> Result<Bytes> {
    let part = RawPart::new(buffer, elements, width, cx.verify)?;
    let bytes = cx.source.bytes(place(buffer, &part.covered)?)?;
    let wanted = part.verify(&bytes);
    Ok(bytes.slice(wanted.map_err(|e| in_file(e, buffer, cx))?))
}

/// Returns elements of a raw buffer, without a copy if they are one range. An element has `width` bytes, one or more
/// words of the type `W`.
pub(super) fn read_raw<W: Word>(
    buffer: &StoredBuffer,
    elements: &Selection,
    width: usize,
    cx: &ReadContext<'_>,
) -> Result<Buffer> {
    if let Some(range) = elements.as_range() {
        return Ok(Buffer::from(raw_slice(buffer, &range, width, cx)?));
    }
    cx.check_batch_bytes(elements.len(), width)?;
    let words = to_usize(elements.len())?.saturating_mul(width) / W::BYTES;
    let mut copier = Copier {
        buffer,
        width,
        cx,
        verified: 0,
        out: Growing::<W>::with_capacity(words),
    };
    if let Some(whole) = cx.source.resident(buffer.place)? {
        copier.append_ahead(&whole, elements.ranges())?;
    } else {
        for stretch in raw_stretches(buffer, elements, width, cx.verify)? {
            let bytes = cx.source.bytes(place(buffer, &stretch.covered)?)?;
            copier.append(&bytes, stretch.covered.start, stretch.elements)?;
        }
    }
    Ok(copier.out.into())
}

fn place(buffer: &StoredBuffer, bytes: &Range<u64>) -> Result<StoredRange> {
    Ok(StoredRange {
        artifact: buffer.place.artifact,
        range: buffer.place.range.slice(bytes.start, bytes.end)?,
    })
}

/// Number of scattered ranges that are prefetched from memory.
const AHEAD: usize = 16;

/// Verifies and copies elements of a raw buffer.
struct Copier<'a, W> {
    buffer: &'a StoredBuffer,
    /// Bytes of an element.
    width: usize,
    cx: &'a ReadContext<'a>,
    /// End of the last verified bytes, as a position in the buffer. Elements that end before it need no verification,
    /// because elements ascend.
    verified: u64,
    out: Growing<W>,
}

impl<W: Word> Copier<'_, W> {
    /// Appends elements of the buffer with all of these bytes, and prefetches the ranges that follow.
    fn append_ahead(&mut self, whole: &[u8], elements: &[Range<u64>]) -> Result<()> {
        let width = self.width;
        let fetch = |ranges: Option<&[Range<u64>]>| {
            for range in ranges.unwrap_or_default() {
                let start = raw_bytes(range, width).and_then(|bytes| to_usize(bytes.start));
                prefetch(whole, start.unwrap_or(usize::MAX));
            }
        };
        let mut groups = elements.chunks(AHEAD);
        let mut next = groups.next();
        fetch(next);
        while let Some(group) = next {
            next = groups.next();
            fetch(next);
            self.append(whole, 0, group)?;
        }
        Ok(())
    }

    /// Appends elements that lie in these bytes, which begin at position `from` of the buffer.
    fn append(&mut self, bytes: &[u8], from: u64, elements: &[Range<u64>]) -> Result<()> {
        let Some(first) = elements.first().map(|range| range.start) else {
            return Ok(());
        };
        let mut count = 0;
        for range in elements {
            let wanted = raw_bytes(range, self.width)?;
            count += wanted.end - wanted.start;
            if wanted.end > self.verified {
                let part = RawPart::new(self.buffer, range, self.width, self.cx.verify)?;
                let covered =
                    to_usize(part.covered.start - from)?..to_usize(part.covered.end - from)?;
                let checked = part.verify(bytes.get(covered).unwrap_or_default());
                checked.map_err(|e| in_file(e, self.buffer, self.cx))?;
                self.verified = part.covered.end;
            }
        }
        // Elements are counted from the first one, because the bytes may begin in the middle of one.
        let words = self.width / W::BYTES;
        let skipped = to_usize(raw_bytes(&(first..first), self.width)?.start - from)?;
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let whole = bytes.get(..bytes.len() / W::BYTES * W::BYTES);
        let ranges = elements.iter().map(|range| {
            let words_from = |element: u64| to_usize(element - first).unwrap_or(usize::MAX) * words;
            words_from(range.start)..words_from(range.end)
        });
        self.out.append(to_usize(count)? / W::BYTES, |slots| {
            let is_whole = slots.copy_ranges_from_le(whole.unwrap_or_default(), ranges);
            let end = elements.last().map_or(0, |range| range.end);
            is_whole
                .then_some(())
                .ok_or_else(|| self.buffer.too_few(end, 0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::checksums::{ChecksumEntry, CoveredPart};
    use super::super::own_properties::OwnProperties;
    use super::super::stored_buffer::stored_buffer;
    use super::super::test_source::TestSource;
    use super::*;
    use crate::encoding::{Dictionaries, Scratch};
    use crate::error::ErrorKind;
    use crate::format::{BufferKind, DataRef, EncodedBuffer, checksum};
    use crate::io::ByteRange;
    use crate::limits::Limits;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    const LEN: usize = 60_000;

    /// Returns a raw buffer of these bytes with checksums of chunks of `chunk` bytes; without checksums for 0.
    fn raw(bytes: &[u8], chunk: usize) -> StoredBuffer {
        let range = ByteRange::try_new(0, bytes.len() as u64).unwrap();
        let described = EncodedBuffer::new(BufferKind::Data, DataRef::this(range));
        let mut notes = OwnProperties::default();
        if chunk > 0 {
            let entry = ChecksumEntry {
                encoding: 0,
                buffer: 0,
                part: CoveredPart::Raw,
                chunk_bytes: u32::try_from(chunk).unwrap(),
                checksums: bytes.chunks(chunk).map(checksum).collect(),
            };
            notes.checksums.insert(entry);
        }
        stored_buffer(&described, 0, 0, &notes, &mut |_| Ok(0)).unwrap()
    }

    fn read<W: Word>(
        buffer: &StoredBuffer,
        source: &TestSource,
        rows: &Selection,
        width: usize,
    ) -> Result<Buffer> {
        let cx = ReadContext {
            source,
            limits: &Limits::default(),
            scratch: &mut Scratch::default(),
            dictionaries: Dictionaries::none(),
            verify: true,
            sequential: false,
        };
        read_raw::<W>(buffer, rows, width, &cx)
    }

    /// Selects ranges of one or two elements, `gap` elements apart on average.
    fn scattered(rng: &mut StdRng, count: u64, gap: u64) -> Selection {
        let mut rows = Selection::default();
        let mut next = rng.random_range(0..gap);
        while next + 2 < count {
            let end = next + rng.random_range(1..=2);
            rows.push(next..end);
            next = end + rng.random_range(1..=2 * gap);
        }
        rows
    }

    /// Returns the bytes of elements of `width` bytes.
    fn bytes_of(bytes: &[u8], rows: &Selection, width: usize) -> Vec<u8> {
        let ranges = rows.ranges().iter().flat_map(|range| {
            let wanted = raw_bytes(range, width).unwrap();
            &bytes[to_usize(wanted.start).unwrap()..to_usize(wanted.end).unwrap()]
        });
        ranges.copied().collect()
    }

    #[test]
    fn scattered_values_are_those_of_their_rows() {
        let mut rng = StdRng::seed_from_u64(3);
        let bytes: Vec<u8> = (0..LEN).map(|_| rng.random()).collect();
        for (chunk, width) in [(0, 4), (100, 4), (100, 3), (4096, 16), (1 << 16, 8), (7, 1)] {
            for gap in [1, 2, 10, 100, 900, 5000] {
                let buffer = raw(&bytes, chunk);
                let rows = scattered(&mut rng, (LEN / width) as u64, gap);
                let expected = bytes_of(&bytes, &rows, width);
                for is_resident in [false, true, false] {
                    let source = TestSource {
                        is_resident,
                        ..TestSource::fetched(bytes.clone())
                    };
                    let found = match width {
                        4 => read::<u32>(&buffer, &source, &rows, width),
                        8 => read::<u64>(&buffer, &source, &rows, width),
                        _ => read::<u8>(&buffer, &source, &rows, width),
                    };
                    let found = found.unwrap();
                    assert!(found.as_slice() == expected, "{chunk} {width} {gap}");
                }
            }
        }
    }

    #[test]
    fn stretches_have_no_large_gaps_and_become_no_larger() {
        let mut rng = StdRng::seed_from_u64(4);
        let bytes: Vec<u8> = (0..LEN).map(|_| rng.random()).collect();
        let buffer = raw(&bytes, 1000);
        let mut before: Vec<Range<u64>> = Vec::new();
        let rows: Selection = [5..6, 7..8, 1500..1501, 1600..1601, 9000..9001]
            .into_iter()
            .collect();
        for _ in 0..2 {
            let stretches = raw_stretches(&buffer, &rows, 4, true).unwrap();
            let covered: Vec<Range<u64>> = stretches.iter().map(|s| s.covered.clone()).collect();
            let is_inside = |range: &Range<u64>| {
                let mut outer = before.iter();
                outer.any(|outer| outer.start <= range.start && range.end <= outer.end)
            };
            let is_first = before.is_empty();
            assert!(
                is_first || covered.iter().all(is_inside),
                "{covered:?} in {before:?}"
            );
            before = covered;
            read::<u32>(&buffer, &TestSource::fetched(bytes.clone()), &rows, 4).unwrap();
        }
        assert_eq!(before, [20..32, 6000..6404, 36_000..36_004]);
    }

    #[test]
    fn stretches_end_at_borders_which_stay_when_chunks_have_been_verified() {
        const MIB: u64 = 1 << 20;
        let mut rng = StdRng::seed_from_u64(5);
        let bytes: Vec<u8> = (0..2 * MIB + 100_000).map(|_| rng.random()).collect();
        let len = bytes.len() as u64;
        let source = TestSource::fetched(bytes.clone());
        let covered = |buffer: &StoredBuffer, rows: &Selection, width: usize| {
            let stretches = raw_stretches(buffer, rows, width, true).unwrap();
            let covered = stretches.into_iter().map(|s| s.covered);
            covered.collect::<Vec<Range<u64>>>()
        };
        let rows: Selection = (0..len / 4).step_by(256).map(|i| i..i + 1).collect();
        let stretches = covered(&raw(&bytes, 1 << 16), &rows, 4);
        assert_eq!(stretches, [0..MIB, MIB..2 * MIB, 2 * MIB..len]);
        // Other values or chunks cross the borders.
        for (chunk, width) in [(1 << 16, 3), (1000, 3), (1000, 4)] {
            let buffer = raw(&bytes, chunk);
            let rows = scattered(&mut rng, len / width as u64, 100);
            let before = covered(&buffer, &rows, width);
            assert!(before.len() > 2);
            let most = MIB + 2 * chunk as u64;
            assert!(before.iter().all(|range| range.end - range.start <= most));
            let read = |rows: &Selection| read::<u8>(&buffer, &source, rows, width).unwrap();
            read(&scattered(&mut rng, len / width as u64, 20_000));
            for range in covered(&buffer, &rows, width) {
                let mut outer = before.iter();
                let is_inside =
                    outer.any(|outer| outer.start <= range.start && range.end <= outer.end);
                assert!(is_inside, "{range:?} in {before:?}");
            }
            assert!(read(&rows).as_slice() == bytes_of(&bytes, &rows, width));
        }
    }

    #[test]
    fn ranges_that_lie_partly_in_verified_chunks_are_read() {
        let bytes: Vec<u8> = (0..LEN).map(|at| (at % 251).to_le_bytes()[0]).collect();
        let source = TestSource::fetched(bytes.clone());
        let select = |ranges: &[Range<u64>]| ranges.iter().cloned().collect::<Selection>();
        for chunk in [1000, 4000] {
            let buffer = raw(&bytes, chunk);
            read::<u32>(&buffer, &source, &select(&[0..1, 5..6]), 4).unwrap();
            let border = chunk as u64 / 4;
            let rows = select(&[border - 9..border - 8, border - 2..border + 2]);
            let fetched = raw_stretches(&buffer, &rows, 4, true).unwrap();
            let found = read::<u32>(&buffer, &source, &rows, 4).unwrap();
            let last = chunk + 8;
            assert_eq!(found.as_slice()[4..], bytes[last - 16..last]);
            // A later read of the second range alone asks for nothing else.
            let buffer = raw(&bytes, chunk);
            read::<u32>(&buffer, &source, &select(&[0..1, 5..6]), 4).unwrap();
            let part = RawPart::new(&buffer, &(border - 2..border + 2), 4, true).unwrap();
            assert_eq!(fetched.len(), 1);
            assert!(fetched[0].covered.start <= part.covered.start);
            assert!(part.covered.end <= fetched[0].covered.end);
        }
    }

    #[test]
    fn damage_between_the_rows_is_harmless_unless_a_chunk_covers_it() {
        let bytes = vec![1; LEN];
        let rows: Selection = [10..11, 20..21, 700..701].into_iter().collect();
        for (at, is_found) in [
            (0, true),
            (399, true),
            (400, false),
            (2800, true),
            (3200, false),
        ] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            for is_resident in [false, true] {
                let source = TestSource {
                    is_resident,
                    ..TestSource::fetched(damaged.clone())
                };
                let read = read::<u32>(&raw(&bytes, 400), &source, &rows, 4);
                let kind = read.err().map(|e| {
                    assert!(e.to_string().contains("file `s.stripe`"), "{e}");
                    e.kind()
                });
                assert_eq!(kind, is_found.then_some(ErrorKind::Checksum), "byte {at}");
            }
        }
    }
}
