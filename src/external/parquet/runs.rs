//! Spec: Parquet, "Run Length Encoding / Bit-Packing Hybrid": definition levels and codes of a dictionary.
//!
//! ```text
//! repeated: varint count << 1         | value, in whole bytes
//! packed:   varint count / 8 << 1 | 1 | values of `width` bits each
//! ```

use super::cursor::{Cursor, unpack};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use std::ops::RangeInclusive;

/// Runs of values of `width` bits, which is at most 32.
struct Runs<'a> {
    cursor: Cursor<'a>,
    width: u32,
}

enum Run<'a> {
    Repeated(u64, u64),
    Packed(u64, &'a [u8]),
}

impl Run<'_> {
    fn len(&self) -> u64 {
        match self {
            Self::Repeated(len, _) | Self::Packed(len, _) => *len,
        }
    }

    /// Counts the values from `counted.start()` on among the first `len` values. Returns `None` if a value is larger
    /// than `counted.end()`.
    fn count(&self, len: u64, width: u32, counted: &RangeInclusive<u64>) -> Option<u64> {
        match self {
            Self::Repeated(_, value) if value > counted.end() => None,
            Self::Repeated(_, value) => Some(if counted.contains(value) { len } else { 0 }),
            Self::Packed(_, bytes) if width == 1 && *counted.start() == 1 => {
                let len = usize::try_from(len).ok()?;
                let (whole, rest) = bytes.split_at_checked(len / 8)?;
                let ones = whole.iter().map(|byte| u64::from(byte.count_ones()));
                let last = rest.first().map_or(0, |byte| byte & ((1 << (len % 8)) - 1));
                Some(ones.sum::<u64>() + u64::from(last.count_ones()))
            }
            Self::Packed(_, bytes) => {
                let mut found = 0;
                for index in 0..usize::try_from(len).ok()? {
                    let value = unpack(bytes, width, index);
                    if value > *counted.end() {
                        return None;
                    }
                    found += u64::from(counted.contains(&value));
                }
                Some(found)
            }
        }
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Run<'a>> {
        let indicator = self.cursor.varint()?;
        // The crate `parquet` keeps numbers of values in 32 bits.
        let count = u64::from(u32::try_from(indicator >> 1).ok()?);
        if indicator == 0 {
            return None;
        }
        if indicator & 1 == 0 {
            let width = self.width.div_ceil(8) as usize;
            let mut value = [0; 8];
            let stored = self.cursor.take(width)?;
            value.get_mut(..width)?.copy_from_slice(stored);
            return Some(Run::Repeated(count, u64::from_le_bytes(value)));
        }
        let values = u64::from(u32::try_from(count * 8).ok()?);
        let bytes = usize::try_from(count * u64::from(self.width)).ok()?;
        // Some writers cut the last run after its last value.
        let stored = self.cursor.rest().len().min(bytes);
        let fit = match self.width {
            0 => values,
            width => values.min(stored as u64 * 8 / u64::from(width)),
        };
        Some(Run::Packed(fit, self.cursor.take(stored)?))
    }
}

/// Returns the number of highest levels among `count` levels, or `None` if there are fewer levels, or if a level is
/// higher.
pub(super) fn count_highest(bytes: &[u8], highest: u32, count: u64) -> Option<u64> {
    count_levels(bytes, highest..=highest, count)
}

/// Returns how many of `count` levels are in a range, or `None` if there are fewer levels, or if a level is higher.
pub(super) fn count_levels(bytes: &[u8], counted: RangeInclusive<u32>, count: u64) -> Option<u64> {
    let highest = *counted.end();
    let counted = u64::from(*counted.start())..=u64::from(highest);
    let width = u32::BITS - highest.leading_zeros();
    let runs = Runs {
        cursor: Cursor::new(bytes),
        width,
    };
    let (mut left, mut found) = (count, 0);
    for run in runs {
        let len = run.len().min(left);
        found += run.count(len, width, &counted)?;
        left -= len;
        if left == 0 {
            break;
        }
    }
    (left == 0).then_some(found)
}

/// Returns a run of `count` equal values of up to 8 bits.
pub(super) fn repeated(value: u8, count: u32) -> Vec<u8> {
    let (mut rest, mut run) = (u64::from(count) << 1, Vec::new());
    while rest >= 0x80 {
        let [low, ..] = rest.to_le_bytes();
        run.push(low | 0x80);
        rest >>= 7;
    }
    let [last, ..] = rest.to_le_bytes();
    run.extend([last, value]);
    run
}

/// Returns a bit for each of `count` levels: whether it is the highest. `None` if there are fewer levels, or if a level
/// is higher.
pub(super) fn are_highest(bytes: &[u8], highest: u32, count: u64) -> Option<BooleanBuffer> {
    let width = u32::BITS - highest.leading_zeros();
    let highest = u64::from(highest);
    bits_where(bytes, width, count, |level| {
        (level <= highest).then_some(level == highest)
    })
}

/// Returns a bit for each of `count` codes of `width` bits: the bit that `chosen` has for the code. `None` if there are
/// fewer codes, or if `chosen` has no bit for one of them.
pub(super) fn are_chosen(
    bytes: &[u8],
    width: u32,
    count: u64,
    chosen: &BooleanBuffer,
) -> Option<BooleanBuffer> {
    bits_where(bytes, width, count, |code| {
        let code = usize::try_from(code).ok()?;
        (code < chosen.len()).then(|| chosen.value(code))
    })
}

/// Returns the result of `is_wanted` for each of `count` values. `None` if there are fewer values, or if one of them
/// has no result.
fn bits_where(
    bytes: &[u8],
    width: u32,
    count: u64,
    is_wanted: impl Fn(u64) -> Option<bool>,
) -> Option<BooleanBuffer> {
    let cursor = Cursor::new(bytes);
    let mut runs = Runs { cursor, width };
    let mut left = usize::try_from(count).ok()?;
    let mut bits = BooleanBufferBuilder::new(left);
    while left > 0 {
        let run = runs.next()?;
        let len = usize::try_from(run.len()).map_or(left, |len| len.min(left));
        match run {
            Run::Repeated(_, value) => bits.append_n(len, is_wanted(value)?),
            Run::Packed(_, values) => {
                let mut wanted = vec![0; len.div_ceil(8)];
                for (at, byte) in wanted.iter_mut().enumerate() {
                    for bit in 0..8.min(len - at * 8) {
                        let is_set = is_wanted(unpack(values, width, at * 8 + bit))?;
                        *byte |= u8::from(is_set) << bit;
                    }
                }
                bits.append_packed_range(0..len, &wanted);
            }
        }
        left -= len;
    }
    Some(bits.finish())
}

/// Returns whether there are `count` values of `width` bits, and nothing but padding after them.
pub(super) fn are_values(bytes: &[u8], width: u32, count: u64) -> bool {
    let cursor = Cursor::new(bytes);
    let mut runs = Runs { cursor, width };
    let mut left = count;
    while left > 0 {
        let Some(run) = runs.next() else {
            return false;
        };
        left = left.saturating_sub(run.len());
    }
    runs.cursor.rest().iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_in_both_kinds_of_runs() {
        // Three times 1, then 8 packed bits, of which 5 count.
        let levels = [6, 1, 3, 0b1011_0110];
        assert_eq!(count_highest(&levels, 1, 8), Some(3 + 3));
        assert_eq!(count_highest(&levels, 1, 11), Some(3 + 5));
        assert_eq!(count_highest(&levels, 1, 12), None);
        for count in [1, 63, 64, 1_000_000, u32::MAX] {
            let levels = repeated(3, count);
            assert_eq!(count_highest(&levels, 3, count.into()), Some(count.into()));
        }
        // Levels of two bits: 2, 2, 1, 0 and again.
        let levels = [3, 0b0001_1010, 0b0001_1010];
        assert_eq!(count_highest(&levels, 2, 8), Some(4));
        assert_eq!(count_levels(&levels, 1..=2, 8), Some(6));
        assert_eq!(count_levels(&levels, 0..=2, 8), Some(8));
        assert_eq!(count_levels(&[16, 1], 1..=2, 8), Some(8));
        assert_eq!(count_highest(&[3, 0b11, 0], 2, 8), None);
        assert_eq!(count_highest(&[16, 3], 2, 8), None);
    }

    #[test]
    fn bits_tell_highest_levels_and_chosen_codes() {
        let bits = |bits: BooleanBuffer| bits.iter().map(u8::from).collect::<Vec<_>>();
        let levels = [6, 1, 3, 0b1011_0110];
        let found = are_highest(&levels, 1, 8).map(bits);
        assert_eq!(found.unwrap(), [1, 1, 1, 0, 1, 1, 0, 1]);
        assert_eq!(are_highest(&levels, 1, 12), None);
        assert_eq!(are_highest(&[16, 3], 2, 8), None);
        // Codes of 11 bits: 1, 2, 3 and so on, and then code 9 three times.
        let mut codes = vec![3];
        let mut packed = 0u128;
        for code in 0..8 {
            packed |= (code + 1) << (code * 11);
        }
        codes.extend(&packed.to_le_bytes()[..11]);
        codes.extend([6, 9, 0]);
        let chosen = |len| BooleanBuffer::collect_bool(len, |code| code % 3 == 0);
        let found = are_chosen(&codes, 11, 11, &chosen(10)).map(bits);
        assert_eq!(found.unwrap(), [0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1]);
        assert_eq!(are_chosen(&codes, 11, 11, &chosen(9)), None);
        assert_eq!(are_chosen(&codes, 11, 8, &chosen(9)).unwrap().len(), 8);
        assert_eq!(are_chosen(&codes, 11, 12, &chosen(10)), None);
        assert_eq!(are_chosen(&codes, 11, 0, &chosen(0)).unwrap().len(), 0);
    }

    #[test]
    fn values_must_be_there_with_nothing_after_them() {
        assert!(are_values(&[20, 7], 8, 10));
        assert!(are_values(&[20, 7, 0, 0], 8, 10));
        assert!(!are_values(&[20, 7, 1], 8, 10));
        assert!(!are_values(&[20, 7], 8, 11));
        assert!(!are_values(&[20], 8, 10));
        // A run of 2^40 values, which the crate `parquet` would take for another number.
        assert!(!are_values(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 7], 8, 10));
    }
}
