//! Spec: COLE 1.0, "RLE Encoding (Run-Length Encoding)".
//!
//! ```text
//! number of runs (varint) │ length (varint) │ value │ length │ value │ ...
//! ```
//! Integers are stored without encoding. A string is stored as its length in 32 bits and its bytes, like an entry of a
//! dictionary.

use super::integer::Integer;
use super::runs::{Runs, runs_of};
use super::strings::Strings;
use crate::error::{Error, Result};
use crate::interop::cole::cursor::Cursor;
use crate::interop::cole::varint;
use bytes::Bytes;

/// Minimum bytes of a run.
const MIN_RUN_BYTES: usize = 2;

/// Reads the runs of `num_values` values, which must take all of the bytes.
pub(super) fn read<T>(
    bytes: &[u8],
    num_values: u32,
    mut read_value: impl FnMut(&mut Cursor<'_>) -> Result<T>,
) -> Result<(Runs, Vec<T>)> {
    let mut cursor = Cursor::new(bytes);
    let num_runs = varint::read(&mut cursor)?;
    let room = cursor.remaining() / MIN_RUN_BYTES;
    if num_runs > room as u64 {
        return Err(Error::corrupt(format!(
            "{num_runs} runs do not fit {} bytes",
            cursor.remaining()
        )));
    }
    let capacity = usize::try_from(num_runs).map_or(room, |runs| runs.min(room));
    let (mut runs, mut values) = (Runs::with_capacity(capacity), Vec::with_capacity(capacity));
    for run in 0..num_runs {
        let len = varint::read(&mut cursor)?;
        runs.push(len).ok_or_else(|| {
            Error::corrupt(format!(
                "run {run} has {len} values, more than a page can hold"
            ))
        })?;
        values.push(read_value(&mut cursor)?);
    }
    if runs.num_values() != num_values {
        return Err(Error::corrupt(format!(
            "the runs have {} values, expected {num_values}",
            runs.num_values()
        )));
    }
    cursor.finish()?;
    Ok((runs, values))
}

/// Reads runs of integers. If this fails, reads them again with varints as values.
pub(super) fn read_integers<T: Integer>(bytes: &[u8], num_values: u32) -> Result<(Runs, Vec<T>)> {
    read(bytes, num_values, T::read)
        .or_else(|error| read(bytes, num_values, T::read_varint).map_err(|_| error))
}

/// Reads runs of dictionary codes. If this fails, reads them again with varints as codes.
pub(super) fn read_codes(bytes: &[u8], num_values: u32) -> Result<(Runs, Vec<u32>)> {
    let read_varint = |cursor: &mut Cursor<'_>| {
        let code = varint::read(cursor)?;
        u32::try_from(code)
            .map_err(|_| Error::corrupt(format!("{code} is not a code of a dictionary")))
    };
    read(bytes, num_values, |cursor| cursor.u32())
        .or_else(|error| read(bytes, num_values, read_varint).map_err(|_| error))
}

/// Reads runs of strings. Each run has its own place, even if another run has the same string.
pub(super) fn read_strings(bytes: &Bytes, num_values: u32) -> Result<Strings> {
    let mut strings = Strings::with_capacity(bytes.clone(), 0);
    let (runs, places) = read(bytes, num_values, |cursor| {
        let len = cursor.take_prefixed()?.len();
        let end = u32::try_from(cursor.position())
            .map_err(|_| Error::corrupt("the page has 4 GiB or more"))?;
        let code = strings.num_places();
        // `end` fits 32 bits, so the length does, too.
        strings.push(end - u32::try_from(len).unwrap_or(end)..end)?;
        Ok(u32::try_from(code).unwrap_or(u32::MAX))
    })?;
    Ok(strings.with_values(runs, places))
}

/// Returns the size of encoded runs in bytes: the count, the values and the lengths.
pub(super) fn size(num_runs: u64, value_bytes: u64, length_bytes: u64) -> u64 {
    varint::size(num_runs) + value_bytes + length_bytes
}

/// Runs found in values.
#[derive(Debug, Default)]
pub(super) struct FoundRuns {
    /// First value of each run, and its length.
    pub(super) runs: Vec<(usize, usize)>,
    length_bytes: u64,
}

impl FoundRuns {
    /// Finds the runs of `len` values.
    pub(super) fn of(len: usize, is_same: impl Fn(usize, usize) -> bool) -> Self {
        let mut found = Self::default();
        runs_of(len, is_same, |start, len| {
            found.length_bytes += varint::size(len as u64);
            found.runs.push((start, len));
        });
        found
    }

    /// Returns the size of the runs in bytes, given the size of their values.
    pub(super) fn size(&self, value_bytes: u64) -> u64 {
        size(self.runs.len() as u64, value_bytes, self.length_bytes)
    }

    /// Appends the runs; `write_value` appends a value.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        mut write_value: impl FnMut(usize, &mut Vec<u8>),
    ) {
        varint::write(self.runs.len() as u64, out);
        for (start, len) in &self.runs {
            varint::write(*len as u64, out);
            write_value(*start, out);
        }
    }
}
