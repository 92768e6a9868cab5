//! Spec: Chapter 7, "Delta".
//!
//! ```text
//! u16 code = 5 | value 0 | pad to 8 | n - 1 differences of neighbours, encoded
//! ```

use super::super::fields::{Fields, pad, write_word};
use super::ffor::Ffor;
use super::fl_bit_pack::FlBitPack;
use super::packed::{Layout, Packed};
use super::{Children, Codec, Context, EncodingCode, Estimate, NumberKind, Plan, Stats, Word};
use crate::error::{Error, Result, Within};
use crate::kernels::{Slots, prefix_sum};
use std::ops::Range;

pub(super) struct Delta;

fn parse<W: Word>(values: &[u8]) -> Result<(W, &[u8])> {
    let (mut fields, nested) = Fields::split(values, W::BYTES)?;
    Ok((fields.word()?, nested))
}

/// Decodes the first `dst.len()` of the `n` values.
fn sums<W: Word>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
    dst: &mut Slots<'_, W>,
) -> Result<()> {
    let (base, nested) = parse(values)?;
    let Some(count) = n.checked_sub(1) else {
        return Err(Error::corrupt("differences of no values"));
    };
    if let Some(packed) = packed(nested, kind, count, cx)? {
        return packed.decode_sums(base, dst);
    }
    let dst = dst.values();
    let Some((first, differences)) = dst.split_first_mut() else {
        return Ok(());
    };
    let needed = 0..differences.len();
    let needed = std::slice::from_ref(&needed);
    super::decode_selected(nested, kind, count, needed, cx, differences)?;
    *first = base;
    prefix_sum(dst);
    Ok(())
}

/// Parses the `n` differences if they are bit-packed.
fn packed<'a, W: Word>(
    nested: &'a [u8],
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
) -> Result<Option<Packed<'a, W>>> {
    let code = super::code_of::<W>(nested, kind)?;
    let packed = match code {
        EncodingCode::Ffor => Ffor::parse(nested, n),
        EncodingCode::FlBitPack => FlBitPack::parse(nested, n),
        _ => return Ok(None),
    };
    cx.deeper(|_| packed.map(Some)).within(|| code.to_string())
}

impl Codec for Delta {
    fn decode<W: Word>(
        values: &[u8],
        kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        sums(values, kind, dst.len(), cx, dst)
    }

    fn select<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        let last = ranges.last().map_or(0, |r| r.end);
        cx.with_words(last, |cx, all: &mut [W]| {
            sums(values, kind, n, cx, &mut Slots::from(&mut *all))?;
            super::copy_ranges(all, ranges, dst);
            Ok(())
        })
    }

    fn children<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let (_, nested) = parse::<W>(values)?;
        let count = n.saturating_sub(1);
        Ok(vec![(
            "differences",
            super::tree::<W>(nested, kind, count, cx)?,
        )])
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
    let start = out.len();
    out.extend_from_slice(&EncodingCode::Delta.to_u16().to_le_bytes());
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
