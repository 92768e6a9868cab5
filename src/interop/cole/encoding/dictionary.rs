//! Spec: COLE 1.0, "DICTIONARY Encoding (strings)".
//!
//! ```text
//! number of entries │ length │ bytes │ length │ bytes │ ... │ codes: RLE of 32 bits
//! ```

use super::rle::{self, FoundRuns};
use super::strings::Strings;
use crate::error::{Error, Result};
use crate::interop::cole::cursor::Cursor;
use bytes::Bytes;
use std::collections::HashMap;

/// The fewest bytes of an entry.
const MIN_ENTRY_BYTES: usize = 4;

/// Reads a page of `num_values` strings, which must take all of the bytes.
pub(super) fn read(bytes: &Bytes, num_values: u32) -> Result<Strings> {
    let mut cursor = Cursor::new(bytes);
    let num_entries = cursor.u32()?;
    let room = cursor.remaining() / MIN_ENTRY_BYTES;
    let mut strings = Strings::with_capacity(bytes.clone(), room.min(num_entries as usize));
    for entry in 0..num_entries {
        let len = cursor.u32()?;
        let start = u32::try_from(cursor.position())
            .map_err(|_| Error::corrupt("the dictionary has 4 GiB or more"))?;
        cursor.take(len as usize)?;
        let end = start
            .checked_add(len)
            .ok_or_else(|| Error::corrupt(format!("entry {entry} ends beyond 4 GiB")))?;
        strings.push(start..end)?;
    }
    let (runs, codes) = rle::read_codes(&bytes[cursor.position()..], num_values)?;
    if let Some(code) = codes.iter().find(|&&code| code >= num_entries) {
        return Err(Error::corrupt(format!(
            "a value refers to entry {code} of a dictionary of {num_entries}"
        )));
    }
    Ok(strings.with_values(runs, codes))
}

/// A dictionary of strings.
#[derive(Debug)]
pub(super) struct Dictionary<'a> {
    entries: Vec<&'a [u8]>,
    entry_bytes: u64,
    /// Code of each run.
    codes: Vec<u32>,
}

impl<'a> Dictionary<'a> {
    /// Builds the dictionary of the runs' values. Returns `None` as soon as its entries take more than `most` bytes.
    pub(super) fn of(
        runs: &FoundRuns,
        value: impl Fn(usize) -> &'a [u8],
        most: u64,
    ) -> Option<Self> {
        let mut known: HashMap<&[u8], u32> = HashMap::new();
        let mut dictionary = Self {
            entries: Vec::new(),
            entry_bytes: 4,
            codes: Vec::with_capacity(runs.runs.len()),
        };
        for (start, _) in &runs.runs {
            let entry = value(*start);
            let next = u32::try_from(known.len()).ok()?;
            let code = *known.entry(entry).or_insert(next);
            if code == next {
                dictionary.entries.push(entry);
                dictionary.entry_bytes += 4 + entry.len() as u64;
                if dictionary.entry_bytes > most {
                    return None;
                }
            }
            dictionary.codes.push(code);
        }
        Some(dictionary)
    }

    /// Returns the size of the page in bytes.
    pub(super) fn size(&self, runs: &FoundRuns) -> u64 {
        self.entry_bytes + runs.size(4 * self.codes.len() as u64)
    }

    /// Appends the page: the entries, and the runs of codes.
    pub(super) fn write(&self, runs: &FoundRuns, out: &mut Vec<u8>) {
        let length = |len: usize| u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
        out.extend_from_slice(&length(self.entries.len()));
        for entry in &self.entries {
            out.extend_from_slice(&length(entry.len()));
            out.extend_from_slice(entry);
        }
        let mut codes = self.codes.iter();
        runs.write(out, |_, out| {
            out.extend_from_slice(&codes.next().copied().unwrap_or(0).to_le_bytes());
        });
    }
}
