//! Spec: Chapter 6, "Value Dictionary": codes of a stripe field, and the entries they refer to.

use super::interner::Interner;
use crate::encoding::NumberKind;
use crate::format::BasicType;

/// The code of a null position.
pub(super) const NULL: u32 = u32::MAX;

/// The type of the entries of a dictionary.
#[derive(Debug, Clone, Copy)]
pub(in crate::write) struct EntryType {
    pub(super) value_type: BasicType,
    /// Bytes of an entry, if all have the same size.
    pub(super) width: Option<usize>,
    /// Interpretation of entries that are numbers.
    pub(super) kind: Option<NumberKind>,
    /// Whether codes keep the original order of the entries.
    pub(in crate::write) ordered: bool,
    /// Most bytes of a dictionary, see [`size`](Self::size), that readers accept by default.
    pub(in crate::write) most_bytes: usize,
}

/// Number of entries of a dictionary, and its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::write) struct Used {
    pub(in crate::write) entries: usize,
    pub(in crate::write) bytes: usize,
}

impl EntryType {
    /// Returns the size in bytes of a dictionary without its header: entries, sorted ids, and offsets if the entries
    /// have no fixed size.
    pub(in crate::write) fn size(&self, entries: usize, bytes: usize) -> usize {
        let per_entry = if self.width.is_some() { 4 } else { 12 };
        bytes.saturating_add(entries.saturating_mul(per_entry))
    }
}

/// The entries of a finished dictionary, and the frequency of each.
#[derive(Debug)]
pub(super) struct FinishedEntries {
    pub(super) entries: Interner,
    pub(super) frequencies: Vec<u32>,
    /// Whether no two entries are equal.
    pub(super) unique: bool,
    /// Number of entries, including the null entry.
    pub(super) size: u64,
}

impl FinishedEntries {
    /// Returns the number of distinct values that occur, if the entries are unique.
    pub(super) fn distinct(&self) -> Option<u64> {
        self.unique.then(|| self.used().count() as u64)
    }

    /// Returns the entries that occur, and their frequencies.
    pub(super) fn used(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let all = (0u32..).zip(&self.frequencies);
        all.filter(|(_, times)| **times > 0)
            .map(|(code, times)| (self.entries.entry(code), u64::from(*times)))
    }
}

/// The codes of a stripe field so far, and the entries that they refer to.
#[derive(Debug, Default)]
pub(super) struct Codes {
    pub(super) entries: Interner,
    pub(super) codes: Vec<u32>,
    pub(super) nulls: usize,
}

impl Codes {
    pub(super) fn entries(&self) -> &Interner {
        &self.entries
    }

    pub(super) fn entries_mut(&mut self) -> &mut Interner {
        &mut self.entries
    }

    /// Returns one code per position, [`NULL`] for a null.
    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the number of null positions.
    pub(super) fn nulls(&self) -> usize {
        self.nulls
    }

    /// Appends the code of an entry, or [`NULL`].
    pub(super) fn push(&mut self, code: u32) {
        self.nulls += usize::from(code == NULL);
        self.codes.push(code);
    }

    /// Drops all positions from `len` on; entries stay.
    pub(super) fn truncate(&mut self, len: usize) {
        let gone = &self.codes[len..];
        self.nulls -= gone.iter().filter(|&&code| code == NULL).count();
        self.codes.truncate(len);
    }

    /// Returns the size of a dictionary of the entries so far.
    pub(super) fn used(&self, entry: EntryType) -> Used {
        let entries = self.entries.len();
        Used {
            entries,
            bytes: entry.size(entries, self.entries.byte_len()),
        }
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        self.entries.memory_size() + 4 * self.codes.capacity()
    }
}
