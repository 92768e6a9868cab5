//! Staged byte values of a window, and how they are cut into blocks.

use crate::encoding::bytes;
use crate::error::Result;
use crate::write::choose;
use crate::write::choose::settings::Settings;
use crate::write::field::trial::Trial;
use arrow_buffer::{ArrowNativeType, NullBuffer};

/// Most bytes of values per block, unless a single value is longer.
const BLOCK_BYTES: usize = 1 << 20;

/// Staged values, to be cut into blocks.
pub(super) struct Staged<'a> {
    pub(super) values: &'a [u8],
    pub(super) offsets: &'a [u64],
    pub(super) fixed: Option<usize>,
    pub(super) nulls: Option<&'a NullBuffer>,
    /// Whether the wire supports SingleValue for values of a fixed size.
    pub(super) fixed_single_value: bool,
}

/// The values of one block.
pub(super) struct BlockInput<'a> {
    pub(super) values: &'a [u8],
    pub(super) offsets: &'a [u64],
    pub(super) fixed: Option<usize>,
    len: usize,
    nulls: Option<NullBuffer>,
    fixed_single_value: bool,
}

impl<'a> Staged<'a> {
    pub(super) fn end(&self, i: usize) -> usize {
        match self.fixed {
            Some(width) => i * width,
            None => self.offsets[i].as_usize(),
        }
    }

    /// Returns the number of values of the block that begins at `start`: at least one, and as many as the limits on
    /// values and bytes allow. A member of a packed group ignores the limit on bytes, to stay aligned with the others.
    pub(super) fn block_len(&self, start: usize, staged: usize, settings: &Settings) -> usize {
        let mut most = settings.block_values.min(staged - start);
        if settings.blobs.is_some() {
            let blob = (start..start + most).position(|i| self.is_blob(i, settings));
            // A blob has a block of its own, so the block before it ends at the blob.
            most = blob.map_or(most, |before| before.max(1));
        }
        let limit = self.end(start) + BLOCK_BYTES;
        if settings.is_member || self.end(start + most) <= limit {
            return most;
        }
        let ends = 1..=most;
        ends.take_while(|&n| self.end(start + n) <= limit)
            .last()
            .unwrap_or(1)
    }

    /// Returns whether a value is a blob.
    pub(super) fn is_blob(&self, i: usize, settings: &Settings) -> bool {
        let least = settings.blobs;
        least.is_some_and(|least| self.end(i + 1) - self.end(i) >= least)
    }

    /// Returns the values to choose encodings by, or `None` if all are blobs, which are stored as they are.
    pub(super) fn sample(&self, staged: usize, settings: &Settings) -> Option<BlockInput<'a>> {
        let first = (0..staged).find(|&i| !self.is_blob(i, settings))?;
        let most = staged.min(first + choose::TRIED_VALUES);
        Some(self.slice(first, self.block_len(first, most, settings)))
    }

    /// Returns a value, or `None` for a null.
    pub(super) fn value(&self, i: usize) -> Option<&'a [u8]> {
        match self.nulls {
            Some(nulls) if nulls.is_null(i) => None,
            _ => Some(&self.values[self.end(i)..self.end(i + 1)]),
        }
    }

    /// Adds the first `len` values to a dictionary. Returns whether the dictionary still pays, compared to a cost of
    /// `per_value` without one.
    pub(super) fn try_dictionary(
        &self,
        trial: &mut Trial,
        len: usize,
        per_value: f64,
        settings: &Settings,
    ) -> Result<bool> {
        trial.add_bytes(len, |i| self.value(i), per_value, settings)
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
            fixed_single_value: self.fixed_single_value,
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
