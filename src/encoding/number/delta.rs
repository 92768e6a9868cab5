//! Spec: Chapter 7, "Delta".
//!
//! ```text
//! u16 code = 5 | value 0 | pad to 8 | n - 1 differences of neighbors, encoded
//! ```

use super::super::fields::{Fields, pad, write_word};
use super::ffor::Ffor;
use super::fl_bit_pack::FlBitPack;
use super::packed::{Packed, PackedLayout};
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, Word,
};
use crate::error::{Error, Result, Within};
use crate::kernels::{Slots, prefix_sum};

pub(super) struct Delta;

/// Splits a region into the first value and the differences.
fn parse<W: Word>(request: Request<'_>) -> Result<(W, Part<'_>)> {
    let (mut fields, payload) = Fields::split(request.values, W::BYTES)?;
    let count = request.n.saturating_sub(1);
    let differences = Part::region(payload, request.kind, count);
    Ok((fields.word()?, differences))
}

/// Decodes the first `dst.len()` values.
fn sums<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut Slots<'_, W>) -> Result<()> {
    let (base, differences) = parse(request)?;
    if request.n == 0 {
        return Err(Error::corrupt("differences of no values"));
    }
    if let Some(packed) = packed(differences, cx)? {
        return packed.decode_sums(base, dst);
    }
    let dst = dst.values();
    let Some((first, rest)) = dst.split_first_mut() else {
        return Ok(());
    };
    let needed = 0..rest.len();
    differences.select(std::slice::from_ref(&needed), cx, rest)?;
    *first = base;
    prefix_sum(dst);
    Ok(())
}

/// Parses the differences if they are bit-packed.
fn packed<'a, W: Word>(
    differences: Part<'a>,
    cx: &mut Context<'_>,
) -> Result<Option<Packed<'a, W>>> {
    let Part { bytes, kind, n, .. } = differences;
    let code = super::code_of::<W>(bytes, kind)?;
    let packed = match code {
        EncodingCode::Ffor => Ffor::parse(bytes, n),
        EncodingCode::FlBitPack => FlBitPack::parse(bytes, n),
        _ => return Ok(None),
    };
    cx.deeper(|_| packed.map(Some)).within(|| code.to_string())
}

impl Codec for Delta {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        sums(request, cx, dst)
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let last = request.ranges.last().map_or(0, |r| r.end);
        cx.with_words(last, |cx, all: &mut [W]| {
            sums(request, cx, &mut Slots::from(&mut *all))?;
            super::copy_ranges(all, request.ranges, dst);
            Ok(())
        })
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let (_, differences) = parse::<W>(request)?;
        differences.children::<W>("differences", cx)
    }
}

fn differences<W: Word>(values: &[W]) -> Vec<W> {
    values
        .iter()
        .skip(1)
        .zip(values)
        .map(|(next, v)| next.minus(*v))
        .collect()
}

/// Appends encoded values. There must be at least two.
pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    nested: &Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = EncodingCode::Delta.begin(out);
    write_word(values.first().copied().unwrap_or_default(), out);
    pad(out, start);
    super::encode(&differences(values), kind, nested, out)
}

pub(super) fn estimate<W: Word>(nested: &Plan, stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind == NumberKind::Float || stats.n < 2 {
        return None;
    }
    let derived = stats.derive_stretches(stats.kind, stats.n - 1, |stretch, out| {
        out.extend(differences(stretch));
    });
    let nested = nested.estimate(&derived.with_range(stats.min_delta, stats.max_delta))?;
    Some(Estimate {
        bytes: (2 + W::BYTES).next_multiple_of(8) + nested.bytes,
        decode_cost: nested.decode_cost + 0.4,
    })
}
