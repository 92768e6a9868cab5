//! Spec: COLE 1.0, "DELTA Encoding (integers only)".
//!
//! ```text
//! first value │ number of differences (varint) │ difference (varint) │ ...
//! ```
//! Differences wrap around in the width of the column, and are zigzag varints.

use super::integer::{Integer, too_wide};
use super::to_len;
use crate::error::{Error, Result};
use crate::interop::cole::cursor::Cursor;
use crate::interop::cole::varint::{self, unzigzag};

/// The form of the varints of differences. The specification is ambiguous: it says "varint" for differences, and
/// elsewhere that signed integers use zigzag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Differences {
    /// Zigzag varints.
    ZigZag,
    /// Varints of the difference in two's complement, with 64 bits.
    TwosComplement,
}

/// Reads a page of `num_values` integers, at least one, which must take all of the bytes.
pub(super) fn read<T: Integer>(
    bytes: &[u8],
    num_values: u32,
    differences: Differences,
) -> Result<Vec<T>> {
    let mut cursor = Cursor::new(bytes);
    let mut value = T::read(&mut cursor)?;
    let num_deltas = varint::read(&mut cursor)?;
    if num_deltas.checked_add(1) != Some(num_values.into()) {
        return Err(Error::corrupt(format!(
            "there are {num_deltas} differences, expected one less than the {num_values} values"
        )));
    }
    // A difference takes at least one byte, so the remaining bytes limit the number of values.
    let mut values = Vec::with_capacity(to_len(num_values).min(cursor.remaining() + 1));
    values.push(value);
    for _ in 0..num_deltas {
        let stored = varint::read(&mut cursor)?;
        let delta = match differences {
            Differences::ZigZag => unzigzag(stored),
            Differences::TwosComplement => stored.cast_signed(),
        };
        value = value.add(delta).ok_or_else(|| too_wide(delta))?;
        values.push(value);
    }
    cursor.finish()?;
    Ok(values)
}

/// Returns the size of the page in bytes, or `None` for no values.
pub(super) fn size<T: Integer>(values: &[T]) -> Option<u64> {
    let num_deltas = values.len().checked_sub(1)? as u64;
    let deltas = values
        .windows(2)
        .map(|pair| varint::size(pair[1].zigzag_delta(pair[0])));
    Some(T::WIDTH as u64 + varint::size(num_deltas) + deltas.sum::<u64>())
}

/// Appends a page with zigzag differences; nothing for no values.
pub(super) fn write<T: Integer>(values: &[T], out: &mut Vec<u8>) {
    let Some(first) = values.first() else {
        return;
    };
    first.write(out);
    varint::write(values.len() as u64 - 1, out);
    for pair in values.windows(2) {
        varint::write(pair[1].zigzag_delta(pair[0]), out);
    }
}
