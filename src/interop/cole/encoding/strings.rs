//! The strings of pages.

use super::runs::Runs;
use crate::error::{Error, Result};
use arrow_array::StringArray;
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use std::ops::Range;

/// The strings of a page: the byte ranges of the stored strings (`places`), and the place of each value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::interop::cole) struct Strings {
    data: Bytes,
    places: Vec<Range<u32>>,
    /// Runs of values and the place of each run; `None` if each value has its own place, in order.
    values: Option<(Runs, Vec<u32>)>,
}

impl Strings {
    /// Returns an empty set of places in `data`.
    pub(super) fn with_capacity(data: Bytes, places: usize) -> Self {
        Self {
            data,
            places: Vec::with_capacity(places),
            values: None,
        }
    }

    /// Returns the number of places.
    pub(super) fn num_places(&self) -> usize {
        self.places.len()
    }

    /// Adds a place. Refuses a place that is out of bounds or not UTF-8.
    pub(super) fn push(&mut self, place: Range<u32>) -> Result<()> {
        let bytes = self.data.get(place.start as usize..place.end as usize);
        let bytes = bytes.ok_or_else(|| {
            Error::corrupt(format!(
                "a string ends at byte {}, and there are only {} bytes",
                place.end,
                self.data.len()
            ))
        })?;
        std::str::from_utf8(bytes).map_err(|e| {
            Error::corrupt(format!("string {} is not UTF-8", self.places.len())).caused_by(e)
        })?;
        self.places.push(place);
        Ok(())
    }

    /// Returns the strings. Refuses bytes after the last string, which ends at `end`.
    pub(super) fn finish(self, end: u32) -> Result<Self> {
        match self.data.len() {
            len if len == end as usize => Ok(self),
            len => Err(Error::corrupt(format!(
                "the strings have {end} bytes, and the page has {len} for them"
            ))),
        }
    }

    /// Sets the runs of values, and the place of each run.
    pub(super) fn with_values(mut self, runs: Runs, places: Vec<u32>) -> Self {
        self.values = Some((runs, places));
        self
    }

    /// Returns the places of the values in a range, and the number of values of each place.
    fn within(&self, range: Range<u32>) -> impl Iterator<Item = (&Range<u32>, u32)> {
        let (each, runs) = match &self.values {
            None => (Some(range), None),
            Some((runs, places)) => {
                let runs = runs.within(range);
                (
                    None,
                    Some(runs.map(|(run, len)| (places[run] as usize, len))),
                )
            }
        };
        let each = each.into_iter().flatten().map(|value| (value as usize, 1));
        let places = each.chain(runs.into_iter().flatten());
        places.map(|(place, len)| (&self.places[place], len))
    }

    /// Counts the values, from the start of a range on, that fit into `budget` bytes. Returns their number and their
    /// bytes.
    pub(super) fn fit(&self, range: Range<u32>, budget: u64) -> (u32, u64) {
        let (mut count, mut bytes) = (0, 0);
        for (place, len) in self.within(range) {
            let width = u64::from(place.end - place.start);
            let fitting = match width {
                0 => len,
                _ => u32::try_from((budget - bytes) / width)
                    .unwrap_or(u32::MAX)
                    .min(len),
            };
            count += fitting;
            bytes += width * u64::from(fitting);
            if fitting < len {
                break;
            }
        }
        (count, bytes)
    }

    /// Appends the values of a range.
    pub(super) fn append(&self, range: Range<u32>, out: &mut StringBuilder) {
        for (place, len) in self.within(range) {
            let bytes = &self.data[place.start as usize..place.end as usize];
            for _ in 0..len {
                out.push(bytes);
            }
        }
    }
}

/// Builds the strings of a batch. The caller has checked their total bytes.
#[derive(Debug)]
pub(in crate::interop::cole) struct StringBuilder {
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl StringBuilder {
    /// Returns a builder with capacity for `strings` strings of `bytes` bytes.
    pub(in crate::interop::cole) fn with_capacity(strings: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(strings + 1);
        offsets.push(0);
        Self {
            offsets,
            data: Vec::with_capacity(bytes),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
        // Lossless: `MAX_STRING_BYTES` and `MAX_ROW_BYTES` of the reader limit the bytes of a batch.
        self.offsets
            .push(i32::try_from(self.data.len()).unwrap_or(i32::MAX));
    }

    /// Returns the strings as an array.
    pub(in crate::interop::cole) fn finish(self) -> Result<StringArray> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(StringArray::try_new(
            offsets,
            Buffer::from_vec(self.data),
            None,
        )?)
    }
}
