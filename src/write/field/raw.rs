//! Spec: Chapter 6, "Encoded Buffers": values on their way into raw buffers, as Arrow has them.

use super::byte_run::{MAX_VALUE_BYTES, check_length, note_run};
use super::finished_leaf::{FinishedBytes, FinishedLeaf};
use super::leaf_encoder::{BytesEncoder, NumberEncoder};
use super::nulls::extend_filled;
use super::plan::FieldPlan;
use crate::buffer::{FinishedBuffer, PiecePool, Pieces};
use crate::column::{ByteValues, append_views};
use crate::encoding::{Word, bytes, number};
use crate::error::Result;
use crate::format::BufferKind;
use crate::stats::{ByteRun, ByteStats, DecimalStats, DistinctStats};
use crate::write::choose::Weighed;
use crate::write::choose::candidate::Candidate;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use std::sync::Arc;

/// Collects the numbers of one stripe field.
#[derive(Debug)]
pub(super) struct RawNumbers<W> {
    pieces: Pieces,
    /// The last stored value, possibly of a null.
    last: Option<W>,
    /// Buffer for the values of a chunk with nulls.
    filled: Vec<W>,
    /// Whether a value that is not null has been appended.
    seen: bool,
    distinct: Option<DistinctStats>,
}

impl<W: Word> RawNumbers<W> {
    pub(super) fn new(pool: Arc<PiecePool>, distinct: Option<DistinctStats>) -> Self {
        Self {
            pieces: Pieces::new(pool),
            last: None,
            filled: Vec::new(),
            seen: false,
            distinct,
        }
    }
}

impl<W: Word> NumberEncoder<W> for RawNumbers<W> {
    fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()> {
        let mut first = Some(0);
        let mut stored = values;
        if let Some(nulls) = nulls {
            self.filled.clear();
            extend_filled(&mut self.filled, self.last, values, nulls.inner());
            first = nulls.inner().set_indices().next();
            stored = &self.filled;
        }
        self.pieces.extend_words(stored);
        // Nulls repeat an existing value, except the nulls before the first value.
        let leading = match (self.seen, first) {
            (true, _) => 0,
            (false, Some(first)) => first,
            (false, None) => stored.len(),
        };
        if let Some(distinct) = &mut self.distinct {
            distinct.add_numbers(&stored[leading..]);
        }
        self.seen |= first.is_some() && !values.is_empty();
        self.last = stored.last().copied().or(self.last);
        Ok(())
    }

    fn into_candidates(self: Box<Self>) -> Result<Vec<Candidate>> {
        let plain = Weighed::plain(number::Plan::Plain, W::BYTES as f64);
        Ok(vec![plain.into()])
    }

    fn memory_size(&self) -> usize {
        let distinct = self.distinct.as_ref().map_or(0, DistinctStats::memory_size);
        self.pieces.memory_size() + self.filled.capacity() * W::BYTES + distinct
    }

    fn finish(self: Box<Self>, buffer: BufferKind) -> Result<FinishedLeaf> {
        let buffer = FinishedBuffer::raw(buffer, self.pieces);
        Ok(FinishedLeaf::of_numbers::<W>(buffer, self.distinct))
    }
}

/// Collects offsets, starting with 0. They are stored as u32 while they fit into Arrow's 32-bit offsets, unless u64 is
/// requested.
#[derive(Debug)]
pub(super) struct RawOffsets {
    pieces: Pieces,
    pool: Arc<PiecePool>,
    wide: bool,
    last: u64,
}

impl RawOffsets {
    pub(super) fn new(wide: bool, pool: Arc<PiecePool>) -> Self {
        let mut pieces = Pieces::new(pool.clone());
        if wide {
            pieces.extend_words(&[0u64]);
        } else {
            pieces.extend_words(&[0u32]);
        }
        Self {
            pieces,
            pool,
            wide,
            last: 0,
        }
    }

    /// Appends the ends of `count` values. `end` returns them relative to the last offset so far, ascending.
    pub(super) fn extend(&mut self, count: usize, end: impl Fn(usize) -> u64) {
        let Some(last) = count.checked_sub(1) else {
            return;
        };
        let base = self.last;
        self.last += end(last);
        if !self.wide && i32::try_from(self.last).is_err() {
            self.widen();
        }
        if self.wide {
            self.pieces.extend_with(count, |i| base + end(i));
        } else {
            self.pieces
                .extend_with(count, |i| u32::truncate(base + end(i)));
        }
    }

    /// Returns the number of offsets.
    fn len(&self) -> usize {
        self.pieces.len() / if self.wide { 8 } else { 4 }
    }

    fn widen(&mut self) {
        let mut wide = Pieces::new(self.pool.clone());
        for piece in self.pieces.iter() {
            let offsets = u32::chunks(piece);
            wide.extend_with(offsets.len(), |i| {
                <u32 as Word>::from_le(offsets[i]).to_u64()
            });
        }
        (self.pieces, self.wide) = (wide, true);
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        self.pieces.memory_size()
    }

    /// Returns the OFFSETS buffer, which has one offset more than there are values.
    pub(super) fn finish(self) -> FinishedBuffer {
        FinishedBuffer::raw(BufferKind::Offsets, self.pieces)
    }
}

/// Collects the byte values of one stripe field.
#[derive(Debug)]
pub(super) struct RawBytes {
    /// Size of each value of a fixed-size type.
    fixed: Option<usize>,
    values: Pieces,
    offsets: RawOffsets,
    /// Buffers to make the views of a chunk contiguous: values, and their ends after a 0.
    gathered: (Vec<u8>, Vec<u64>),
    stats: ByteStats,
    decimals: Option<DecimalStats>,
    distinct: Option<DistinctStats>,
}

impl RawBytes {
    pub(super) fn new(plan: &FieldPlan) -> Self {
        Self {
            fixed: plan.physical.width(),
            values: Pieces::new(plan.pool.clone()),
            offsets: RawOffsets::new(plan.wide_offsets, plan.pool.clone()),
            gathered: (Vec::new(), Vec::new()),
            stats: plan.byte_stats(),
            decimals: plan.decimal_stats(),
            distinct: plan.distinct(),
        }
    }

    /// Appends values that are contiguous in `data`.
    fn push_run(
        &mut self,
        len: usize,
        nulls: Option<&BooleanBuffer>,
        data: &[u8],
        end: impl Fn(usize) -> usize,
    ) -> Result<()> {
        if end(len) - end(0) > MAX_VALUE_BYTES {
            (0..len).try_for_each(|i| check_length(end(i + 1) - end(i)))?;
        }
        let run = ByteRun {
            bytes: data,
            end: &end,
        };
        note_run(&mut self.stats, &mut self.distinct, len, nulls, &run);
        let mut from = 0;
        if let Some(nulls) = nulls {
            let mut gap = 0;
            for (start, stop) in nulls.set_slices().chain([(len, len)]) {
                // Bytes of the array at null positions are not stored.
                if end(gap) < end(start) {
                    self.stage(from, gap, data, &end);
                    self.offsets.extend(start - gap, |_| 0);
                    from = start;
                }
                gap = stop;
            }
        }
        self.stage(from, len, data, &end);
        Ok(())
    }

    /// Appends the values from `start` to `stop`.
    fn stage(&mut self, start: usize, stop: usize, data: &[u8], end: &impl Fn(usize) -> usize) {
        let first = end(start);
        self.values.extend(&data[first..end(stop)]);
        self.offsets
            .extend(stop - start, |i| (end(start + i + 1) - first) as u64);
    }
}

impl BytesEncoder for RawBytes {
    fn push_fixed(&mut self, data: &[u8], len: usize, nulls: Option<&NullBuffer>) -> Result<()> {
        let width = self.fixed.unwrap_or(0);
        let nulls = nulls.map(NullBuffer::inner);
        let data = &data[..len * width];
        match nulls {
            None => self.values.extend(data),
            Some(nulls) => {
                let mut done = 0;
                for (start, end) in nulls.set_slices() {
                    self.values.extend_zeros((start - done) * width);
                    self.values.extend(&data[start * width..end * width]);
                    done = end;
                }
                self.values.extend_zeros((len - done) * width);
            }
        }
        if let Some(decimals) = &mut self.decimals {
            decimals.update(len, nulls, |i| &data[i * width..(i + 1) * width]);
        }
        let end = |i: usize| i * width;
        let run = ByteRun { bytes: data, end };
        note_run(&mut self.stats, &mut self.distinct, len, nulls, &run);
        Ok(())
    }

    fn push(&mut self, values: &ByteValues, len: usize, nulls: Option<&NullBuffer>) -> Result<()> {
        let nulls = nulls.map(NullBuffer::inner);
        match values {
            ByteValues::Offsets32(offsets, data) => {
                self.push_run(len, nulls, data, |i| offsets[i].as_usize())
            }
            ByteValues::Offsets64(offsets, data) => {
                self.push_run(len, nulls, data, |i| offsets[i].as_usize())
            }
            ByteValues::Views(views, buffers) => {
                let (mut bytes, mut ends) = std::mem::take(&mut self.gathered);
                bytes.clear();
                ends.clear();
                ends.push(0);
                let views = &views[..len];
                append_views(views, buffers, nulls, usize::MAX, &mut bytes, &mut ends);
                let pushed = self.push_run(len, nulls, &bytes, |i| ends[i].as_usize());
                self.gathered = (bytes, ends);
                pushed
            }
        }
    }

    fn total_bytes(&self) -> u64 {
        self.values.len() as u64
    }

    fn into_candidates(self: Box<Self>) -> Result<Vec<Candidate>> {
        let average = match self.fixed {
            Some(width) => width as f64,
            None => self.values.len() as f64 / (self.offsets.len() - 1).max(1) as f64,
        };
        Ok(vec![Weighed::plain(bytes::Plan::Plain, average).into()])
    }

    fn memory_size(&self) -> usize {
        let distinct = self.distinct.as_ref().map_or(0, DistinctStats::memory_size);
        let gathered = self.gathered.0.capacity() + self.gathered.1.capacity() * 8;
        self.values.memory_size() + self.offsets.memory_size() + gathered + distinct
    }

    fn finish(self: Box<Self>) -> Result<FinishedBytes> {
        let mut buffers = vec![FinishedBuffer::raw(BufferKind::Data, self.values)];
        if self.fixed.is_none() {
            buffers.push(self.offsets.finish());
        }
        Ok(FinishedBytes {
            leaf: FinishedLeaf::plain(buffers).with_distinct(self.distinct),
            stats: self.stats,
            decimals: self.decimals,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(buffer: &FinishedBuffer) -> Vec<u8> {
        let mut all = Vec::new();
        let add = |bytes: &[u8]| {
            all.extend_from_slice(bytes);
            Ok(())
        };
        buffer.write(add).unwrap();
        all
    }

    #[test]
    fn offsets_widen_when_they_have_to() {
        let ends = |n: u64| move |i: usize| n * (i as u64 + 1);
        for (wide, each) in [(false, 7), (true, 7), (false, 1_000_000)] {
            let mut offsets = RawOffsets::new(wide, Arc::default());
            offsets.extend(1_000, ends(each));
            offsets.extend(0, ends(each));
            offsets.extend(40_000, ends(each));
            assert_eq!(offsets.len(), 41_001);
            let is_wide = wide || 41_000 * each > u64::from(i32::MAX.unsigned_abs());
            let found = bytes(&offsets.finish());
            let expected: Vec<u8> = if is_wide {
                (0..=41_000)
                    .flat_map(|i: u64| (i * each).to_le_bytes())
                    .collect()
            } else {
                (0..=41_000u32)
                    .flat_map(|i| (i * u32::truncate(each)).to_le_bytes())
                    .collect()
            };
            assert!(found == expected, "{wide} {each}");
        }
    }

    #[test]
    fn nulls_take_the_value_before_them_and_the_first_ones_the_first_value() {
        let mut numbers = Box::new(RawNumbers::<u16>::new(Arc::default(), None));
        let valid = |bits: &[bool]| NullBuffer::from(bits.to_vec());
        numbers
            .push(&[9, 1, 9, 2], Some(&valid(&[false, true, false, true])))
            .unwrap();
        numbers
            .push(&[9, 9], Some(&valid(&[false, false])))
            .unwrap();
        numbers.push(&[9, 3], Some(&valid(&[false, true]))).unwrap();
        numbers.push(&[4], None).unwrap();
        let expected = [1u16, 1, 1, 2, 2, 2, 2, 3, 4]
            .map(u16::to_le_bytes)
            .concat();
        let finished = numbers.finish(BufferKind::Data).unwrap();
        assert_eq!(bytes(&finished.buffers[0]), expected);
    }
}
