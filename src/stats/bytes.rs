//! Spec: Chapter 6, "(Shard) Field Descriptor": ranges, lengths and constants of byte values.

use super::lengths::Lengths;
use crate::format::{AnyValue, LengthStats, RangeStats};
use arrow_buffer::BooleanBuffer;
use std::cmp::Ordering;
use std::ops::Range;

/// Longest byte value that a descriptor stores as a constant.
const MAX_CONSTANT_BYTES: usize = 1024;
/// Longest bound of a range, in bytes; longer values are cut.
const MAX_BOUND_BYTES: usize = 64;

/// Number of values compared with the bounds together.
const GROUP: usize = 64;

/// The least or the greatest value so far, cut to one byte more than the longest bound, so that a cut shows.
#[derive(Debug, Clone)]
struct Extreme {
    prefix: u64,
    value: Vec<u8>,
}

/// Contiguous byte values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteRun<'a, E> {
    /// The bytes of all values, possibly with other bytes before and after them.
    pub(crate) bytes: &'a [u8],
    /// Returns the position where value `i - 1` ends and value `i` begins.
    pub(crate) end: E,
}

impl<'a, E: Fn(usize) -> usize> ByteRun<'a, E> {
    /// Returns value `i`.
    pub(crate) fn value(&self, i: usize) -> &'a [u8] {
        &self.bytes[(self.end)(i)..(self.end)(i + 1)]
    }

    /// Returns the [`prefix`] of the value of length `len` that begins at `start`.
    #[inline]
    fn prefix(&self, start: usize, len: usize) -> u64 {
        /// Masks of a word's bytes that belong to a value, by its length; the last is for 8 bytes or more.
        const OWN: [u64; 9] = {
            let mut masks = [u64::MAX; 9];
            let mut len = 0;
            while len < 8 {
                masks[len] = !(u64::MAX >> (8 * len));
                len += 1;
            }
            masks
        };
        match self.bytes.get(start..).and_then(<[u8]>::first_chunk) {
            Some(head) => u64::from_be_bytes(*head) & OWN[len.min(8)],
            None => prefix(&self.bytes[start..start + len]),
        }
    }
}

/// Returns the first 8 bytes of a value as a number that sorts like them; shorter values are padded with zeros.
fn prefix(value: &[u8]) -> u64 {
    let mut head = [0; 8];
    let len = value.len().min(8);
    head[..len].copy_from_slice(&value[..len]);
    u64::from_be_bytes(head)
}

/// Returns the part of a value that determines its bound.
fn head(value: &[u8]) -> &[u8] {
    &value[..value.len().min(MAX_BOUND_BYTES + 1)]
}

/// Statistics of the byte values of a field.
#[derive(Debug, Clone)]
pub(crate) struct ByteStats {
    /// Whether to collect more than the constant.
    detailed: bool,
    first: Option<Vec<u8>>,
    differ: bool,
    lengths: Lengths,
    ascii_count: u64,
    range: Option<(Extreme, Extreme)>,
}

impl ByteStats {
    /// Returns statistics of no values. If not `detailed`, they only track the constant.
    pub(crate) fn new(detailed: bool) -> Self {
        Self {
            detailed,
            first: None,
            differ: false,
            lengths: Lengths::default(),
            ascii_count: 0,
            range: None,
        }
    }

    /// Adds the values that are not null among the first `len`.
    pub(crate) fn update<E: Fn(usize) -> usize>(
        &mut self,
        len: usize,
        nulls: Option<&BooleanBuffer>,
        run: &ByteRun<'_, E>,
    ) {
        if !self.detailed && self.differ {
            return;
        }
        let all = &run.bytes[(run.end)(0)..(run.end)(len)];
        let all_ascii = self.detailed && all.is_ascii();
        match nulls {
            None => self.update_slice(0, len, run, all_ascii),
            Some(nulls) => {
                for (start, end) in nulls.set_slices() {
                    self.update_slice(start, end, run, all_ascii);
                }
            }
        }
    }

    fn update_slice<E: Fn(usize) -> usize>(
        &mut self,
        start: usize,
        end: usize,
        run: &ByteRun<'_, E>,
        all_ascii: bool,
    ) {
        let mut same = start;
        while !self.differ && same < end {
            self.update_constant(run.value(same));
            same += 1;
        }
        if !self.detailed {
            return;
        }
        self.ascii_count += if all_ascii {
            (end - start) as u64
        } else {
            (start..end).filter(|&i| run.value(i).is_ascii()).count() as u64
        };
        let mut begin = start;
        while begin < end {
            let group = begin..end.min(begin + GROUP);
            begin = group.end;
            self.update_group(group, run);
        }
    }

    /// Adds the values of a group to the lengths and the range.
    fn update_group<E: Fn(usize) -> usize>(&mut self, group: Range<usize>, run: &ByteRun<'_, E>) {
        let mut lengths = self.lengths;
        let mut prefixes = [(0, 0); GROUP];
        let mut from = (run.end)(group.start);
        // Only values near a bound need a comparison of all their bytes, and such values are rare. The loop collects
        // whether the group has one, without a branch per value.
        let is_near = |(prefix, len): (u64, usize), (low, high): ((u64, usize), (u64, usize))| {
            let ties = |bound: (u64, usize)| (prefix == bound.0) & ((len > 8) | (bound.1 != len));
            (prefix < low.0) | (prefix > high.0) | ties(low) | ties(high)
        };
        let mut bounds = self.bounds();
        let mut any = false;
        for (i, place) in group.clone().zip(&mut prefixes) {
            let to = (run.end)(i + 1);
            let len = to - from;
            *place = (run.prefix(from, len), len);
            lengths.add(len as u64);
            any |= is_near(*place, bounds);
            from = to;
        }
        self.lengths = lengths;
        if any {
            for (i, value) in group.zip(prefixes) {
                if is_near(value, bounds) {
                    self.widen(run.value(i));
                    bounds = self.bounds();
                }
            }
        }
    }

    /// Returns prefix and length of the least and of the greatest value. Before the first value, returns bounds that
    /// every value is outside of.
    fn bounds(&self) -> ((u64, usize), (u64, usize)) {
        match &self.range {
            Some((min, max)) => ((min.prefix, min.value.len()), (max.prefix, max.value.len())),
            None => ((u64::MAX, usize::MAX), (0, usize::MAX)),
        }
    }

    fn widen(&mut self, value: &[u8]) {
        let new = || Extreme {
            prefix: prefix(value),
            value: head(value).to_vec(),
        };
        let Some((min, max)) = &mut self.range else {
            self.range = Some((new(), new()));
            return;
        };
        for (extreme, order) in [(min, Ordering::Less), (max, Ordering::Greater)] {
            if head(value).cmp(&extreme.value) == order {
                extreme.prefix = prefix(value);
                extreme.value.clear();
                extreme.value.extend_from_slice(head(value));
            }
        }
    }

    fn update_constant(&mut self, value: &[u8]) {
        match &self.first {
            Some(first) => self.differ = first != value,
            None if value.len() <= MAX_CONSTANT_BYTES => self.first = Some(value.to_vec()),
            None => self.differ = true,
        }
    }

    /// Adds a value that occurs `times` times.
    pub(crate) fn update_repeated(&mut self, value: &[u8], times: u64) {
        let run = ByteRun {
            bytes: value,
            end: |i| i * value.len(),
        };
        self.update(1, None, &run);
        if self.detailed && value.is_ascii() {
            self.ascii_count += times - 1;
        }
    }

    /// Returns the range of the values, which are text if `is_text`. Bounds above 64 bytes are cut. Returns `None` if
    /// there are no values, or if the greatest value is cut and no bound of 64 bytes sorts after it.
    pub(crate) fn range(&self, is_text: bool) -> Option<RangeStats> {
        let (min, max) = self.range.as_ref()?;
        let (min, min_inclusive) = if min.value.len() > MAX_BOUND_BYTES {
            (cut(&min.value, is_text), false)
        } else {
            (min.value.as_slice(), true)
        };
        let (max, max_inclusive) = if max.value.len() > MAX_BOUND_BYTES {
            (above(cut(&max.value, is_text), is_text)?, false)
        } else {
            (max.value.clone(), true)
        };
        Some(RangeStats {
            min_value: Some(byte_value(min, is_text)),
            min_inclusive,
            max_value: Some(byte_value(&max, is_text)),
            max_inclusive,
        })
    }

    /// Returns the lengths in bytes, all 0 if every value was null.
    pub(crate) fn lengths(&self) -> LengthStats {
        self.lengths.finish()
    }

    /// Returns the number of ASCII values.
    pub(crate) fn ascii_count(&self) -> u64 {
        self.ascii_count
    }

    /// Returns the common bytes of all values, if all are equal.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        self.first.as_deref().filter(|_| !self.differ)
    }
}

/// Converts bytes to a property value: text if `is_text` and valid UTF-8, else binary.
pub(crate) fn byte_value(value: &[u8], is_text: bool) -> AnyValue {
    match std::str::from_utf8(value) {
        Ok(text) if is_text => text.into(),
        _ => value.into(),
    }
}

/// Returns the longest start of a value that fits a bound.
fn cut(value: &[u8], is_text: bool) -> &[u8] {
    let is_border = |&len: &usize| !is_text || value.get(len).is_none_or(|b| b & 0xC0 != 0x80);
    let len = (0..=MAX_BOUND_BYTES.min(value.len()))
        .rev()
        .find(is_border)
        .unwrap_or(0);
    &value[..len]
}

/// Returns a bound of at most [`MAX_BOUND_BYTES`] that sorts after everything that begins with `start`, or `None` if no
/// such bound exists. `start` must fit a bound.
fn above(start: &[u8], is_text: bool) -> Option<Vec<u8>> {
    if let Some(text) = std::str::from_utf8(start).ok().filter(|_| is_text) {
        let mut text = text.to_owned();
        while let Some(last) = text.pop() {
            let next = (last..=char::MAX).nth(1);
            if let Some(next) = next.filter(|c| text.len() + c.len_utf8() <= MAX_BOUND_BYTES) {
                text.push(next);
                return Some(text.into_bytes());
            }
        }
        return None;
    }
    let last = start.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut bound = start[..=last].to_vec();
    bound[last] += 1;
    Some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ValueKind;
    use proptest::prelude::*;

    fn update(stats: &mut ByteStats, values: &[&[u8]], nulls: Option<&BooleanBuffer>) {
        // Bytes around the values must not matter.
        let (mut bytes, mut ends) = (vec![0xff; 3], vec![3]);
        for value in values {
            bytes.extend_from_slice(value);
            ends.push(bytes.len());
        }
        bytes.push(0xff);
        let run = ByteRun {
            bytes: &bytes,
            end: |i: usize| ends[i],
        };
        for (i, value) in values.iter().enumerate() {
            assert_eq!(run.prefix(ends[i], value.len()), prefix(value));
        }
        stats.update(values.len(), nulls, &run);
    }

    fn stats_of(values: &[&[u8]]) -> ByteStats {
        let mut stats = ByteStats::new(true);
        update(&mut stats, values, None);
        stats
    }

    fn bytes(value: Option<AnyValue>) -> Vec<u8> {
        match value.unwrap().kind {
            Some(ValueKind::String(text)) => text.into_bytes(),
            Some(ValueKind::Bytes(bytes)) => bytes.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    /// Texts that often exceed a bound, with characters without a successor of the same size.
    fn text() -> impl Strategy<Value = String> {
        let edges = "[a\u{7f}\u{7ff}\u{d7ff}\u{10ffff}]{0,70}";
        ("\\PC{0,3}", edges, "\\PC{0,3}").prop_map(|(a, b, c)| a + &b + &c)
    }

    proptest! {
        #[test]
        fn prefixes_sort_like_values(a: Vec<u8>, b: Vec<u8>) {
            let order = prefix(&a).cmp(&prefix(&b));
            prop_assert!(order.is_eq() || order == a.cmp(&b), "{a:?} {b:?}");
            let mut padded = a.clone();
            padded.resize(a.len().max(8), 0);
            prop_assert_eq!(prefix(&a), prefix(&padded));
        }

        #[test]
        fn the_least_and_the_greatest_of_many_values_are_found(
            values in proptest::collection::vec("[ab\u{0}]{0,12}", 1..4 * GROUP),
        ) {
            let values: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
            let range = stats_of(&values).range(false).unwrap();
            prop_assert_eq!(bytes(range.min_value), values.iter().min().unwrap().to_vec());
            prop_assert_eq!(bytes(range.max_value), values.iter().max().unwrap().to_vec());
        }

        #[test]
        fn every_text_lies_in_the_range(
            values in proptest::collection::vec(text(), 1..6),
            nulls in proptest::collection::vec(any::<bool>(), 6),
            two in any::<bool>(),
        ) {
            let present = |i: usize| !nulls[i] || i == 0;
            let bits = BooleanBuffer::collect_bool(values.len(), present);
            let mut stats = ByteStats::new(true);
            let first = if two { values.len() / 2 } else { 0 };
            for (start, end) in [(0, first), (first, values.len())] {
                let bits = bits.slice(start, end - start);
                let part: Vec<&[u8]> = values[start..end].iter().map(|v| v.as_bytes()).collect();
                update(&mut stats, &part, Some(&bits));
            }
            let seen = || values.iter().enumerate().filter(|(i, _)| present(*i)).map(|(_, v)| v);
            let min = seen().min().unwrap();
            let max = seen().max().unwrap();
            let lengths = stats.lengths();
            prop_assert_eq!(lengths.min, seen().map(String::len).min().unwrap() as u64);
            prop_assert_eq!(lengths.max, seen().map(String::len).max().unwrap() as u64);
            prop_assert_eq!(stats.ascii_count(), seen().filter(|v| v.is_ascii()).count() as u64);
            prop_assert_eq!(stats.constant().is_some(), min == max);
            let Some(range) = stats.range(true) else {
                let last = char::MAX.to_string().repeat(16);
                prop_assert!(max.starts_with(&last));
                return Ok(());
            };
            let (low, high) = (bytes(range.min_value), bytes(range.max_value));
            prop_assert!(low.len() <= 64 && high.len() <= 64);
            prop_assert_eq!(range.min_inclusive, min.len() <= 64);
            prop_assert_eq!(range.max_inclusive, max.len() <= 64);
            match range.min_inclusive {
                true => prop_assert_eq!(&low, min.as_bytes()),
                false => prop_assert!(low.as_slice() < min.as_bytes()),
            }
            match range.max_inclusive {
                true => prop_assert_eq!(&high, max.as_bytes()),
                false => prop_assert!(high.as_slice() > max.as_bytes()),
            }
            prop_assert!(std::str::from_utf8(&high).is_ok() && std::str::from_utf8(&low).is_ok());
        }
    }

    #[test]
    fn bounds_of_bytes_are_rounded_up_where_they_are_cut() {
        let long = [&[1u8; 10][..], &[0xff; 80]].concat();
        let range = stats_of(&[&long]).range(false).unwrap();
        assert_eq!(bytes(range.min_value), long[..64]);
        assert_eq!(bytes(range.max_value), [&[1u8; 9][..], &[2]].concat());
        assert_eq!(stats_of(&[&[0xff; 65]]).range(false), None);
        let exact = stats_of(&[&[0xff; 64]]).range(false).unwrap();
        assert!(exact.max_inclusive && exact.min_inclusive);
    }

    #[test]
    fn repeated_values_count_as_often_as_they_occur() {
        let mut stats = ByteStats::new(true);
        stats.update_repeated(b"ab", 3);
        stats.update_repeated("\u{e9}".as_bytes(), 2);
        assert_eq!(stats.ascii_count(), 3);
        assert_eq!(stats.constant(), None);
        assert_eq!(bytes(stats.range(true).unwrap().min_value), b"ab");
    }

    #[test]
    fn a_constant_is_kept_until_values_differ() {
        for detailed in [true, false] {
            let mut stats = ByteStats::new(detailed);
            update(&mut stats, &[b"a", b"a"], None);
            assert_eq!(stats.constant(), Some(&b"a"[..]));
            update(&mut stats, &[b""], None);
            assert_eq!(stats.constant(), None);
            assert_eq!(stats.range(true).is_some(), detailed);
        }
    }
}
