//! Spec: docs/format.md, "Hidden slots": byte strings to encode, and nothing under their nulls.

use crate::error::{Error, Result};
use crate::kernels::is_ascending;
use arrow_buffer::NullBuffer;
use std::borrow::Cow;

/// The byte strings of a block, of variable or fixed size.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Number of values.
    pub len: usize,
    /// Positions of values of variable size in `values`: `len + 1` ascending offsets, starting at any
    /// offset. Empty if the size is fixed.
    pub offsets: &'a [u64],
    /// The size of each value, if it is fixed.
    pub fixed: Option<usize>,
    /// The bytes of the values, exactly `len * fixed` if the size is fixed.
    pub values: &'a [u8],
    /// Presence of the values. `None` if all are present.
    pub nulls: Option<&'a NullBuffer>,
    /// Whether values of a fixed size that are all equal may become one SingleValue.
    pub fixed_single_value: bool,
}

impl<'a> Input<'a> {
    /// Takes values of variable size. There is one offset more than values.
    pub fn variable(offsets: &'a [u64], values: &'a [u8], nulls: Option<&'a NullBuffer>) -> Self {
        Self {
            len: offsets.len().saturating_sub(1),
            offsets,
            fixed: None,
            values,
            nulls,
            fixed_single_value: true,
        }
    }

    /// Takes `len` values of `width` bytes each.
    pub fn fixed(
        width: usize,
        len: usize,
        values: &'a [u8],
        nulls: Option<&'a NullBuffer>,
    ) -> Self {
        Self {
            len,
            offsets: &[],
            fixed: Some(width),
            values,
            nulls,
            fixed_single_value: true,
        }
    }

    /// Returns the average size of a value, in bytes.
    pub fn average_length(&self) -> f64 {
        let bytes = match (self.offsets.first(), self.offsets.last()) {
            (Some(first), Some(last)) => last.saturating_sub(*first),
            _ => self.values.len() as u64,
        };
        bytes as f64 / self.len.max(1) as f64
    }

    /// Returns the lengths of values of variable size, `None` for one of more than 32 bits. Null positions count as
    /// empty.
    pub fn lengths(&self) -> impl Iterator<Item = Option<u32>> {
        let is_null = |i: usize| self.nulls.is_some_and(|nulls| nulls.is_null(i));
        self.offsets.windows(2).enumerate().map(move |(i, ends)| {
            let length = match ends {
                [start, end] if !is_null(i) => end.saturating_sub(*start),
                _ => 0,
            };
            u32::try_from(length).ok()
        })
    }

    /// Checks that the parts are consistent.
    fn check(&self) -> Result<()> {
        if let Some(nulls) = self.nulls
            && nulls.len() != self.len
        {
            let found = nulls.len();
            return Err(Error::invalid(format!(
                "presence of {found} of {} values",
                self.len
            )));
        }
        let sound = match self.fixed {
            Some(width) => self.len.checked_mul(width) == Some(self.values.len()),
            None => {
                self.offsets.len() == self.len + 1
                    && is_ascending(self.offsets)
                    && self
                        .offsets
                        .last()
                        .is_some_and(|end| *end <= self.values.len() as u64)
            }
        };
        if sound {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{} offsets or a fixed size of {:?} do not fit {} values of {} bytes",
            self.offsets.len(),
            self.fixed,
            self.len,
            self.values.len()
        )))
    }

    /// Checks the parts, moves the first offset to 0, and removes the bytes of null positions.
    pub(super) fn clean(&self) -> Result<Clean<'a>> {
        self.check()?;
        let nulls = self.nulls.filter(|nulls| nulls.null_count() > 0);
        let (offsets, values) = match self.fixed {
            Some(width) => (Cow::Borrowed(self.offsets), self.clean_fixed(width, nulls)),
            None => self.clean_variable(nulls),
        };
        Ok(Clean {
            len: self.len,
            offsets,
            values,
            fixed: self.fixed,
            nulls,
            fixed_single_value: self.fixed_single_value,
        })
    }

    fn clean_fixed(&self, width: usize, nulls: Option<&NullBuffer>) -> Cow<'a, [u8]> {
        let Some(nulls) = nulls else {
            return Cow::Borrowed(self.values);
        };
        let mut values = self.values.to_vec();
        for (i, value) in values.chunks_exact_mut(width.max(1)).enumerate() {
            if nulls.is_null(i) {
                value.fill(0);
            }
        }
        Cow::Owned(values)
    }

    fn clean_variable(&self, nulls: Option<&NullBuffer>) -> (Cow<'a, [u64]>, Cow<'a, [u8]>) {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let (first, last) = match (self.offsets.first(), self.offsets.last()) {
            (Some(first), Some(last)) => (*first, *last),
            _ => return (Cow::Owned(vec![0]), Cow::Borrowed(&[])),
        };
        let hidden = nulls.is_some_and(|nulls| {
            let full = |(i, w): (usize, &[u64])| w.first() != w.last() && nulls.is_null(i);
            self.offsets.windows(2).enumerate().any(full)
        });
        if !hidden {
            let values = self.values.get(at(first)..at(last)).unwrap_or_default();
            let offsets = if first == 0 {
                Cow::Borrowed(self.offsets)
            } else {
                Cow::Owned(self.offsets.iter().map(|o| o - first).collect())
            };
            return (offsets, Cow::Borrowed(values));
        }
        let mut offsets = Vec::with_capacity(self.offsets.len());
        let mut values = Vec::new();
        offsets.push(0);
        for (i, w) in self.offsets.windows(2).enumerate() {
            if let [start, end] = w
                && nulls.is_none_or(|nulls| nulls.is_valid(i))
            {
                values.extend_from_slice(self.values.get(at(*start)..at(*end)).unwrap_or_default());
            }
            offsets.push(values.len() as u64);
        }
        (Cow::Owned(offsets), Cow::Owned(values))
    }
}

/// Checked values with offsets from 0 and without bytes at null positions.
#[derive(Debug)]
pub(super) struct Clean<'a> {
    pub(super) len: usize,
    /// Empty if the size is fixed. Otherwise from 0 to the length of `values`.
    pub(super) offsets: Cow<'a, [u64]>,
    pub(super) values: Cow<'a, [u8]>,
    pub(super) fixed: Option<usize>,
    /// Presence of the values, if there are nulls.
    pub(super) nulls: Option<&'a NullBuffer>,
    fixed_single_value: bool,
}

impl Clean<'_> {
    /// Returns value `i`, or an empty one beyond the end.
    pub(super) fn value(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.end_of(before));
        self.values.get(start..self.end_of(i)).unwrap_or_default()
    }

    /// Returns value `i`, or an empty one for a null.
    pub(super) fn shown(&self, i: usize) -> &[u8] {
        if self.is_present(i) {
            self.value(i)
        } else {
            &[]
        }
    }

    /// Returns the end of value `i` in the bytes.
    pub(super) fn end_of(&self, i: usize) -> usize {
        match (self.fixed, self.offsets.get(i + 1)) {
            (Some(width), _) => (i + 1) * width,
            (None, Some(end)) => usize::try_from(*end).unwrap_or(usize::MAX),
            (None, None) => 0,
        }
    }

    /// Returns whether value `i` is present.
    pub(super) fn is_present(&self, i: usize) -> bool {
        self.nulls.is_none_or(|nulls| nulls.is_valid(i))
    }

    /// Returns the present values.
    pub(super) fn present(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len)
            .filter(|i| self.is_present(*i))
            .map(|i| self.value(i))
    }

    /// Returns the `offset_width` of blocks of these values.
    pub(super) fn offset_width(&self) -> u8 {
        if self.fixed.is_some() { 0 } else { 8 }
    }

    /// Returns the value that all positions hold, if SingleValue may encode them. Values of variable size need to
    /// be equal only where they are present. Values of a fixed size must all be present, because other readers
    /// shift them if nulls are left out. The wire format must also allow it.
    pub(super) fn single_value(&self) -> Option<&[u8]> {
        if self.fixed.is_some() && (self.nulls.is_some() || !self.fixed_single_value) {
            return None;
        }
        let mut present = self.present();
        let first = present.next().unwrap_or_default();
        present.all(|value| value == first).then_some(first)
    }
}
