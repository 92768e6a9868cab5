//! Spec: Chapter 7, "FOR" (frame of reference).
//!
//! ```text
//! u16 code = 3 | reference | pad to 8 | unsigned differences to the reference, encoded
//! ```

use super::super::fields::{Fields, pad, write_word};
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Plan, Stats, View, Word,
};
use crate::error::Result;
use crate::kernels::{Slots, add, key_range};
use std::ops::Range;

pub(super) struct For;

fn parse<W: Word>(values: &[u8]) -> Result<(W, &[u8])> {
    let (mut fields, nested) = Fields::split(values, W::BYTES)?;
    Ok((fields.word()?, nested))
}

impl Codec for For {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let (reference, nested) = parse(values)?;
        super::fill(nested, NumberKind::Unsigned, cx, dst)?;
        add(dst.values(), reference);
        Ok(())
    }

    fn select<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        let (reference, nested) = parse(values)?;
        super::decode_selected(nested, NumberKind::Unsigned, n, ranges, cx, dst)?;
        add(dst, reference);
        Ok(())
    }

    fn view<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        let (reference, nested) = parse::<W>(values)?;
        let view = super::view::<W>(nested, NumberKind::Unsigned, n, cx)?;
        Ok(view.map(|v| v.plus(reference)))
    }

    fn children<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let (_, nested) = parse::<W>(values)?;
        Ok(vec![(
            "deltas",
            super::tree::<W>(nested, NumberKind::Unsigned, n, cx)?,
        )])
    }
}

pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    deltas: &Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let reference = W::from_order_key(key_range(values, kind).0, kind);
    out.extend_from_slice(&EncodingCode::For.to_u16().to_le_bytes());
    write_word(reference, out);
    pad(out, start);
    let differences: Vec<W> = values.iter().map(|v| v.minus(reference)).collect();
    super::encode(&differences, NumberKind::Unsigned, deltas, out)
}

pub(super) fn estimate<W: Word>(deltas: &Plan, stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind == NumberKind::Float {
        return None;
    }
    let nested = stats.derive(NumberKind::Unsigned, stats.n, |sample| {
        sample
            .iter()
            .map(|v| v.minus(stats.min))
            .collect::<Vec<W>>()
    });
    let nested = deltas.estimate(&nested.with_range(W::ZERO, stats.max.minus(stats.min)))?;
    Some(Estimate {
        bytes: (2 + W::BYTES).next_multiple_of(8) + nested.bytes,
        decode_cost: nested.decode_cost + 0.05,
    })
}
