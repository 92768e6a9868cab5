//! Spec: Chapter 6, "Dictionary Encoding": dictionary arrays on their way into codes and a value
//! dictionary.

use super::codes::{Codes, EntryType, FinishedEntries, NULL, Used};
use crate::buffer::FinishedBuffer;
use crate::column::{ByteValues, Chunk, Values};
use crate::error::{Error, Result};
use crate::write::choose::settings::Settings;
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use std::sync::Arc;

/// Encodes the dictionary arrays of one stripe field with one dictionary.
#[derive(Debug)]
pub(super) struct DictionaryEncoder {
    entry: EntryType,
    settings: Settings,
    codes: Codes,
    /// The entries of the last array, and their codes; [`NULL`] for an entry without a code yet.
    last: Option<(Arc<Chunk<Values>>, Vec<u32>)>,
    /// Total bytes of the values that the codes refer to.
    raw_bytes: u64,
}

impl DictionaryEncoder {
    pub(super) fn new(entry: EntryType, settings: Settings) -> Self {
        Self {
            entry,
            settings,
            codes: Codes::default(),
            last: None,
            raw_bytes: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.codes.codes().is_empty()
    }

    /// Returns the current size of the dictionary.
    pub(super) fn used(&self) -> Used {
        self.codes.used(self.entry)
    }

    /// Returns whether the array does not fit: the dictionary would have more than `most` entries, or be too large for
    /// readers, or its ordered entries differ from the entries of the stripe.
    pub(super) fn would_overflow(
        &self,
        codes: &[u32],
        nulls: Option<&NullBuffer>,
        entries: &Arc<Chunk<Values>>,
        most: usize,
    ) -> bool {
        if self.entry.ordered {
            let blank = self.blank();
            let given = (0..entries.len).map(|i| shown(entries, i, &blank));
            return !self.is_empty() && !self.codes.entries().iter().eq(given);
        }
        let used = self.used();
        let exceeds = |new: usize, bytes: usize| {
            let size = used.bytes.saturating_add(self.entry.size(new, bytes));
            used.entries + new > most || size > self.entry.most_bytes
        };
        if !exceeds(entries.len, entries.values.leaf_bytes()) {
            return false;
        }
        let mut seen = vec![false; entries.len];
        let (mut new, mut bytes) = (0, 0);
        for (i, &code) in codes.iter().enumerate() {
            let at = code.as_usize();
            if nulls.is_some_and(|n| n.is_null(i)) || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let entry = value(&entries.values, at);
            if self.codes.entries().find(entry).is_none() {
                (new, bytes) = (new + 1, bytes + entry.len());
            }
        }
        exceeds(new, bytes)
    }

    /// Appends an array. Every code at a present position must refer to an entry that is not null.
    pub(super) fn push(
        &mut self,
        codes: &[u32],
        nulls: Option<&NullBuffer>,
        entries: &Arc<Chunk<Values>>,
    ) -> Result<()> {
        if codes.is_empty() {
            return Ok(());
        }
        let mut map = match self.last.take() {
            // Holding the last entries keeps their memory from being reused, so equal memory means equal entries.
            Some((last, map)) if last.is_same_memory(entries) => map,
            _ => vec![NULL; entries.len],
        };
        if self.entry.ordered {
            // The code of every entry is its ordinal, used or not.
            let blank = self.blank();
            for (i, code) in map.iter_mut().enumerate() {
                *code = if self.is_empty() {
                    let entry = shown(entries, i, &blank);
                    self.codes.entries_mut().append(entry)?
                } else {
                    u32::try_from(i).unwrap_or(NULL)
                };
            }
        }
        for (i, &code) in codes.iter().enumerate() {
            if nulls.is_some_and(|n| n.is_null(i)) {
                self.codes.push(NULL);
                continue;
            }
            let at = code.as_usize();
            let entry = value(&entries.values, at);
            if map[at] == NULL {
                map[at] = self.codes.entries_mut().intern(entry)?;
            }
            self.codes.push(map[at]);
            self.raw_bytes += entry.len() as u64;
        }
        self.last = Some((entries.clone(), map));
        Ok(())
    }

    /// Returns the bytes stored for a null entry.
    fn blank(&self) -> Vec<u8> {
        vec![0; self.entry.width.unwrap_or(0)]
    }

    /// Returns the total bytes of the values that the codes refer to.
    pub(super) fn raw_bytes(&self) -> u64 {
        self.raw_bytes
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        self.codes.memory_size()
    }

    /// Returns the finished buffers (codes and dictionary) and the entries.
    pub(super) fn finish(self) -> Result<(Vec<FinishedBuffer>, FinishedEntries)> {
        self.codes.finish(self.entry, self.settings)
    }
}

/// Returns the values that codes refer to; zeros or empty strings at null positions.
pub(super) fn expand(
    codes: &[u32],
    nulls: Option<&NullBuffer>,
    entries: &Values,
) -> Result<Values> {
    let is_there = |i: usize| nulls.is_none_or(|n| n.is_valid(i));
    let width = match entries {
        Values::Fixed { width, .. } => *width,
        Values::Bytes(_) => {
            let present = |(i, &code): (usize, &u32)| {
                if is_there(i) {
                    value(entries, code.as_usize())
                } else {
                    &[]
                }
            };
            let values = || codes.iter().enumerate().map(present);
            let lengths = values().map(<[u8]>::len);
            let data: Vec<u8> = values().flatten().copied().collect();
            let offsets = OffsetBuffer::from_lengths(lengths);
            return Ok(Values::Bytes(ByteValues::Offsets64(offsets, data.into())));
        }
        _ => return Err(Error::invalid("entries of a dictionary that are no leaves")),
    };
    let mut data = vec![0; codes.len() * width];
    for (i, to) in data.chunks_exact_mut(width.max(1)).enumerate() {
        if is_there(i) {
            to.copy_from_slice(value(entries, codes[i].as_usize()));
        }
    }
    Ok(Values::Fixed {
        width,
        data: data.into(),
    })
}

/// Returns the bytes of entry `i`, or `blank` for a null, so that the array's hidden content is not stored.
fn shown<'a>(entries: &'a Chunk<Values>, i: usize, blank: &'a [u8]) -> &'a [u8] {
    match &entries.nulls {
        Some(nulls) if nulls.is_null(i) => blank,
        _ => value(&entries.values, i),
    }
}

/// Returns the bytes of entry `i` of a leaf.
fn value(values: &Values, i: usize) -> &[u8] {
    match values {
        Values::Fixed { width, data } => &data[i * width..(i + 1) * width],
        Values::Bytes(bytes) => bytes.value(i),
        _ => &[],
    }
}
