//! Staged byte values of a window, and how they are cut into blocks.

use crate::encoding::bytes;
use crate::error::Result;
use crate::write::choose;
use crate::write::choose::settings::Settings;
use crate::write::field::trial::{Alternative, TrialWindows};
use arrow_buffer::{ArrowNativeType, NullBuffer};

/// Most bytes of values per block, unless a single value is longer.
const BLOCK_BYTES: usize = 1 << 20;

/// Byte values that are not encoded yet.
#[derive(Debug)]
pub(super) struct StagedBytes {
    /// Size of each value of a fixed-size type.
    pub(super) fixed: Option<usize>,
    pub(super) values: Vec<u8>,
    /// Ends of the values, preceded by 0; unused for fixed sizes.
    pub(super) offsets: Vec<u64>,
    pub(super) len: usize,
}

impl StagedBytes {
    pub(super) fn new(fixed: Option<usize>) -> Self {
        Self {
            fixed,
            values: Vec::new(),
            offsets: vec![0],
            len: 0,
        }
    }

    /// Returns the values as a window; `nulls` are null.
    pub(super) fn window<'a>(
        &'a self,
        nulls: Option<&'a NullBuffer>,
        settings: &'a Settings,
    ) -> ByteWindow<'a> {
        ByteWindow {
            values: &self.values,
            offsets: &self.offsets,
            fixed: self.fixed,
            len: self.len,
            nulls,
            settings,
        }
    }

    /// Drops the values, and keeps their memory for the next ones.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.values.clear();
        self.offsets.truncate(1);
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        self.values.capacity() + self.offsets.capacity() * 8
    }
}

/// The byte values of a window, to be cut into blocks.
#[derive(Clone, Copy)]
pub(super) struct ByteWindow<'a> {
    pub(super) values: &'a [u8],
    pub(super) offsets: &'a [u64],
    pub(super) fixed: Option<usize>,
    pub(super) len: usize,
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) settings: &'a Settings,
}

/// The values of one block.
pub(super) struct BlockInput<'a> {
    values: &'a [u8],
    offsets: &'a [u64],
    fixed: Option<usize>,
    len: usize,
    nulls: Option<NullBuffer>,
    /// Whether the wire supports SingleValue for values of a fixed size.
    fixed_single_value: bool,
}

impl<'a> ByteWindow<'a> {
    pub(super) fn end(&self, i: usize) -> usize {
        match self.fixed {
            Some(width) => i * width,
            None => self.offsets[i].as_usize(),
        }
    }

    /// Returns the number of values of the block that begins at `start`: at least one, and as many as the limits on
    /// values and bytes allow. A member of a packed group ignores the limit on bytes, to stay aligned with the others.
    pub(super) fn block_len(&self, start: usize) -> usize {
        let mut most = self.settings.block_values.min(self.len - start);
        if self.settings.blobs.is_some() {
            let blob = (start..start + most).position(|i| self.is_blob(i));
            // A blob has a block of its own, so the block before it ends at the blob.
            most = blob.map_or(most, |before| before.max(1));
        }
        let limit = self.end(start) + BLOCK_BYTES;
        if self.settings.is_member || self.end(start + most) <= limit {
            return most;
        }
        let ends = 1..=most;
        ends.take_while(|&n| self.end(start + n) <= limit)
            .last()
            .unwrap_or(1)
    }

    /// Returns whether a value is a blob.
    pub(super) fn is_blob(&self, i: usize) -> bool {
        let least = self.settings.blobs;
        least.is_some_and(|least| self.end(i + 1) - self.end(i) >= least)
    }

    /// Returns the values to choose encodings by, or `None` if all are blobs, which are stored as they are.
    pub(super) fn sample(&self) -> Option<BlockInput<'a>> {
        let first = (0..self.len).find(|&i| !self.is_blob(i))?;
        let tried = Self {
            len: self.len.min(first + choose::TRIED_VALUES),
            ..*self
        };
        Some(self.slice(first, tried.block_len(first)))
    }

    /// Returns a value, or `None` for a null.
    pub(super) fn value(&self, i: usize) -> Option<&'a [u8]> {
        match self.nulls {
            Some(nulls) if nulls.is_null(i) => None,
            _ => Some(&self.values[self.end(i)..self.end(i + 1)]),
        }
    }

    /// Adds the values to a dictionary. Returns whether the dictionary still pays, compared to `alternative`.
    pub(super) fn add_to(
        &self,
        dictionary: &mut TrialWindows,
        alternative: Alternative,
    ) -> Result<bool> {
        dictionary.add_bytes(self.len, |i| self.value(i), alternative, self.settings)
    }

    pub(super) fn slice(&self, start: usize, len: usize) -> BlockInput<'a> {
        let (offsets, values): (&[u64], _) = match self.fixed {
            Some(_) => (&[], &self.values[self.end(start)..self.end(start + len)]),
            None => (&self.offsets[start..=start + len], self.values),
        };
        BlockInput {
            values,
            offsets,
            fixed: self.fixed,
            len,
            nulls: self
                .nulls
                .map(|n| n.slice(start, len))
                .filter(|n| n.null_count() > 0),
            fixed_single_value: self.settings.capabilities.fixed_size_single_values,
        }
    }
}

impl BlockInput<'_> {
    pub(super) fn input(&self) -> bytes::Input<'_> {
        bytes::Input {
            offsets: self.offsets,
            values: self.values,
            fixed: self.fixed,
            len: self.len,
            nulls: self.nulls.as_ref(),
            fixed_single_value: self.fixed_single_value,
        }
    }
}
