//! Memory that is written once: places for decoded values, which need not be zeroed first.

use super::bitpack::{chunk_bytes, unpack_places};
use super::chunk::CHUNK;
use super::fresh_memory::{append_bytes, initialized};
use super::prefix_sum::unpack_sums_places;
use super::word::Word;
use super::words::gather_places;
use arrow_buffer::{Buffer, MutableBuffer};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice;

/// Places for values: either a slice of values or fresh memory.
pub(crate) struct Slots<'a, W> {
    places: &'a mut [MaybeUninit<W>],
    /// Whether every place holds a value.
    is_filled: bool,
}

impl<W> fmt::Debug for Slots<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots")
            .field("len", &self.places.len())
            .field("is_filled", &self.is_filled)
            .finish()
    }
}

impl<'a, W: Word> From<&'a mut [W]> for Slots<'a, W> {
    fn from(values: &'a mut [W]) -> Self {
        Self {
            places: initialized(values),
            is_filled: true,
        }
    }
}

impl<W: Word> Slots<'_, W> {
    /// Returns the number of places.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the values. Fresh memory that has not been filled becomes 0.
    pub(crate) fn values(&mut self) -> &mut [W] {
        if !self.is_filled {
            self.fill(W::ZERO);
        }
        let len = self.places.len();
        // SAFETY: each place holds a value.
        unsafe { slice::from_raw_parts_mut(self.places.as_mut_ptr().cast(), len) }
    }

    /// Sets all values to `value`.
    pub(crate) fn fill(&mut self, value: W) {
        self.places.fill(MaybeUninit::new(value));
        self.is_filled = true;
    }

    /// Copies little-endian words. Returns false and writes nothing unless there is one word per place.
    #[must_use]
    pub(crate) fn copy_from_le(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() != self.places.len() * W::BYTES {
            return false;
        }
        copy_words(self.places, W::chunks(bytes));
        self.is_filled = true;
        true
    }

    /// Copies ranges of little-endian words, one range after the other. Returns false if a range is out of bounds,
    /// or if the total length of the ranges is not the number of places.
    #[must_use]
    pub(crate) fn copy_ranges_from_le(
        &mut self,
        bytes: &[u8],
        ranges: impl Iterator<Item = Range<usize>>,
    ) -> bool {
        let words = W::chunks(bytes);
        let mut rest = &mut *self.places;
        for range in ranges {
            let Some(words) = words.get(range) else {
                return false;
            };
            let Some((places, after)) = rest.split_at_mut_checked(words.len()) else {
                return false;
            };
            copy_words(places, words);
            rest = after;
        }
        let is_whole = rest.is_empty();
        self.is_filled |= is_whole;
        is_whole
    }

    /// Unpacks values of 1 to `BITS` bits from whole chunks and adds `reference` to each. Returns false and
    /// writes nothing if `packed` lacks chunks.
    #[must_use]
    pub(crate) fn unpack(&mut self, packed: &[u8], width: u32, reference: W) -> bool {
        if packed.len() < self.places.len().div_ceil(CHUNK) * chunk_bytes(width) {
            return false;
        }
        unpack_places(packed, width, reference, self.places);
        self.is_filled = true;
        true
    }

    /// Unpacks differences of 1 to `BITS` bits into values: the first value is `first`, and each of the others is
    /// its predecessor plus the next difference. Returns false and writes nothing if `packed` lacks chunks.
    #[must_use]
    pub(crate) fn unpack_sums(
        &mut self,
        packed: &[u8],
        width: u32,
        reference: W,
        first: W,
    ) -> bool {
        let differences = self.places.len().saturating_sub(1);
        if packed.len() < differences.div_ceil(CHUNK) * chunk_bytes(width) {
            return false;
        }
        unpack_sums_places(packed, width, reference, first, self.places);
        self.is_filled = true;
        true
    }

    /// Sets value `i` to `entries[codes[i]]`. Returns false if a code has no entry, or if there is not one
    /// code per place.
    #[must_use]
    pub(crate) fn gather(&mut self, codes: &[u32], entries: &[W]) -> bool {
        let done = gather_places(codes, entries, self.places);
        self.is_filled |= done;
        done
    }
}

/// Copies little-endian words to places, until either end.
fn copy_words<W: Word>(places: &mut [MaybeUninit<W>], words: &[W::Bytes]) {
    for (place, word) in places.iter_mut().zip(words) {
        place.write(W::from_le(*word));
    }
}

/// A vector of values whose memory is not zeroed before values are appended.
#[derive(Debug)]
pub(crate) struct Growing<W> {
    buffer: MutableBuffer,
    words: PhantomData<W>,
}

impl<W: Word> Growing<W> {
    /// Makes an empty vector with room for `values` values.
    pub(crate) fn with_capacity(values: usize) -> Self {
        Self {
            buffer: MutableBuffer::with_capacity(values.saturating_mul(W::BYTES)),
            words: PhantomData,
        }
    }

    /// Appends `count` values that `write` writes. Appends nothing after an error.
    pub(crate) fn append<E>(
        &mut self,
        count: usize,
        write: impl FnOnce(&mut Slots<'_, W>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = Ok(());
        let append = |places: &mut [MaybeUninit<u8>]| {
            let bytes = places.len();
            // SAFETY: the places have exactly this memory. A buffer is aligned for every word, and this
            // one holds whole words.
            let places = unsafe { slice::from_raw_parts_mut(places.as_mut_ptr().cast(), count) };
            let mut slots = Slots {
                places,
                is_filled: false,
            };
            done = write(&mut slots);
            if done.is_err() {
                return 0;
            }
            slots.values();
            bytes
        };
        // SAFETY: after an error no bytes are counted, else all of them, and all hold values.
        unsafe { append_bytes(&mut self.buffer, count * W::BYTES, append) };
        done
    }
}

impl<W> From<Growing<W>> for Buffer {
    fn from(values: Growing<W>) -> Self {
        values.buffer.into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bitpack::pack;
    use super::*;

    /// Returns the values after a first one, once `count` values were appended to reused memory. `write` returns
    /// whether it succeeds.
    fn appended(count: usize, write: impl FnOnce(&mut Slots<'_, u32>) -> bool) -> Vec<u32> {
        let mut values = Growing::<u32>::with_capacity(1 + count);
        let done = |done: bool| done.then_some(()).ok_or(());
        let filled = |value, succeeds| {
            move |slots: &mut Slots<'_, u32>| {
                slots.fill(value);
                done(succeeds)
            }
        };
        assert!(values.append(1, filled(7, true)).is_ok());
        assert!(values.append(count, filled(9, false)).is_err());
        let more = values.append(count, |slots| done(write(slots)));
        let buffer = Buffer::from(values);
        let (first, rest) = buffer.typed_data::<u32>().split_first().unwrap();
        assert_eq!(*first, 7);
        assert_eq!(rest.len(), if more.is_ok() { count } else { 0 });
        rest.to_vec()
    }

    #[test]
    fn what_nobody_writes_is_zero_and_what_fails_is_not_there() {
        assert_eq!(appended(3, |_| true), [0; 3]);
        assert_eq!(appended(3, |_| false), [0; 0]);
        let one = |slots: &mut Slots<'_, u32>| {
            slots.values()[1] = 5;
            true
        };
        assert_eq!(appended(3, one), [0, 5, 0]);
        let copied = |count| appended(count, |slots| slots.copy_from_le(&[1, 0, 0, 0, 2, 1, 0, 0]));
        assert_eq!(copied(2), [1, 258]);
        // Another number of values: none is copied.
        assert_eq!(copied(3), [0; 0]);
        assert_eq!(copied(1), [0; 0]);
    }

    #[test]
    fn ranges_are_copied_one_after_the_other_or_not_at_all() {
        let bytes: Vec<u8> = (0..10u32).flat_map(|i| (i * 300).to_le_bytes()).collect();
        let copied = |count: usize, ranges: &[Range<usize>]| {
            appended(count, |slots| {
                slots.copy_ranges_from_le(&bytes, ranges.iter().cloned())
            })
        };
        assert_eq!(copied(4, &[1..3, 5..5, 8..10]), [300, 600, 2400, 2700]);
        assert_eq!(copied(0, &[]), [0; 0]);
        // More positions than places or words, or fewer than places.
        for (count, ranges) in [(3, [1..3, 8..10]), (5, [1..3, 8..10]), (5, [1..3, 8..11])] {
            assert_eq!(copied(count, &ranges), [0; 0]);
        }
    }

    #[test]
    fn each_way_to_fill_them_writes_every_value() {
        for n in [0, 1, 5, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let values: Vec<u32> = (0..).map(|i| i * 13 % 512).take(n).collect();
            let mut packed = vec![0; n.div_ceil(CHUNK) * chunk_bytes(9)];
            pack(&values, 9, 0, &mut packed);
            let plus: Vec<u32> = values.iter().map(|v| v + 3).collect();
            let unpacked = |packed: &[u8]| appended(n, |slots| slots.unpack(packed, 9, 3));
            assert_eq!(unpacked(&packed), plus, "{n}");
            let sums = plus.iter().scan(100, |sum, v| {
                *sum += v;
                Some(*sum)
            });
            let sums: Vec<u32> = std::iter::once(100).chain(sums).collect();
            let summed =
                |packed: &[u8]| appended(n + 1, |slots| slots.unpack_sums(packed, 9, 3, 100));
            assert_eq!(summed(&packed), sums, "{n}");
            if n > 0 {
                // A chunk is missing: nothing is unpacked.
                let few = &packed[chunk_bytes(9)..];
                assert_eq!(unpacked(few), [0; 0]);
                assert_eq!(summed(few), [0; 0]);
            }
            let entries: Vec<u32> = (0..512).map(|i| i * 2).collect();
            let twice: Vec<u32> = values.iter().map(|v| 2 * v).collect();
            assert_eq!(appended(n, |slots| slots.gather(&values, &entries)), twice);
            if n > 600 {
                let few = &entries[..300];
                assert_eq!(appended(n, |slots| slots.gather(&values, few)), [0; 0]);
            }
        }
    }
}
