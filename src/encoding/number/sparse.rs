//! Spec: docs/format.md, "Sparse".
//!
//! ```text
//! u16 code = 19 | u32 positions_count | u32 positions_size | u8 positions_nested | u8 values_nested
//!               | pad to 16 | positions, u32, encoded or raw | pad to 8 | values, encoded or raw
//! ```
//! Positions ascend. Positions that are not listed hold 0.

use super::super::fields::{Fields, pad, set_size, size32, split_padded, write_words};
use super::exceptions::for_selected;
use super::stats::ratio;
use super::{Children, Codec, Context, EncodingCode, Estimate, NumberKind, Plan, Stats, Word};
use crate::error::{Error, Result};
use crate::kernels::Slots;
use std::ops::Range;

pub(super) struct Sparse;

struct Parts<'a> {
    count: usize,
    positions: &'a [u8],
    positions_nested: bool,
    values: &'a [u8],
    values_nested: bool,
}

fn parse(values: &[u8], n: usize) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(values, 10)?;
    let count = fields.size()?;
    let size = fields.size()?;
    let (positions_nested, values_nested) = (fields.flag()?, fields.flag()?);
    if count > n {
        return Err(Error::corrupt(format!(
            "{count} positions in a block of {n} values"
        )));
    }
    let (positions, values) = split_padded(payload, size, "positions")?;
    Ok(Parts {
        count,
        positions,
        positions_nested,
        values,
        values_nested,
    })
}

fn select<W: Word>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    ranges: &[Range<usize>],
    cx: &mut Context<'_>,
    dst: &mut [W],
) -> Result<()> {
    let parts = parse(values, n)?;
    dst.fill(W::ZERO);
    if parts.count == 0 {
        return if parts.values.is_empty() {
            Ok(())
        } else {
            Err(Error::corrupt(format!(
                "{} bytes of no values",
                parts.values.len()
            )))
        };
    }
    cx.with_words(parts.count, |cx, positions: &mut [u32]| {
        let unsigned = NumberKind::Unsigned;
        super::decode_part(
            parts.positions,
            parts.positions_nested,
            unsigned,
            cx,
            positions,
        )?;
        cx.with_words(parts.count, |cx, values: &mut [W]| {
            super::decode_part(parts.values, parts.values_nested, kind, cx, values)?;
            for_selected(positions, n, ranges, |place, i| {
                if let (Some(d), Some(v)) = (dst.get_mut(place), values.get(i)) {
                    *d = *v;
                }
            })
        })
    })
}

impl Codec for Sparse {
    fn decode<W: Word>(
        values: &[u8],
        kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let dst = dst.values();
        let whole = 0..dst.len();
        select(
            values,
            kind,
            dst.len(),
            std::slice::from_ref(&whole),
            cx,
            dst,
        )
    }

    fn select<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        select(values, kind, n, ranges, cx, dst)
    }

    fn children<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let Parts {
            count,
            positions,
            positions_nested,
            values,
            values_nested,
        } = parse(values, n)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let unsigned = NumberKind::Unsigned;
        let mut children = super::part_tree::<u32>(
            "positions",
            positions,
            positions_nested,
            unsigned,
            count,
            cx,
        )?;
        children.extend(super::part_tree::<W>(
            "values",
            values,
            values_nested,
            kind,
            count,
            cx,
        )?);
        Ok(children)
    }
}

/// Returns the values that are not 0 and their positions.
fn others<W: Word>(values: &[W]) -> Result<(Vec<u32>, Vec<W>)> {
    size32(values.len())?;
    Ok((0u32..).zip(values).filter(|(_, v)| **v != W::ZERO).unzip())
}

pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    positions_plan: Option<&Plan>,
    values_plan: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let (positions, others) = others(values)?;
    let some = !others.is_empty();
    let positions_plan = positions_plan.filter(|_| some);
    let values_plan = values_plan.filter(|_| some);
    out.extend_from_slice(&EncodingCode::Sparse.to_u16().to_le_bytes());
    out.extend_from_slice(&size32(others.len())?.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend([
        u8::from(positions_plan.is_some()),
        u8::from(values_plan.is_some()),
    ]);
    pad(out, start);
    let at = out.len();
    match positions_plan {
        Some(plan) => super::encode(&positions, NumberKind::Unsigned, plan, out)?,
        None => write_words(&positions, out),
    }
    let size = out.len() - at;
    set_size(out, start + 6, size)?;
    if some {
        pad(out, start);
    }
    match values_plan {
        Some(plan) => super::encode(&others, kind, plan, out),
        None => {
            write_words(&others, out);
            Ok(())
        }
    }
}

pub(super) fn estimate<W: Word>(
    positions_plan: Option<&Plan>,
    values_plan: Option<&Plan>,
    stats: &Stats<W>,
) -> Option<Estimate> {
    let count = stats.n - stats.zeros.min(stats.n);
    if count > stats.n / 4 {
        return None;
    }
    let raw = |bytes| {
        Some(Estimate {
            bytes,
            decode_cost: 0.05,
        })
    };
    let positions = match positions_plan {
        Some(plan) if count > 0 => {
            let derived = stats.derive(NumberKind::Unsigned, count, |sample| {
                others(sample)
                    .map(|(positions, _)| positions)
                    .unwrap_or_default()
            });
            plan.estimate(&derived.with_range(0, size32(stats.n).ok()?))
        }
        _ => raw(count * 4),
    }?;
    let values = match values_plan {
        Some(plan) if count > 0 => {
            let derived = stats.derive(stats.kind, count, |sample| {
                others(sample).map(|(_, values)| values).unwrap_or_default()
            });
            plan.estimate(&derived.with_range(stats.min, stats.max))
        }
        _ => raw(count * W::BYTES),
    }?;
    let share = ratio(count, stats.n);
    Some(Estimate {
        bytes: 16 + positions.bytes.next_multiple_of(8) + values.bytes,
        decode_cost: 0.05 + share * (2.0 + positions.decode_cost + values.decode_cost),
    })
}
