//! Spec: docs/format.md, "Split128" (extension of Chapter 7).
//!
//! ```text
//! u16 code = 0x8004 | u32 high_size | pad to 8 | high, i64, encoded | pad to 8 | low, i64, encoded
//! ```
//! Values are integers of 16 bytes: `high * 2^64 + low`, modulo 2^128. Because both halves are signed,
//! `high` is 0 for every value that fits 64 bits, whatever its sign.

use super::super::fields::{Fields, pad, split_padded, write_sized};
use super::input::Clean;
use super::stats::Stats;
use super::{
    BytesBuilder, Children, Codec, Context, EncodingCode, Estimate, Input, NullsOut, Request,
    number,
};
use crate::encoding::NumberKind;
use crate::encoding::number::Part;
use crate::error::Result;

/// Bytes of a value.
pub(super) const WIDTH: usize = 16;

pub(super) struct Split128;

/// Splits a region into the high halves and the low ones.
fn parse(request: Request<'_>) -> Result<(Part<'_>, Part<'_>)> {
    let (mut fields, payload) = Fields::split(request.values, 4)?;
    let size = fields.size()?;
    let (high, low) = split_padded(payload, size, "high halves")?;
    let part = |bytes| Part::region(bytes, NumberKind::Signed, request.n);
    Ok((part(high), part(low)))
}

impl Codec for Split128 {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let (high, low) = parse(request)?;
        let Request { ranges, count, .. } = request;
        cx.check_bytes(count.saturating_mul(WIDTH) as u64)?;
        cx.with_words(count, |cx, highs: &mut [u64]| {
            high.select(ranges, cx, highs)?;
            cx.with_words(count, |cx, lows: &mut [u64]| {
                low.select(ranges, cx, lows)?;
                out.push_halves(highs, lows)
            })
        })
    }

    fn children(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let (high, low) = parse(request)?;
        let mut children = high.children::<u64>("high", cx)?;
        children.extend(low.children::<u64>("low", cx)?);
        Ok(children)
    }
}

/// Integers of 16 bytes, split in two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Halves {
    /// The high halves, in two's complement.
    pub high: Vec<u64>,
    /// The low 64 bits, in two's complement.
    pub low: Vec<u64>,
}

impl Halves {
    /// Splits values of 16 bytes each. Returns `None` if they have another size. A null gets the value before
    /// it.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the parts of `input` contradict
    /// each other.
    pub fn of(input: &Input<'_>) -> Result<Option<Self>> {
        Ok(Self::of_clean(&input.clean()?))
    }

    fn of_clean(input: &Clean<'_>) -> Option<Self> {
        let value = |i| input.is_present(i).then(|| input.value(i));
        (input.fixed == Some(WIDTH)).then(|| Self::of_values((0..input.len).map(value)))
    }

    fn of_values<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> Self {
        let mut halves = Self::default();
        let (mut high, mut low) = (0, 0);
        for value in values {
            if let Some([first, second]) = value.map(|value| value.as_chunks::<8>().0) {
                low = u64::from_le_bytes(*first);
                // A negative low half counts as -1 in the high half.
                high = u64::from_le_bytes(*second).wrapping_add(low >> 63);
            }
            halves.high.push(high);
            halves.low.push(low);
        }
        halves
    }
}

/// Appends encoded values. Returns false if they do not have 16 bytes.
pub(super) fn encode(
    input: &Clean<'_>,
    high: &number::Plan,
    low: &number::Plan,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let Some(halves) = Halves::of_clean(input) else {
        return Ok(false);
    };
    let start = EncodingCode::Split128.begin(out);
    out.extend_from_slice(&[0; 4]);
    pad(out, start);
    write_sized(out, start + 2, |out| {
        number::encode(&halves.high, NumberKind::Signed, high, out)
    })?;
    pad(out, start);
    number::encode(&halves.low, NumberKind::Signed, low, out)?;
    Ok(true)
}

/// Nanoseconds to join two halves.
const JOINING: f32 = 0.6;

pub(super) fn estimate(high: &number::Plan, low: &number::Plan, stats: &Stats) -> Option<Estimate> {
    if stats.fixed != Some(WIDTH) {
        return None;
    }
    let halves = Halves::of_values(stats.sample());
    let of = |half, plan: &number::Plan| {
        plan.estimate(&number::Stats::of_sample(half, NumberKind::Signed, stats.n))
    };
    let (high, low) = (of(halves.high, high)?, of(halves.low, low)?);
    Some(Estimate {
        bytes: 8 + high.bytes.next_multiple_of(8) + low.bytes,
        decode_cost: super::PLACING + JOINING + high.decode_cost + low.decode_cost,
    })
}
