//! Appends values that do not come from blocks, or were decoded before, to a builder.

use super::super::Context;
use super::builder::{BytesBuilder, Data, Decoded};
use super::spans::ValueSpans;
use crate::error::{Error, Result};
use crate::kernels::is_ascending;
use arrow_buffer::{ArrowNativeType, Buffer};
use std::ops::Range;

impl BytesBuilder {
    /// Appends the values that `offsets` divide `data` into, starting at 0. Views refer to `data` without a copy.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the offsets do not divide the data;
    /// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if the offsets of the layout are too narrow.
    pub fn append_values(&mut self, offsets: &[u64], data: Buffer) -> Result<()> {
        let divides = offsets.first() == Some(&0)
            && offsets.last() == Some(&(data.len() as u64))
            && is_ascending(offsets);
        if !divides {
            return Err(Error::corrupt("offsets do not divide their values"));
        }
        let all = 0..offsets.len() - 1;
        if let Data::Views(views) = &mut self.data {
            views.push_owned(offsets, std::slice::from_ref(&all), data)?;
            self.len += all.len();
            return Ok(());
        }
        self.push_slices(
            ValueSpans::Offsets(offsets),
            std::slice::from_ref(&all),
            &data,
        )
    }

    /// Appends `n` copies of a value.
    ///
    /// # Errors
    /// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if the offsets of the layout are too narrow,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if there are more bytes than the limits allow.
    pub fn append_repeated(&mut self, value: &[u8], n: usize, cx: &Context<'_>) -> Result<()> {
        self.push_repeated(value, n, |_| true, cx)
    }

    /// Appends ascending ranges of values that were decoded before into the same layout.
    ///
    /// # Errors
    /// [`OffsetOverflow`](crate::ErrorKind::OffsetOverflow) if the offsets of the layout are too narrow.
    pub fn append_decoded(&mut self, decoded: &Decoded, ranges: &[Range<usize>]) -> Result<()> {
        match (decoded, &mut self.data) {
            (Decoded::Offsets32(offsets, data), _) => self.append_window(offsets, ranges, data),
            (Decoded::Offsets64(offsets, data), _) => self.append_window(offsets, ranges, data),
            (Decoded::Views(views, buffers), Data::Views(own)) => {
                own.append(views, ranges, buffers);
                self.len += ranges.iter().map(Range::len).sum::<usize>();
                Ok(())
            }
            (Decoded::Fixed(data), Data::Fixed { width, values }) => {
                for range in ranges {
                    let bytes = range.start * *width..range.end * *width;
                    values.extend_from_slice(data.get(bytes).unwrap_or_default());
                    self.len += range.len();
                }
                Ok(())
            }
            _ => Err(Error::invalid("values of another layout")),
        }
    }

    fn append_window<O: ArrowNativeType>(
        &mut self,
        offsets: &[O],
        ranges: &[Range<usize>],
        data: &Buffer,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return Ok(());
        };
        let window: Vec<u64> = offsets
            .get(first.start..=last.end)
            .unwrap_or_default()
            .iter()
            .map(|offset| offset.as_usize() as u64)
            .collect();
        let in_window = |range: &Range<usize>| range.start - first.start..range.end - first.start;
        let window_ranges: Vec<Range<usize>> = ranges.iter().map(in_window).collect();
        self.push_slices(ValueSpans::Offsets(&window), &window_ranges, data)
    }
}

impl Decoded {
    /// Returns a range of the values, without copying them. `size` is the size of each [`Decoded::Fixed`] value.
    #[must_use]
    pub fn slice(&self, range: Range<usize>, size: usize) -> Self {
        let (start, len) = (range.start, range.len());
        match self {
            Self::Offsets32(offsets, data) => {
                Self::Offsets32(offsets.slice(start, len), data.clone())
            }
            Self::Offsets64(offsets, data) => {
                Self::Offsets64(offsets.slice(start, len), data.clone())
            }
            Self::Views(views, buffers) => Self::Views(views.slice(start, len), buffers.clone()),
            Self::Fixed(data) => Self::Fixed(data.slice_with_length(start * size, len * size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BytesLayout;
    use super::*;

    #[test]
    fn decoded_values_come_back_from_every_layout() {
        let words = ["", "short", "a good deal longer than twelve", "x", ""];
        let mut offsets = vec![0u64];
        let mut data = Vec::new();
        for word in words {
            data.extend_from_slice(word.as_bytes());
            offsets.push(data.len() as u64);
        }
        for layout in [
            BytesLayout::Offsets32,
            BytesLayout::Offsets64,
            BytesLayout::Views,
        ] {
            let mut first = BytesBuilder::new(layout, 5);
            first
                .append_values(&offsets, Buffer::from_slice_ref(&data))
                .unwrap();
            let first = first.finish();
            let mut second = BytesBuilder::new(layout, 5);
            second.append_decoded(&first, &[2..3, 3..4]).unwrap();
            second
                .append_decoded(&first.slice(1..5, 0), &[0..1, 1..2])
                .unwrap();
            let got: Vec<Vec<u8>> = match second.finish() {
                Decoded::Offsets32(o, d) => o
                    .windows(2)
                    .map(|w| d[w[0].as_usize()..w[1].as_usize()].to_vec())
                    .collect(),
                Decoded::Offsets64(o, d) => o
                    .windows(2)
                    .map(|w| d[w[0].as_usize()..w[1].as_usize()].to_vec())
                    .collect(),
                Decoded::Views(v, b) => arrow_array::BinaryViewArray::try_new(v, b, None)
                    .unwrap()
                    .iter()
                    .map(|v| v.unwrap().to_vec())
                    .collect(),
                Decoded::Fixed(_) => panic!("not fixed"),
            };
            assert_eq!(
                got,
                [words[2], words[3], words[1], words[2]].map(|w| w.as_bytes().to_vec())
            );
        }
        let mut out = BytesBuilder::new(BytesLayout::Offsets64, 0);
        assert!(
            out.append_values(&[0, 3, 2], Buffer::from_slice_ref(b"ab"))
                .is_err()
        );
        assert!(
            out.append_values(&[0, 1], Buffer::from_slice_ref(b"ab"))
                .is_err()
        );
    }
}
