//! Spec: Chapter 7, "ZigZag".
//!
//! ```text
//! u16 code = 18 | u8 nested | pad to 8 | unsigned values, encoded (or raw if nested is 0)
//! ```

use super::super::fields::{Fields, pad};
use super::mapped::{Layout, Parts};
use super::{EncodingCode, Estimate, NumberKind, Plan, Stats, Word};
use crate::error::Result;
use crate::kernels::un_zig_zag;

pub(super) struct ZigZag;

impl Layout for ZigZag {
    const NESTED: &'static str = "values";

    fn parse<W: Word>(values: &[u8]) -> Result<Parts<'_, W>> {
        let (mut fields, payload) = Fields::split(values, 1)?;
        Ok(Parts {
            reference: W::ZERO,
            nested: fields.flag()?,
            payload,
        })
    }

    fn map<W: Word>(values: &mut [W], _reference: W) {
        un_zig_zag(values);
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
