//! Spec: Chapter 6, "Value Dictionary": codes of a stripe field, and the entries they refer to.

use super::interner::Interner;
use crate::encoding::NumberKind;
use crate::format::BasicType;

/// Stands for a position that is null.
pub(super) const NULL: u32 = u32::MAX;

/// What the entries of a dictionary are.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryType {
    pub(super) value_type: BasicType,
    /// Bytes of an entry, if all have the same size.
    pub(super) width: Option<usize>,
    /// How the bits of entries that are numbers are read.
    pub(super) kind: Option<NumberKind>,
    /// Whether codes keep the order in which the entries came.
    pub(super) ordered: bool,
    /// Most bytes of a dictionary, see [`size`](Self::size), that readers surely take.
    pub(super) most_bytes: usize,
}

/// Entries of a dictionary and its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

impl EntryType {
    /// Bytes that a dictionary of entries takes beside its header: theirs, sorted ids, and offsets
    /// where they have no common size.
    pub(super) fn size(&self, entries: usize, bytes: usize) -> usize {
        let per_entry = if self.width.is_some() { 4 } else { 12 };
        bytes.saturating_add(entries.saturating_mul(per_entry))
    }
}

/// The entries of a finished dictionary, and how often each one occurs.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) entries: Interner,
    pub(super) frequencies: Vec<u32>,
    /// Whether every value is there once.
    pub(super) unique: bool,
    /// Their number, a null entry included.
    pub(super) size: u64,
}

impl Entries {
    /// Number of distinct values that occur, if the entries tell.
    pub(super) fn distinct(&self) -> Option<u64> {
        self.unique.then(|| self.used().count() as u64)
    }

    /// The entries that occur, and how often they do.
    pub(super) fn used(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let all = (0u32..).zip(&self.frequencies);
        all.filter(|(_, times)| **times > 0)
            .map(|(code, times)| (self.entries.entry(code), u64::from(*times)))
    }
}

/// The codes of a stripe field so far, and the values that they stand for.
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

    /// One code per position, [`NULL`] where it is null.
    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Appends the code of an entry, or [`NULL`].
    pub(super) fn push(&mut self, code: u32) {
        self.nulls += usize::from(code == NULL);
        self.codes.push(code);
    }

    /// Forgets all positions from `len` on; entries stay.
    pub(super) fn truncate(&mut self, len: usize) {
        let gone = &self.codes[len..];
        self.nulls -= gone.iter().filter(|&&code| code == NULL).count();
        self.codes.truncate(len);
    }

    /// What a dictionary of the entries has.
    pub(super) fn used(&self, entry: EntryType) -> Used {
        let entries = self.entries.len();
        Used {
            entries,
            bytes: entry.size(entries, self.entries.byte_len()),
        }
    }

    /// Bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        self.entries.memory_size() + 4 * self.codes.capacity()
    }
}
