//! Converts between contiguous byte strings and views.

use super::bytes::{INLINE, Offset, view};
use super::words::codes_below;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, StringViewType, Utf8Type,
};
use arrow_array::{Array, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};

/// A type of byte strings that has a view type with the same values.
pub(crate) trait Viewable: ByteArrayType<Offset: Offset> {
    /// The type with views.
    type View: ByteViewType<Native = Self::Native>;
}

impl Viewable for Utf8Type {
    type View = StringViewType;
}

impl Viewable for BinaryType {
    type View = BinaryViewType;
}

/// Returns the values of an array as views into its bytes, which are not copied.
pub(crate) fn views_of<T: Viewable>(array: &GenericByteArray<T>) -> GenericByteViewArray<T::View> {
    let offsets = array.value_offsets();
    let first = offsets.first().map_or(0, |o| o.as_usize());
    let last = offsets.last().map_or(0, |o| o.as_usize());
    let values = array.values().slice_with_length(first, last - first);
    let mut has_long = false;
    let views: Vec<u128> = offsets
        .windows(2)
        .map(|ends| {
            let (start, end) = (ends[0].as_usize(), ends[1].as_usize());
            has_long |= end - start > INLINE;
            view(&values, start - first, end - start, 0)
        })
        .collect();
    let buffers = if has_long { vec![values] } else { Vec::new() };
    // SAFETY: a view of a long value is its length, its prefix, and its place in the only buffer, whose
    // size fits 32-bit offsets. A view of a short value holds it, padded with zeros. The values come
    // from a valid array of the same native type, and there are as many nulls as values.
    unsafe {
        GenericByteViewArray::new_unchecked(
            ScalarBuffer::from(views),
            buffers,
            array.nulls().cloned(),
        )
    }
}

/// Returns the entries of the codes. Returns `None` if a code has no entry, even at a null position, if an
/// entry is null, or if the number of null bits is not the number of codes.
pub(crate) fn gather_views<T: ByteViewType>(
    entries: &GenericByteViewArray<T>,
    codes: &[u32],
    nulls: Option<NullBuffer>,
) -> Option<GenericByteViewArray<T>> {
    let fits = nulls
        .as_ref()
        .is_none_or(|nulls| nulls.len() == codes.len());
    if !fits || entries.null_count() > 0 || !codes_below(codes, entries.len()) {
        return None;
    }
    let table = entries.views();
    // SAFETY: every code was just checked to be below the number of entries.
    let view = |&code: &u32| unsafe { *table.get_unchecked(code.as_usize()) };
    let views: Vec<u128> = codes.iter().map(view).collect();
    let buffers = entries.data_buffers().to_vec();
    // SAFETY: the views come from a valid array with the same buffers, and the nulls fit.
    Some(unsafe { GenericByteViewArray::new_unchecked(ScalarBuffer::from(views), buffers, nulls) })
}

/// Bytes that a copy of a short value may write after it.
const SLACK: usize = 32;

/// Appends the values of views one after the other, and the end offset of each. Null values are empty.
/// Stops once at least `limit` bytes have been appended. Returns the number of appended values, which is
/// at least one if there are any. Views that are not null must lie within the buffers.
pub(crate) fn append_views(
    views: &[u128],
    buffers: &[Buffer],
    nulls: Option<&BooleanBuffer>,
    limit: usize,
    values: &mut Vec<u8>,
    ends: &mut Vec<u64>,
) -> usize {
    match nulls {
        None => append(views, buffers, |_| true, limit, values, ends),
        Some(nulls) => append(views, buffers, |i| nulls.value(i), limit, values, ends),
    }
}

#[inline(always)]
fn append(
    views: &[u128],
    buffers: &[Buffer],
    is_valid: impl Fn(usize) -> bool,
    limit: usize,
    values: &mut Vec<u8>,
    ends: &mut Vec<u64>,
) -> usize {
    let length = |i: usize| if is_valid(i) { low(views[i]) } else { 0 };
    let mut taken = views.len();
    let mut total: usize = (0..taken).map(length).sum();
    if total > limit {
        (taken, total) = (0, 0);
        while taken < views.len() && (taken == 0 || total < limit) {
            total += length(taken);
            taken += 1;
        }
    }
    let mut at = values.len();
    values.resize(at + total + SLACK, 0);
    ends.extend(views[..taken].iter().enumerate().map(|(i, &view)| {
        let len = length(i);
        // Stores of fixed size are faster than calls of memcpy. The next value overwrites the excess.
        if len <= INLINE {
            if let Some(place) = values[at..].first_chunk_mut() {
                *place = (view >> 32).to_le_bytes();
            }
        } else {
            let (data, start) = (&buffers[low(view >> 64)], low(view >> 96));
            let wide = data.get(start..start + SLACK).filter(|_| len <= SLACK);
            match wide {
                Some(wide) => values[at..at + SLACK].copy_from_slice(wide),
                None => values[at..at + len].copy_from_slice(&data[start..start + len]),
            }
        }
        at += len;
        at as u64
    }));
    values.truncate(at);
    taken
}

/// Returns the low 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "what is asked for")]
fn low(view: u128) -> usize {
    (view as u32).as_usize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, StringArray, StringViewArray};

    #[test]
    fn views_are_the_values() {
        let texts = [
            "",
            "twelve bytes",
            "thirteen byte",
            "ä",
            "a good deal longer than that",
        ];
        let array: StringArray = texts
            .iter()
            .map(Some)
            .chain([None])
            .cycle()
            .take(20)
            .collect();
        for (start, len) in [(0, 20), (3, 9), (1, 1), (7, 0)] {
            let slice = array.slice(start, len);
            let views = views_of(&slice);
            views.to_data().validate_full().unwrap();
            assert!(views.iter().eq(slice.iter()));
        }
        let short = BinaryArray::from_iter_values([b"short"]);
        assert!(views_of(&short).data_buffers().is_empty());
    }

    #[test]
    fn gathered_views_are_the_entries_that_the_codes_name() {
        let texts = ["", "short", "an entry that is longer than a view", "ß"];
        let entries = StringViewArray::from_iter_values(texts).slice(1, 3);
        let codes = [2, 0, 1, 1, 0];
        let nulls = NullBuffer::from(vec![true, true, false, true, true]);
        for nulls in [None, Some(nulls)] {
            let got = gather_views(&entries, &codes, nulls.clone()).unwrap();
            got.to_data().validate_full().unwrap();
            let want = codes.iter().enumerate().map(|(i, &code)| {
                let present = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i));
                present.then_some(texts[code as usize + 1])
            });
            assert!(got.iter().eq(want));
        }
        assert!(gather_views(&entries, &[0, 3], None).is_none());
        assert!(gather_views(&entries, &codes, Some(NullBuffer::new_null(4))).is_none());
        let with_null = StringViewArray::from_iter([Some("a"), None]);
        assert!(gather_views(&with_null, &[0], None).is_none());
        assert!(gather_views(&entries.slice(0, 0), &[0], None).is_none());
        assert!(gather_views(&entries.slice(0, 0), &[], None).is_some());
    }

    #[test]
    fn views_are_appended_up_to_the_limit() {
        let texts = [
            "",
            "twelve bytes",
            "thirteen byte",
            "ä",
            "above two and thirty bytes, so copied",
        ];
        let texts: Vec<_> = texts
            .iter()
            .map(Some)
            .chain([None])
            .cycle()
            .take(50)
            .collect();
        let array: StringArray = texts.iter().collect();
        let views = views_of(&array.slice(1, 49));
        for limit in [0, 1, 100, usize::MAX] {
            let (mut values, mut ends) = (b"before".to_vec(), vec![6]);
            let (mut at, mut runs) = (0, 0);
            while at < views.len() {
                let nulls = views.nulls().unwrap().slice(at, views.len() - at);
                let start = values.len();
                let taken = append_views(
                    &views.views()[at..],
                    views.data_buffers(),
                    Some(nulls.inner()),
                    limit,
                    &mut values,
                    &mut ends,
                );
                let all = at + taken == views.len();
                assert!(all || values.len() - start >= limit);
                assert!(taken == 1 || ends[ends.len() - 2] - (start as u64) < limit as u64);
                (at, runs) = (at + taken, runs + 1);
            }
            assert_eq!(runs == 1, limit == usize::MAX);
            assert_eq!(ends.len(), 50);
            for (i, text) in texts[1..].iter().enumerate() {
                let value = &values[ends[i].as_usize()..ends[i + 1].as_usize()];
                assert_eq!(value, text.copied().unwrap_or_default().as_bytes());
            }
        }
    }
}
