//! Builds Arrow's layouts of byte strings, block by block.

use super::super::Context;
use super::spans::ValueSpans;
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::{Offset, append_gathered, append_halves, make_views, rebase_offsets};
use arrow_buffer::{Buffer, MutableBuffer, OffsetBuffer, ScalarBuffer};
use std::ops::Range;

/// Arrow's layout to decode byte strings into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesLayout {
    /// 32-bit offsets.
    Offsets32,
    /// 64-bit offsets.
    Offsets64,
    /// Views. Long values are in one buffer per block.
    Views,
    /// Values of this many bytes each.
    Fixed(usize),
}

impl BytesLayout {
    /// Returns the bytes that each value takes whatever its length: an offset, a view, or the whole fixed-size value.
    pub fn slot_bytes(self) -> usize {
        match self {
            Self::Offsets32 => 4,
            Self::Offsets64 => 8,
            Self::Views => 16,
            Self::Fixed(width) => width,
        }
    }
}

/// The buffers of an Arrow array of byte strings.
#[derive(Debug, Clone)]
pub enum Decoded {
    /// 32-bit offsets and values.
    Offsets32(OffsetBuffer<i32>, Buffer),
    /// 64-bit offsets and values.
    Offsets64(OffsetBuffer<i64>, Buffer),
    /// Views, and the buffers that long ones refer to.
    Views(ScalarBuffer<u128>, Vec<Buffer>),
    /// Values of fixed size.
    Fixed(Buffer),
}

/// A builder that collects decoded blocks as byte strings of one layout.
#[derive(Debug)]
pub struct BytesBuilder {
    pub(super) len: usize,
    pub(super) data: Data,
}

#[derive(Debug)]
pub(super) enum Data {
    Offsets32(Variable<i32>),
    Offsets64(Variable<i64>),
    Views(Views),
    Fixed { width: usize, values: MutableBuffer },
}

/// Longest value that a view holds inline, in bytes.
const INLINE: u64 = 12;

/// Returns whether a view refers to a buffer, instead of holding its value.
fn is_long(view: &u128) -> bool {
    view & u128::from(u32::MAX) > u128::from(INLINE)
}

impl BytesBuilder {
    /// Creates an empty builder with room for `capacity` values.
    pub fn new(layout: BytesLayout, capacity: usize) -> Self {
        let data = match layout {
            BytesLayout::Offsets32 => Data::Offsets32(Variable::new(capacity)),
            BytesLayout::Offsets64 => Data::Offsets64(Variable::new(capacity)),
            BytesLayout::Views => Data::Views(Views {
                views: Vec::with_capacity(capacity),
                buffers: Vec::new(),
                buffered: 0,
            }),
            BytesLayout::Fixed(width) => Data::Fixed {
                width,
                values: MutableBuffer::new(capacity.saturating_mul(width)),
            },
        };
        Self { len: 0, data }
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    #[cfg(feature = "experimental")]
    /// Returns whether the builder is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes of the values, including buffers of views.
    pub fn bytes(&self) -> u64 {
        match &self.data {
            Data::Offsets32(v) => v.base(),
            Data::Offsets64(v) => v.base(),
            Data::Views(v) => v.buffered,
            Data::Fixed { values, .. } => values.len() as u64,
        }
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Appends `n` values for null positions: empty ones, or zeros of the fixed size.
    pub fn append_nulls(&mut self, n: usize) {
        match &mut self.data {
            Data::Offsets32(v) => v.append_empty(n),
            Data::Offsets64(v) => v.append_empty(n),
            Data::Views(v) => v.views.resize(v.views.len() + n, 0),
            Data::Fixed { width, values } => values.extend_zeros(n * *width),
        }
        self.len += n;
    }

    /// Returns the buffers.
    pub fn finish(self) -> Decoded {
        match self.data {
            Data::Offsets32(v) => {
                Decoded::Offsets32(OffsetBuffer::new(v.offsets.into()), v.values.into())
            }
            Data::Offsets64(v) => {
                Decoded::Offsets64(OffsetBuffer::new(v.offsets.into()), v.values.into())
            }
            Data::Views(v) => Decoded::Views(v.views.into(), v.buffers),
            Data::Fixed { values, .. } => Decoded::Fixed(values.into()),
        }
    }

    /// Checks that the layout suits values of this fixed size, or of variable size.
    pub(super) fn check_fixed(&self, fixed: Option<usize>) -> Result<()> {
        let own = match self.data {
            Data::Fixed { width, .. } => Some(width),
            _ => None,
        };
        if own == fixed {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "values of size {fixed:?} are decoded into a layout of {own:?}"
        )))
    }

    /// Appends ranges of the values of a block with the bytes `data`. The spans of the block end within `data`.
    pub(super) fn push_slices(
        &mut self,
        spans: ValueSpans<'_>,
        ranges: &[Range<usize>],
        data: &[u8],
    ) -> Result<()> {
        match (&mut self.data, spans) {
            (Data::Offsets32(v), ValueSpans::Offsets(o)) => {
                v.push_slices(o, spans, ranges, data)?
            }
            (Data::Offsets64(v), ValueSpans::Offsets(o)) => {
                v.push_slices(o, spans, ranges, data)?
            }
            (Data::Views(v), ValueSpans::Offsets(offsets)) => {
                v.push_slices(offsets, ranges, data)?
            }
            (Data::Fixed { values, .. }, _) => {
                for range in ranges {
                    values.extend_from_slice(data.get(spans.bytes_of(range)).unwrap_or_default());
                }
            }
            (_, ValueSpans::Fixed(width)) => self.check_fixed(Some(width))?,
        }
        self.len += ranges.iter().map(Range::len).sum::<usize>();
        Ok(())
    }

    /// Appends ranges of the values of a block. `fill` appends the bytes of the block to a buffer. If all values are
    /// wanted, they are decoded in place.
    pub(super) fn push_decoded(
        &mut self,
        spans: ValueSpans<'_>,
        total: usize,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        fill: impl FnOnce(&mut Context<'_>, &mut MutableBuffer) -> Result<()>,
    ) -> Result<()> {
        let whole = matches!(ranges, [one] if *one == (0..n));
        match (&mut self.data, spans) {
            (Data::Offsets32(v), ValueSpans::Offsets(offsets)) if whole => {
                v.push_filled(offsets, total, |values| fill(cx, values))?;
            }
            (Data::Offsets64(v), ValueSpans::Offsets(offsets)) if whole => {
                v.push_filled(offsets, total, |values| fill(cx, values))?;
            }
            (Data::Fixed { values, .. }, _) if whole => fill(cx, values)?,
            (Data::Views(v), ValueSpans::Offsets(offsets)) => {
                let mut buffer = MutableBuffer::new(0);
                fill(cx, &mut buffer)?;
                v.push_owned(offsets, ranges, buffer.into())?;
            }
            _ => {
                return cx.with_buffer(|cx, buffer| {
                    fill(cx, buffer)?;
                    self.push_slices(spans, ranges, buffer)
                });
            }
        }
        self.len += ranges.iter().map(Range::len).sum::<usize>();
        Ok(())
    }

    /// Appends `entries[table[c]..table[c + 1]]` for each code `c`. The table ascends and ends within
    /// the entries, and codes are below its length less 1.
    pub(super) fn push_gathered(
        &mut self,
        codes: &[u32],
        table: &[u64],
        entries: &[u8],
        cx: &Context<'_>,
    ) -> Result<()> {
        let lengths: Vec<u64> = table
            .iter()
            .skip(1)
            .zip(table)
            .map(|(end, start)| end - start)
            .collect();
        let length = |code: &u32| lengths.get(*code as usize).copied().unwrap_or_default();
        let total = codes.iter().map(length).fold(0, u64::saturating_add);
        match &mut self.data {
            Data::Offsets32(v) => {
                cx.check_bytes(total)?;
                v.push_lengths(codes.iter().map(length), total)?;
                gather_at_end(&mut v.values, codes, table, entries, total)?;
            }
            Data::Offsets64(v) => {
                cx.check_bytes(total)?;
                v.push_lengths(codes.iter().map(length), total)?;
                gather_at_end(&mut v.values, codes, table, entries, total)?;
            }
            Data::Views(v) => {
                let views = v.views_of(table, entries)?;
                let view = |code: &u32| views.get(*code as usize).copied().unwrap_or_default();
                v.views.extend(codes.iter().map(view));
            }
            Data::Fixed { values, .. } => {
                cx.check_bytes(total)?;
                gather_at_end(values, codes, table, entries, total)?;
            }
        }
        self.len += codes.len();
        Ok(())
    }

    /// Appends values of 16 bytes from their halves.
    pub(super) fn push_halves(&mut self, high: &[u64], low: &[u64]) -> Result<()> {
        self.check_fixed(Some(16))?;
        if let Data::Fixed { values, .. } = &mut self.data {
            append_halves(high, low, values);
        }
        self.len += high.len().min(low.len());
        Ok(())
    }

    /// Appends `count` copies of the value. With offsets, positions that are not `present` get an empty value.
    pub(super) fn push_repeated(
        &mut self,
        value: &[u8],
        count: usize,
        present: impl Fn(usize) -> bool,
        cx: &Context<'_>,
    ) -> Result<()> {
        let length = |i: usize| if present(i) { value.len() as u64 } else { 0 };
        match &mut self.data {
            Data::Offsets32(v) => v.push_repeated(value, count, length, cx)?,
            Data::Offsets64(v) => v.push_repeated(value, count, length, cx)?,
            Data::Views(v) => {
                let one = v.views_of(&[0, value.len() as u64], value)?;
                let view = one.first().copied().unwrap_or_default();
                v.views.resize(v.views.len() + count, view);
            }
            Data::Fixed { values, .. } => {
                cx.check_bytes((value.len() as u64).saturating_mul(count as u64))?;
                values.repeat_slice_n_times(value, count);
            }
        }
        self.len += count;
        Ok(())
    }
}

fn overflow(total: u64, largest: u64) -> Error {
    Error::new(
        ErrorKind::OffsetOverflow,
        format!("offsets up to {total} exceed the largest of the Arrow type, {largest}"),
    )
}

/// Appends the gathered bytes, `total` altogether.
fn gather_at_end(
    values: &mut MutableBuffer,
    codes: &[u32],
    table: &[u64],
    entries: &[u8],
    total: u64,
) -> Result<()> {
    let total = crate::error::to_usize(total)?;
    append_gathered(codes, table, entries, total, values);
    Ok(())
}

/// Byte strings with offsets.
#[derive(Debug)]
pub(super) struct Variable<O> {
    offsets: Vec<O>,
    values: MutableBuffer,
}

impl<O: Offset> Variable<O> {
    fn new(capacity: usize) -> Self {
        let mut offsets = Vec::with_capacity(capacity.saturating_add(1));
        offsets.push(O::of(0));
        Self {
            offsets,
            values: MutableBuffer::new(0),
        }
    }

    /// Returns the end of the last value.
    fn base(&self) -> u64 {
        self.values.len() as u64
    }

    #[cfg(any(test, feature = "experimental"))]
    fn append_empty(&mut self, n: usize) {
        self.offsets
            .resize(self.offsets.len() + n, O::of(self.base()));
    }

    /// Checks that offsets can still represent the end after `more` bytes of values.
    fn check(&self, more: u64) -> Result<()> {
        let total = self.base().saturating_add(more);
        if total > O::LARGEST {
            Err(overflow(total, O::LARGEST))
        } else {
            Ok(())
        }
    }

    fn push_slices(
        &mut self,
        offsets: &[u64],
        spans: ValueSpans<'_>,
        ranges: &[Range<usize>],
        data: &[u8],
    ) -> Result<()> {
        let wanted: usize = ranges.iter().map(|r| spans.bytes_of(r).len()).sum();
        self.check(wanted as u64)?;
        self.values.reserve(wanted);
        for range in ranges {
            rebase_offsets(offsets, range.clone(), self.base(), &mut self.offsets);
            self.values
                .extend_from_slice(data.get(spans.bytes_of(range)).unwrap_or_default());
        }
        Ok(())
    }

    fn push_filled(
        &mut self,
        offsets: &[u64],
        total: usize,
        fill: impl FnOnce(&mut MutableBuffer) -> Result<()>,
    ) -> Result<()> {
        self.check(total as u64)?;
        let base = self.base();
        fill(&mut self.values)?;
        rebase_offsets(
            offsets,
            0..offsets.len().saturating_sub(1),
            base,
            &mut self.offsets,
        );
        Ok(())
    }

    /// Appends the ends of values with these lengths, which sum up to `total`.
    fn push_lengths(&mut self, lengths: impl Iterator<Item = u64>, total: u64) -> Result<()> {
        self.check(total)?;
        let mut end = self.base();
        self.offsets.extend(lengths.map(|length| {
            end += length;
            O::of(end)
        }));
        Ok(())
    }

    fn push_repeated(
        &mut self,
        value: &[u8],
        count: usize,
        length: impl Fn(usize) -> u64,
        cx: &Context<'_>,
    ) -> Result<()> {
        let present = (0..count).filter(|i| length(*i) > 0).count();
        let total = (value.len() as u64).saturating_mul(present as u64);
        cx.check_bytes(total)?;
        self.push_lengths((0..count).map(length), total)?;
        self.values.repeat_slice_n_times(value, present);
        Ok(())
    }
}

/// Views and their buffers.
#[derive(Debug)]
pub(super) struct Views {
    pub(super) views: Vec<u128>,
    buffers: Vec<Buffer>,
    /// Total bytes of the buffers.
    buffered: u64,
}

impl Views {
    /// Adds the next buffer.
    fn push_buffer(&mut self, buffer: Buffer) {
        self.buffered += buffer.len() as u64;
        self.buffers.push(buffer);
    }

    /// Appends ranges of views together with the buffers that they refer to.
    pub(super) fn append(&mut self, views: &[u128], ranges: &[Range<usize>], buffers: &[Buffer]) {
        let shift = (self.buffers.len() as u128) << 64;
        let moved = |view: &u128| {
            if is_long(view) { view + shift } else { *view }
        };
        for range in ranges {
            let views = views.get(range.clone()).unwrap_or_default();
            match shift {
                0 => self.views.extend_from_slice(views),
                _ => self.views.extend(views.iter().map(moved)),
            }
        }
        for buffer in buffers {
            self.push_buffer(buffer.clone());
        }
    }

    /// Returns the number of the next buffer, which will have `bytes` bytes.
    fn next_buffer(&self, bytes: usize) -> Result<u32> {
        if bytes as u64 > i32::LARGEST {
            return Err(overflow(bytes as u64, i32::LARGEST));
        }
        let count = self.buffers.len() as u64;
        u32::try_from(count).map_err(|_| overflow(count, u64::from(u32::MAX)))
    }

    fn push_slices(&mut self, offsets: &[u64], ranges: &[Range<usize>], data: &[u8]) -> Result<()> {
        if let [range] = ranges
            && range.len() + 1 == offsets.len()
        {
            return self.push_copied(offsets, data);
        }
        let mut picked = vec![0];
        let mut bytes = Vec::new();
        let spans = ValueSpans::Offsets(offsets);
        for range in ranges {
            let ends = offsets.get(range.start..=range.end).unwrap_or_default();
            let base = bytes.len() as u64;
            if let Some((first, ends)) = ends.split_first() {
                picked.extend(ends.iter().map(|end| end - first + base));
            }
            bytes.extend_from_slice(data.get(spans.bytes_of(range)).unwrap_or_default());
        }
        self.push_copied(&picked, &bytes)
    }

    /// Appends views of all values of `data`, which is copied if one of them is long.
    fn push_copied(&mut self, offsets: &[u64], data: &[u8]) -> Result<()> {
        let buffer = self.next_buffer(data.len())?;
        make_views(
            offsets,
            0..offsets.len().saturating_sub(1),
            data,
            buffer,
            &mut self.views,
        );
        if offsets
            .windows(2)
            .any(|w| matches!(w, [start, end] if end - start > INLINE))
        {
            self.push_buffer(Buffer::from(data));
        }
        Ok(())
    }

    /// Appends views of ranges of values. The buffer `data` is kept if a view refers to it.
    pub(super) fn push_owned(
        &mut self,
        offsets: &[u64],
        ranges: &[Range<usize>],
        data: Buffer,
    ) -> Result<()> {
        let buffer = self.next_buffer(data.len())?;
        let start = self.views.len();
        for range in ranges {
            make_views(offsets, range.clone(), &data, buffer, &mut self.views);
        }
        let added = self.views.get(start..).unwrap_or_default();
        if added.iter().any(is_long) {
            self.push_buffer(data);
        }
        Ok(())
    }

    /// Returns views of all values of `data` without appending them. `data` is copied if one of them is long.
    fn views_of(&mut self, offsets: &[u64], data: &[u8]) -> Result<Vec<u128>> {
        let buffer = self.next_buffer(data.len())?;
        let mut views = Vec::with_capacity(offsets.len());
        make_views(
            offsets,
            0..offsets.len().saturating_sub(1),
            data,
            buffer,
            &mut views,
        );
        if views.iter().any(is_long) {
            self.push_buffer(Buffer::from(data));
        }
        Ok(views)
    }
}
