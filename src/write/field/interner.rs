//! Numbering of distinct byte strings.

use crate::error::{Error, Result};
use arrow_buffer::ArrowNativeType;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Distinct byte strings in order of arrival, and a hash table to find them.
#[derive(Debug)]
pub(super) struct Interner {
    values: Vec<u8>,
    /// End offsets of the entries, preceded by 0.
    offsets: Vec<u64>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for Interner {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            offsets: vec![0],
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

/// Returns the bytes of the entry with a code.
fn slice<'a>(values: &'a [u8], offsets: &[u64], code: u32) -> &'a [u8] {
    let code = code.as_usize();
    &values[offsets[code].as_usize()..offsets[code + 1].as_usize()]
}

impl Interner {
    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the size of all entries in bytes.
    pub(super) fn byte_len(&self) -> usize {
        self.values.len()
    }

    /// Returns the entry with a code.
    pub(super) fn entry(&self, code: u32) -> &[u8] {
        slice(&self.values, &self.offsets, code)
    }

    /// Returns the entries, in the order of their codes.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0u32..).take(self.len()).map(|code| self.entry(code))
    }

    /// Returns the code of a value, if it is an entry.
    pub(super) fn find(&self, value: &[u8]) -> Option<u32> {
        let same = |&code: &u32| self.entry(code) == value;
        self.table.find(self.hasher.hash_one(value), same).copied()
    }

    /// Returns the code of a value, which is added if it is not an entry yet.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for more than 2^32 - 2 entries.
    pub(super) fn intern(&mut self, value: &[u8]) -> Result<u32> {
        let (values, offsets) = (&self.values, &self.offsets);
        let same = |&code: &u32| slice(values, offsets, code) == value;
        let hasher = &self.hasher;
        let hash = |&code: &u32| hasher.hash_one(slice(values, offsets, code));
        match self.table.entry(hasher.hash_one(value), same, hash) {
            Entry::Occupied(found) => Ok(*found.get()),
            Entry::Vacant(place) => {
                let code = next_code(offsets)?;
                place.insert(code);
                self.values.extend_from_slice(value);
                self.offsets.push(self.values.len() as u64);
                Ok(code)
            }
        }
    }

    /// Adds a value as a new entry, even if an equal one exists; [`find`](Self::find) keeps returning the other one.
    ///
    /// # Errors
    /// Returns the errors of [`intern`](Self::intern).
    pub(super) fn append(&mut self, value: &[u8]) -> Result<u32> {
        let code = next_code(&self.offsets)?;
        self.values.extend_from_slice(value);
        self.offsets.push(self.values.len() as u64);
        Ok(code)
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        self.values.capacity() + 8 * self.offsets.capacity() + 5 * self.table.capacity()
    }
}

fn next_code(offsets: &[u64]) -> Result<u32> {
    u32::try_from(offsets.len() - 1)
        .ok()
        .filter(|&code| code < u32::MAX - 1)
        .ok_or_else(|| {
            Error::invalid(
                "a stripe has more than 2^32 - 2 dictionary entries; write smaller stripes",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_code_and_are_found_again() {
        let mut interner = Interner::default();
        let values: Vec<String> = (0..5000).map(|i| (i * 7919 % 1000).to_string()).collect();
        for value in &values {
            let code = interner.intern(value.as_bytes()).unwrap();
            assert_eq!(interner.entry(code), value.as_bytes());
        }
        assert_eq!(interner.len(), 1000);
        assert_eq!(interner.find(b"7"), interner.intern(b"7").ok());
        assert_eq!(interner.find(b"1000"), None);
        assert_eq!(interner.intern(b"").unwrap(), 1000);
        assert_eq!(interner.append(b"").unwrap(), 1001);
        assert_eq!(interner.find(b""), Some(1000));
    }
}
