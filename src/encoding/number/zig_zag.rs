//! Spec: Chapter 7, "ZigZag".
//!
//! ```text
//! u16 code = 18 | u8 nested | pad to 8 | unsigned values, encoded (or raw if nested is 0)
//! ```

use super::super::fields::{Fields, pad};
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Plan, Stats, View, Word,
};
use crate::error::Result;
use crate::kernels::{Slots, un_zig_zag};
use std::ops::Range;

pub(super) struct ZigZag;

fn parse(values: &[u8]) -> Result<(bool, &[u8])> {
    let (mut fields, payload) = Fields::split(values, 1)?;
    Ok((fields.flag()?, payload))
}

impl Codec for ZigZag {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let dst = dst.values();
        let (nested, payload) = parse(values)?;
        super::decode_part(payload, nested, NumberKind::Unsigned, cx, dst)?;
        un_zig_zag(dst);
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
        let (nested, payload) = parse(values)?;
        super::select_part(payload, nested, NumberKind::Unsigned, n, ranges, cx, dst)?;
        un_zig_zag(dst);
        Ok(())
    }

    fn view<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        let (nested, payload) = parse(values)?;
        if !nested {
            return Ok(View::None);
        }
        let view = super::view::<W>(payload, NumberKind::Unsigned, n, cx)?;
        Ok(view.map(|v| {
            let mut one = [v];
            un_zig_zag(&mut one);
            let [v] = one;
            v
        }))
    }

    fn children<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let (nested, payload) = parse(values)?;
        super::part_tree::<W>("values", payload, nested, NumberKind::Unsigned, n, cx)
    }
}

fn zig_zag<W: Word>(values: &[W]) -> Vec<W> {
    let sign = |v: W| {
        if v & W::SIGN == W::ZERO {
            W::ZERO
        } else {
            W::MAX
        }
    };
    values.iter().map(|&v| (v << 1) ^ sign(v)).collect()
}

pub(super) fn encode<W: Word>(values: &[W], nested: &Plan, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&EncodingCode::ZigZag.to_u16().to_le_bytes());
    out.push(1);
    pad(out, start);
    super::encode(&zig_zag(values), NumberKind::Unsigned, nested, out)
}

pub(super) fn estimate<W: Word>(nested: &Plan, stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind != NumberKind::Signed {
        return None;
    }
    let derived = stats.derive(NumberKind::Unsigned, stats.n, zig_zag);
    let ends: [W; 2] = zig_zag(&[stats.min, stats.max])
        .try_into()
        .unwrap_or([W::ZERO; 2]);
    let (lowest, highest) = (derived.min, ends[0].max(ends[1]));
    let nested = nested.estimate(&derived.with_range(lowest, highest))?;
    Some(Estimate {
        bytes: 8 + nested.bytes,
        decode_cost: nested.decode_cost + 0.05,
    })
}
