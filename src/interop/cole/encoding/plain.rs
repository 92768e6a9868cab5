//! Spec: COLE 1.0, "PLAIN Encoding".
//!
//! ```text
//! INT32, INT64   value 0 │ value 1 │ ...
//! STRING         offset 0 │ ... │ offset n │ bytes of all strings       offsets of 32 bits, the first is 0
//! ```

use super::integer::Integer;
use super::strings::Strings;
use super::to_len;
use crate::error::{Error, Result};
use crate::interop::cole::cursor::Cursor;
use bytes::Bytes;

/// Returns the size of a page of strings in bytes.
pub(super) fn strings_size(num_values: usize, string_bytes: usize) -> u64 {
    4 * (num_values as u64 + 1) + string_bytes as u64
}

/// Reads a page of `num_values` integers, which must take all of the bytes.
pub(super) fn read_integers<T: Integer>(bytes: &[u8], num_values: u32) -> Result<Vec<T>> {
    let expected = u64::from(num_values) * T::WIDTH as u64;
    if bytes.len() as u64 != expected {
        return Err(Error::corrupt(format!(
            "{num_values} values have {} bytes, expected {expected}",
            bytes.len()
        )));
    }
    let mut cursor = Cursor::new(bytes);
    (0..num_values).map(|_| T::read(&mut cursor)).collect()
}

pub(super) fn write_integers<T: Integer>(values: &[T], out: &mut Vec<u8>) {
    for value in values {
        value.write(out);
    }
}

/// Reads a page of `num_values` strings, which must take all of the bytes.
pub(super) fn read_strings(bytes: &Bytes, num_values: u32) -> Result<Strings> {
    let mut cursor = Cursor::new(bytes);
    let expected = 4 * (u64::from(num_values) + 1);
    // On targets with addresses of 32 bits, the product may exceed them.
    let len = usize::try_from(expected).map_err(|_| {
        Error::corrupt(format!(
            "expected {expected} bytes at byte 0, found {}",
            bytes.len()
        ))
    })?;
    let mut offsets = Cursor::new(cursor.take(len)?);
    let data = bytes.slice(cursor.position()..);
    let mut from = offsets.u32()?;
    if from != 0 {
        return Err(Error::corrupt(format!(
            "the first offset is {from}, expected 0"
        )));
    }
    let mut strings = Strings::with_capacity(data, to_len(num_values));
    for value in 0..num_values {
        let to = offsets.u32()?;
        if to < from {
            return Err(Error::corrupt(format!(
                "offset {} is {to}, less than the previous one, {from}",
                u64::from(value) + 1
            )));
        }
        strings.push(from..to)?;
        from = to;
    }
    strings.finish(from)
}

/// Appends a page of strings with these offsets into `data`.
pub(super) fn write_strings(offsets: &[u32], data: &[u8], out: &mut Vec<u8>) {
    for offset in offsets {
        out.extend_from_slice(&offset.to_le_bytes());
    }
    out.extend_from_slice(data);
}
