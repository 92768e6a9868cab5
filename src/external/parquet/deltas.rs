//! Spec: Parquet, "Delta Encoding": integers as differences, in blocks of packed miniblocks.
//!
//! ```text
//! varint values of a block | varint miniblocks of a block | varint values | zigzag first value
//! blocks: zigzag least difference | u8 width of each miniblock | differences above the least, packed
//! ```

use super::cursor::{Cursor, unpack};

/// A miniblock has a multiple of this number of values, and a block a multiple of four times this number.
const UNIT: u64 = 32;

/// Reads `count` integers and passes them to `each`, if it is given. Returns the number of their bytes, or `None` if
/// the bytes are not that number of integers.
fn read(
    bytes: &[u8],
    count: u64,
    mut each: Option<&mut dyn FnMut(i64) -> Option<()>>,
) -> Option<usize> {
    let mut cursor = Cursor::new(bytes);
    let (block, miniblocks) = (cursor.varint()?, cursor.varint()?);
    let values = block.checked_div(miniblocks)?;
    let is_whole = values > 0
        && values.is_multiple_of(UNIT)
        && block.is_multiple_of(4 * UNIT)
        && values.checked_mul(miniblocks) == Some(block)
        && u32::try_from(block).is_ok();
    if !is_whole || cursor.varint()? != count {
        return None;
    }
    let mut last = cursor.integer()?;
    if let Some(each) = each.as_mut().filter(|_| count > 0) {
        each(last)?;
    }
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let least = cursor.integer()?;
        for &width in cursor.take(usize::try_from(miniblocks).ok()?)? {
            // Unused miniblocks have a width, but no values.
            let present = values.min(left);
            if present == 0 {
                break;
            }
            left -= present;
            let bytes = usize::try_from(values * u64::from(width) / 8).ok()?;
            // Some writers cut the last miniblock after its last value.
            let stored = cursor.take(bytes.min(cursor.rest().len()))?;
            let needed = present.checked_mul(u64::from(width))?.div_ceil(8);
            if width > 64 || (stored.len() as u64) < needed {
                return None;
            }
            let Some(each) = each.as_mut() else {
                continue;
            };
            let width = u32::from(width);
            if width > 32 {
                return None;
            }
            for index in 0..usize::try_from(present).ok()? {
                let above = i64::try_from(unpack(stored, width, index)).ok()?;
                last = last.checked_add(least)?.checked_add(above)?;
                each(last)?;
            }
        }
    }
    Some(cursor.position())
}

/// Returns whether the bytes are `count` integers.
pub(super) fn are_integers(bytes: &[u8], count: u64) -> bool {
    read(bytes, count, None) == Some(bytes.len())
}

/// Returns the bytes of all values of DELTA_LENGTH_BYTE_ARRAY; `None` unless they are `count` values.
pub(super) fn size_of_values(bytes: &[u8], count: u64) -> Option<u64> {
    let mut sum = 0u64;
    let mut each = |len: i64| {
        sum += u64::from(u32::try_from(len).ok()?);
        Some(())
    };
    let start = read(bytes, count, Some(&mut each))?;
    (bytes.len().checked_sub(start)? as u64 == sum).then_some(sum)
}

/// Returns the bytes of all values of DELTA_BYTE_ARRAY, which each begin with a part of the value before; `None` unless
/// they are `count` values.
pub(super) fn size_of_extended_values(bytes: &[u8], count: u64) -> Option<u64> {
    let mut prefixes = Vec::new();
    let start = read(
        bytes,
        count,
        Some(&mut |len| {
            prefixes.push(u64::from(u32::try_from(len).ok()?));
            Some(())
        }),
    )?;
    let suffixes = bytes.get(start..)?;
    let (mut sum, mut previous, mut stored) = (0u64, 0u64, 0u64);
    let mut prefixes = prefixes.into_iter();
    let start = read(
        suffixes,
        count,
        Some(&mut |len| {
            let suffix = u64::from(u32::try_from(len).ok()?);
            let prefix = prefixes.next().filter(|prefix| *prefix <= previous)?;
            previous = prefix + suffix;
            stored += suffix;
            sum = sum.checked_add(previous)?;
            Some(())
        }),
    )?;
    (suffixes.len().checked_sub(start)? as u64 == stored).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths 5, 5, 4, 6 in blocks of 128 values and 4 miniblocks: least difference -1, then 1, 0, 3 in two bits.
    const LENGTHS: [u8; 18] = [
        0x80, 1, 4, 4, 10, 1, 2, 0, 0, 0, 0b11_0001, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn integers_and_the_bytes_of_values_are_counted() {
        assert!(are_integers(&LENGTHS, 4));
        assert!(!are_integers(&LENGTHS, 5));
        assert!(!are_integers(&[&LENGTHS[..], &[0]].concat(), 4));
        let values = [&LENGTHS[..], b"helloworldtestvalues"].concat();
        assert_eq!(size_of_values(&values, 4), Some(20));
        assert_eq!(size_of_values(&values[..37], 4), None);
        // The same lengths as prefixes and as suffixes: the first value has no prefix.
        let values = [&LENGTHS[..], &values].concat();
        assert_eq!(size_of_extended_values(&values, 4), None);
        // The prefixes 0, 5, 5, 4: first value 0, least difference -1, then 6, 1, 0 in three bits.
        let prefixes = [
            0x80,
            1,
            4,
            4,
            0,
            1,
            3,
            0,
            0,
            0,
            0b0000_1110,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ];
        let values = [&prefixes[..], &LENGTHS, b"helloworldtestvalues"].concat();
        assert_eq!(size_of_extended_values(&values, 4), Some(14 + 20));
    }

    #[test]
    fn claims_of_many_values_take_no_time() {
        // 2^60 values in blocks of 2^31 - 128 values without a bit.
        let claim = [
            0x80, 0xff, 0xff, 0xff, 7, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 16, 0, 0,
            0,
        ];
        assert_eq!(size_of_values(&claim, 4), None);
        assert!(!are_integers(&claim, 1 << 20));
    }
}
