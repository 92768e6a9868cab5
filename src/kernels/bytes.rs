//! Loops over byte strings: offsets, gathering, views.

use super::fresh_memory::append_bytes;
use super::words::codes_below;
use arrow_array::OffsetSizeTrait;
use arrow_buffer::{ArrowNativeType, MutableBuffer, OffsetBuffer, ScalarBuffer};
use std::mem::MaybeUninit;
use std::ops::Range;

/// An offset type of Arrow's layouts.
pub(crate) trait Offset: ArrowNativeType {
    /// The largest offset.
    const LARGEST: u64;
    /// Converts `value`, which is at most `LARGEST`.
    fn of(value: u64) -> Self;
}

impl Offset for i32 {
    const LARGEST: u64 = i32::MAX.unsigned_abs() as u64;
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the caller has checked the largest offset"
    )]
    fn of(value: u64) -> Self {
        value as i32
    }
}

impl Offset for i64 {
    const LARGEST: u64 = i64::MAX.unsigned_abs();
    #[inline(always)]
    fn of(value: u64) -> Self {
        value.cast_signed()
    }
}

/// Returns whether no offset is below its predecessor.
#[must_use]
pub(crate) fn is_ascending(offsets: &[u64]) -> bool {
    // Counting instead of stopping early lets the compiler vectorize the loop.
    offsets.windows(2).filter(|w| w[0] > w[1]).count() == 0
}

/// Returns the offsets if they ascend and the first one is not negative, else `None`.
#[must_use]
pub(crate) fn checked_offsets<O: OffsetSizeTrait>(
    offsets: ScalarBuffer<O>,
) -> Option<OffsetBuffer<O>> {
    let is_negative = *offsets.first()? < O::zero();
    let descents = offsets.windows(2).filter(|w| w[0] > w[1]).count();
    if is_negative || descents > 0 {
        return None;
    }
    // SAFETY: there is an offset, the first is not negative, and none is below its predecessor.
    Some(unsafe { OffsetBuffer::new_unchecked(offsets) })
}

/// Appends the end offsets of the values of `range`, shifted so that the first value starts at `base`. The
/// caller has checked that the offsets ascend and that the last end is at most `O::LARGEST`.
pub(crate) fn rebase_offsets<O: Offset>(
    offsets: &[u64],
    range: Range<usize>,
    base: u64,
    out: &mut Vec<O>,
) {
    let Some(ends) = offsets.get(range.start..=range.end) else {
        return;
    };
    let Some((&first, ends)) = ends.split_first() else {
        return;
    };
    let shift = base.wrapping_sub(first);
    out.extend(ends.iter().map(|end| O::of(end.wrapping_add(shift))));
}

/// Appends `entries[table[c]..table[c + 1]]` for each code `c`, `total` bytes altogether.
///
/// The caller guarantees that `table` ascends and ends within `entries`, and that codes are below
/// `table.len() - 1`.
pub(crate) fn append_gathered(
    codes: &[u32],
    table: &[u64],
    entries: &[u8],
    total: usize,
    values: &mut MutableBuffer,
) {
    if let Some(entries) = short_entries(codes, table, entries) {
        // SAFETY: `gather_short` writes the bytes that it counts, from the first one on.
        unsafe {
            append_bytes(values, total + SHORT, |places| {
                gather_short(codes, &entries, places)
            });
        }
        return;
    }
    // A copy of the entries with padding lets all of them take the fast path.
    let padded = (entries.len() <= total).then(|| [entries, &[0; SLACK]].concat());
    let entries = padded.as_deref().unwrap_or(entries);
    // SAFETY: `gather_bytes` writes the bytes that it counts, from the first one on.
    unsafe {
        append_bytes(values, total + SLACK, |places| {
            gather_bytes(codes, table, entries, places)
        });
    }
}

/// Writes the entries of the codes, for [`append_gathered`]. Returns the number of bytes; it has written all
/// of them. `dst` should have room for [`SLACK`] more bytes.
fn gather_bytes(
    codes: &[u32],
    table: &[u64],
    entries: &[u8],
    dst: &mut [MaybeUninit<u8>],
) -> usize {
    let entries = written(entries);
    let mut at = 0;
    for &code in codes {
        let code = code as usize;
        let (start, end) = (table[code].as_usize(), table[code + 1].as_usize());
        let len = end - start;
        // One store of fixed size is faster than a call of memcpy. The next entry overwrites the excess.
        if len <= SLACK
            && let Some(src) = entries.get(start..start + SLACK)
            && let Some(dst) = dst.get_mut(at..at + SLACK)
        {
            dst.copy_from_slice(src);
        } else {
            dst[at..at + len].copy_from_slice(&entries[start..end]);
        }
        at += len;
    }
    at
}

/// Longest entry that [`ShortEntry`] holds, in bytes.
const SHORT: usize = 24;

/// The bytes and the length of a short entry, in the same cache line.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct ShortEntry {
    bytes: [u8; SHORT],
    len: usize,
}

/// Returns all entries as short ones. Returns `None` if an entry is too long, if a code has no entry, or if
/// there are too few codes for the conversion to pay off.
fn short_entries(codes: &[u32], table: &[u64], entries: &[u8]) -> Option<Vec<ShortEntry>> {
    if table.len().saturating_mul(4) > codes.len()
        || !codes_below(codes, table.len().saturating_sub(1))
    {
        return None;
    }
    let short = |ends: &[u64]| {
        let entry = entries.get(ends[0].as_usize()..ends[1].as_usize())?;
        let mut bytes = [0; SHORT];
        bytes.get_mut(..entry.len())?.copy_from_slice(entry);
        let len = entry.len();
        Some(ShortEntry { bytes, len })
    };
    table.windows(2).map(short).collect()
}

/// Writes the entries of codes that are known to have one, and returns the number of bytes.
fn gather_short(codes: &[u32], entries: &[ShortEntry], dst: &mut [MaybeUninit<u8>]) -> usize {
    let mut at = 0;
    for &code in codes {
        // SAFETY: `short_entries` has checked that every code is below the number of entries.
        let entry = unsafe { entries.get_unchecked(code as usize) };
        let Some(place) = dst.get_mut(at..at + SHORT) else {
            return at;
        };
        // The next entry overwrites the excess.
        place.copy_from_slice(written(&entry.bytes));
        at += entry.len;
    }
    at
}

/// Views bytes as a source for copies to uninitialized memory.
fn written(bytes: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: both types have the same layout.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Padding that [`gather_bytes`] needs after the entries and the values for its fast path.
const SLACK: usize = 32;

/// Longest value that a view holds inline, in bytes.
pub(super) const INLINE: usize = 12;

/// Appends one view per value of `range`. Long values refer to buffer number `buffer`, whose content is
/// `data`. The caller guarantees that the offsets ascend, end within `data`, and are at most `i32::MAX`.
pub(crate) fn make_views(
    offsets: &[u64],
    range: Range<usize>,
    data: &[u8],
    buffer: u32,
    out: &mut Vec<u128>,
) {
    let Some(offsets) = offsets.get(range.start..=range.end) else {
        return;
    };
    out.extend(offsets.windows(2).map(|w| {
        let (start, end) = (w[0].as_usize(), w[1].as_usize());
        view(data, start, end - start, buffer)
    }));
}

/// Returns the view of the `len` bytes at `start` of `data`, which must be within it. A long value refers
/// to buffer number `buffer`.
#[inline(always)]
pub(super) fn view(data: &[u8], start: usize, len: usize, buffer: u32) -> u128 {
    let head = match data.get(start..).and_then(<[u8]>::first_chunk::<16>) {
        Some(sixteen) => u128::from_le_bytes(*sixteen),
        None => {
            let mut sixteen = [0; 16];
            let rest = data.get(start..).unwrap_or_default();
            sixteen[..rest.len()].copy_from_slice(rest);
            u128::from_le_bytes(sixteen)
        }
    };
    // Both kinds are computed, because the lengths of mixed values cannot be predicted.
    let short = (head & FIRST_BYTES[len.min(INLINE)]) << 32;
    let prefix = head & u128::from(u32::MAX);
    let long = (prefix << 32) | (u128::from(buffer) << 64) | ((start as u128) << 96);
    len as u128 | if len <= INLINE { short } else { long }
}

/// Masks of the first 0 to 12 bytes.
const FIRST_BYTES: [u128; INLINE + 1] = {
    let mut masks = [0; INLINE + 1];
    let mut len = 1;
    while len <= INLINE {
        masks[len] = masks[len - 1] << 8 | 0xFF;
        len += 1;
    }
    masks
};

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Array, BinaryViewArray};
    use arrow_buffer::{Buffer, ScalarBuffer};

    const WORDS: &[&[u8]] = &[
        b"",
        b"a",
        b"twelve bytes",
        b"thirteen byte",
        b"",
        b"something a good deal longer",
        b"z",
    ];

    fn parts() -> (Vec<u64>, Vec<u8>) {
        let mut offsets = vec![0];
        let mut data = Vec::new();
        for word in WORDS {
            data.extend_from_slice(word);
            offsets.push(data.len() as u64);
        }
        (offsets, data)
    }

    #[test]
    fn views_are_what_arrow_expects() {
        let (offsets, data) = parts();
        let mut views = Vec::new();
        make_views(&offsets, 0..WORDS.len(), &data, 0, &mut views);
        let views = ScalarBuffer::from(views);
        let array = BinaryViewArray::try_new(views, vec![Buffer::from_vec(data)], None).unwrap();
        assert_eq!(array.len(), WORDS.len());
        assert!(array.iter().zip(WORDS).all(|(a, b)| a == Some(*b)));
    }

    #[test]
    fn gathered_bytes_follow_the_codes() {
        let (table, entries) = parts();
        let codes = [5, 1, 0, 3, 6, 6, 2, 4, 5];
        let want: Vec<u8> = codes
            .iter()
            .flat_map(|&c| WORDS[c as usize].to_vec())
            .collect();
        // Entries that are shorter than the gathered bytes, and longer ones.
        for spare in [0, 1000] {
            let entries = [&entries[..], &vec![7; spare]].concat();
            let mut values = MutableBuffer::new(0);
            values.extend_from_slice(b"before");
            append_gathered(&codes, &table, &entries, want.len(), &mut values);
            assert_eq!(values.as_slice(), [b"before", &want[..]].concat());
        }
    }

    #[test]
    fn short_bytes_follow_the_codes() {
        let words: [&[u8]; 4] = [b"", b"a", &[b'w'; SHORT], b"of seven"];
        let codes: Vec<u32> = (0..100).map(|i| i * 7 % 4).collect();
        let table: Vec<u64> = std::iter::once(0)
            .chain(words.iter().scan(0, |end, word| {
                *end += word.len() as u64;
                Some(*end)
            }))
            .collect();
        let want: Vec<u8> = codes
            .iter()
            .flat_map(|&c| words[c as usize].to_vec())
            .collect();
        let mut values = MutableBuffer::new(0);
        values.extend_from_slice(b"before");
        let entries = words.concat();
        assert!(short_entries(&codes, &table, &entries).is_some());
        append_gathered(&codes, &table, &entries, want.len(), &mut values);
        assert_eq!(values.as_slice(), [b"before", &want[..]].concat());
        // An entry is too long, a code has no entry, or there are too few codes.
        let long = [&entries[..], &[7; SHORT + 1]].concat();
        let end = long.len() as u64;
        let longer = [&table[..], &[end]].concat();
        assert!(short_entries(&codes, &longer, &long).is_none());
        assert!(short_entries(&codes, &table[..4], &entries).is_none());
        assert!(short_entries(&codes[..19], &table, &entries).is_none());
    }

    #[test]
    fn rebased_offsets_start_at_the_base() {
        let mut out = vec![100i32];
        rebase_offsets(&[0, 3, 3, 10, 12], 1..4, 100, &mut out);
        assert_eq!(out, [100, 100, 107, 109]);
        assert!(is_ascending(&[0, 0, 5]));
        for (offsets, is_valid) in [
            (vec![0, 0, 5], true),
            (vec![3], true),
            (vec![], false),
            (vec![0, 5, 4], false),
            (vec![-1, 0], false),
        ] {
            let checked = checked_offsets::<i32>(offsets.into());
            assert_eq!(checked.is_some(), is_valid);
        }
        assert!(!is_ascending(&[0, 5, 4]));
    }
}
