//! Spec: docs/format.md, "NonEmpty": only the texts that are not empty.
//!
//! ```text
//! u16 code = 0x8008 | u32 texts K | u32 positions_size | pad to 8 | positions, K u32, encoded | K texts, encoded
//! ```

use super::super::fields::{Fields, pad, size32, split_at, write_sized};
use super::input::{Clean, Input};
use super::number::{self, Part};
use super::spans::ValueSpans;
use super::{
    BytesBuilder, BytesLayout, Children, Codec, Context, Decoded, EncodingCode, NullsOut, Request,
    decode_selected, tree,
};
use crate::encoding::NumberKind;
use crate::error::{Error, Result, Within};
use arrow_buffer::BooleanBufferBuilder;
use std::ops::Range;

pub(super) struct NonEmpty;

/// Bytes before the positions.
const HEAD: usize = 16;

struct Parts<'a> {
    /// Positions of the texts, ascending.
    positions: Part<'a>,
    /// The region of the texts.
    texts: &'a [u8],
    count: usize,
}

fn parse(request: Request<'_>) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(request.values, 8)?;
    let (count, positions_size) = (fields.size()?, fields.size()?);
    if count == 0 || count > request.n {
        return Err(Error::corrupt(format!(
            "{count} texts in a block of {} values",
            request.n
        )));
    }
    let (positions, texts) = split_at(payload, positions_size, "positions")?;
    Ok(Parts {
        positions: Part::region(positions, NumberKind::Unsigned, count),
        texts,
        count,
    })
}

/// Checks that positions ascend, and end before `n`.
fn check(positions: &[u32], n: usize) -> Result<()> {
    let ascend = positions.windows(2).all(|pair| pair[0] < pair[1]);
    let ends = positions.last().is_none_or(|last| (*last as usize) < n);
    if ascend && ends {
        Ok(())
    } else {
        Err(Error::corrupt(format!(
            "expected ascending positions of texts below {n}"
        )))
    }
}

impl Codec for NonEmpty {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let parts = parse(request)?;
        let rows = request.count;
        parts.positions.with_values(cx, |cx, positions: &[u32]| {
            check(positions, request.n)?;
            let before = |row: usize| positions.partition_point(|at| (*at as usize) < row);
            let wanted = request.ranges.iter();
            let wanted: Vec<Range<usize>> = wanted
                .map(|range| before(range.start)..before(range.end))
                .collect();
            let (mut texts, mut places) = (wanted.clone(), Vec::new());
            texts.retain(|texts| !texts.is_empty());
            let mut start = 0;
            for (range, texts) in request.ranges.iter().zip(wanted) {
                let positions = positions.get(texts).unwrap_or_default();
                places.extend(
                    positions
                        .iter()
                        .map(|at| *at as usize - range.start + start),
                );
                start += range.len();
            }
            let (ends, values) = parts.texts(&texts, cx)?;
            cx.with_words(rows + 1, |cx, offsets: &mut [u64]| {
                fill(offsets, &places, &ends);
                let whole = 0..rows;
                let ranges = std::slice::from_ref(&whole);
                let spans = ValueSpans::Offsets(offsets);
                out.push_decoded(spans, values.len(), rows, ranges, cx, |_, buffer| {
                    buffer.extend_from_slice(&values);
                    Ok(())
                })
            })
        })
    }

    fn children(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let parts = parse(request)?;
        let mut children = parts.positions.children::<u32>("positions", cx)?;
        children.push(("texts", tree(parts.texts, parts.count, None, cx)?));
        Ok(children)
    }
}

/// Fills in the offsets of all values. Texts have these places and ends; other values are empty.
fn fill(offsets: &mut [u64], places: &[usize], ends: &[u64]) {
    let (mut filled, mut end) = (0, 0);
    for (place, text_end) in places.iter().zip(ends) {
        let next = place + 1;
        if let Some(before) = offsets.get_mut(filled..next) {
            before.fill(end);
        }
        (filled, end) = (next, *text_end);
    }
    if let Some(rest) = offsets.get_mut(filled..) {
        rest.fill(end);
    }
}

impl Parts<'_> {
    /// Decodes some of the texts. Returns the end of each, and their bytes.
    fn texts(
        &self,
        texts: &[Range<usize>],
        cx: &mut Context<'_>,
    ) -> Result<(Vec<u64>, arrow_buffer::Buffer)> {
        let count = texts.iter().map(Range::len).sum();
        let mut present = BooleanBufferBuilder::new(count);
        present.append_n(count, true);
        let mut nulls = NullsOut::new(&mut present, 0);
        let mut out = BytesBuilder::new(BytesLayout::Offsets64, count);
        decode_selected(
            self.texts, self.count, None, texts, cx, &mut out, &mut nulls,
        )
        .within(|| "texts".to_owned())?;
        match out.finish() {
            Decoded::Offsets64(offsets, values) if nulls.cleared() == 0 => {
                let ends = offsets.iter().skip(1).map(|end| end.cast_unsigned());
                Ok((ends.collect(), values))
            }
            _ => Err(Error::corrupt("a text is null")),
        }
    }
}

/// The texts of a block that are not empty.
#[derive(Debug)]
pub struct Texts {
    positions: Vec<u32>,
    /// Offsets of the texts, one more than texts.
    offsets: Vec<u64>,
    values: Vec<u8>,
}

impl Texts {
    /// Returns the texts of a block, if there are any and at most one in `share` values is one.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the parts of `input` contradict each other.
    pub fn of_block(input: &Input<'_>, share: usize) -> Result<Option<Self>> {
        Ok(Self::of(&input.clean()?, share))
    }

    fn of(input: &Clean<'_>, share: usize) -> Option<Self> {
        let mut texts = Self {
            positions: Vec::new(),
            offsets: vec![0],
            values: Vec::new(),
        };
        if input.fixed.is_some() {
            return None;
        }
        for (i, position) in (0..input.len).zip(0u32..) {
            let text = input.shown(i);
            if text.is_empty() {
                continue;
            }
            texts.positions.push(position);
            texts.values.extend_from_slice(text);
            texts.offsets.push(texts.values.len() as u64);
            if texts.positions.len() > input.len / share {
                return None;
            }
        }
        (!texts.positions.is_empty()).then_some(texts)
    }

    /// Returns the number of bytes before the texts in the region of the block.
    ///
    /// # Errors
    /// Returns the errors of [`encode`](super::encode()).
    pub fn head_size(&self) -> Result<usize> {
        let mut out = Vec::new();
        let (kind, plan) = (NumberKind::Unsigned, positions_plan());
        number::encode(&self.positions, kind, &plan, &mut out)?;
        Ok(HEAD + out.len())
    }

    /// Returns the texts as values of a block.
    pub fn input(&self) -> Input<'_> {
        Input::variable(&self.offsets, &self.values, None)
    }
}

/// Nanoseconds to place a value among texts and empty values.
pub const PLACE: f32 = 2.5;

/// Returns the guessed time to decode a value, if the block has few texts. `of_text` returns the time for a text.
pub(super) fn cost(
    input: &Input<'_>,
    of_text: impl FnOnce(&Input<'_>) -> Result<f32>,
) -> Result<Option<f32>> {
    let Some(texts) = Texts::of_block(input, 2)? else {
        return Ok(None);
    };
    let block = texts.input();
    let share = number::ratio(block.len, input.len);
    Ok(Some(PLACE + of_text(&block)? * share))
}

/// Returns the plan for the positions.
fn positions_plan() -> number::Plan {
    number::Plan::Delta {
        differences: Box::new(number::Plan::CompactFfor),
    }
}

/// Appends values; `write` appends the texts. Returns false if more than half of the values are texts, or none is.
pub(super) fn encode(
    input: &Clean<'_>,
    out: &mut Vec<u8>,
    write: impl FnOnce(&Input<'_>, &mut Vec<u8>) -> Result<()>,
) -> Result<bool> {
    let Some(found) = Texts::of(input, 2) else {
        return Ok(false);
    };
    let start = EncodingCode::NonEmpty.begin(out);
    out.extend(size32(found.positions.len())?.to_le_bytes());
    out.extend([0; 4]);
    pad(out, start);
    write_sized(out, start + 6, |out| {
        let kind = NumberKind::Unsigned;
        number::encode(&found.positions, kind, &positions_plan(), out)
    })?;
    write(&found.input(), out)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, decode, describe, encode, get};
    use super::*;
    use crate::encoding::Scratch;
    use crate::{ErrorKind, Limits};

    /// Returns a region of texts at these positions.
    fn region(positions: &[u32], texts: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let start = EncodingCode::NonEmpty.begin(&mut out);
        out.extend(size32(positions.len()).unwrap().to_le_bytes());
        out.extend([0; 4]);
        pad(&mut out, start);
        write_sized(&mut out, start + 6, |out| {
            number::encode(positions, NumberKind::Unsigned, &number::Plan::Plain, out)
        })
        .unwrap();
        out.extend(texts);
        out
    }

    /// Returns a region of `count` texts.
    fn texts(count: usize) -> Vec<u8> {
        let (offsets, values): (Vec<u64>, _) = ((0..=count as u64).collect(), vec![b'x'; count]);
        let mut out = Vec::new();
        let input = Input::variable(&offsets, &values, None);
        encode(&input, &Plan::Plain, &mut out).unwrap();
        out
    }

    /// Decodes ten values.
    fn read(region: &[u8]) -> Result<Vec<u8>> {
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let cx = &mut Context::new(&limits, &mut scratch);
        for i in 0..10 {
            let _ = get(region, 10, None, i, cx);
        }
        let mut present = BooleanBufferBuilder::new(10);
        present.append_n(10, true);
        let mut nulls = NullsOut::new(&mut present, 0);
        let mut out = BytesBuilder::new(BytesLayout::Offsets64, 10);
        decode(region, 10, None, cx, &mut out, &mut nulls)?;
        match out.finish() {
            Decoded::Offsets64(offsets, _) => {
                let lengths = offsets.windows(2).map(|pair| u8::from(pair[1] > pair[0]));
                Ok(lengths.collect())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_have_positions_that_ascend() {
        let good = read(&region(&[0, 3, 9], &texts(3))).unwrap();
        assert_eq!(good, [1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        for (positions, count) in [
            (&[][..], 0),
            (&[3, 3], 2),
            (&[4, 2], 2),
            (&[10], 1),
            (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 11),
            (&[1, 2], 1),
        ] {
            let error = read(&region(positions, &texts(count.max(1)))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{positions:?}: {error}");
        }
    }

    #[test]
    fn regions_nested_too_deep_are_refused() {
        let mut nested = texts(1);
        for _ in 0..10_000 {
            nested = region(&[0], &nested);
        }
        let error = read(&nested).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let error = describe(&nested, 10, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}
