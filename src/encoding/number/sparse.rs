//! Spec: docs/format.md, "Sparse".
//!
//! ```text
//! u16 code = 19 | u32 positions_count | u32 positions_size | u8 positions_nested | u8 values_nested
//!               | pad to 16 | positions, u32, encoded or raw | pad to 8 | values, encoded or raw
//! ```
//! Positions ascend. Positions that are not listed hold 0.

use super::super::fields::{Fields, pad, size32, split_padded, write_sized};
use super::exceptions::for_selected;
use super::stats::ratio;
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, Word,
    encode_part, part,
};
use crate::error::{Error, Result};
use crate::kernels::Slots;

pub(super) struct Sparse;

/// Splits a region into the positions and the values there.
fn parse(request: Request<'_>) -> Result<(Part<'_>, Part<'_>)> {
    let Request {
        values, kind, n, ..
    } = request;
    let (mut fields, payload) = Fields::split(values, 10)?;
    let count = fields.size()?;
    let size = fields.size()?;
    let (positions_nested, values_nested) = (fields.flag()?, fields.flag()?);
    if count > n {
        return Err(Error::corrupt(format!(
            "{count} positions in a block of {n} values"
        )));
    }
    let (positions, others) = split_padded(payload, size, "positions")?;
    Ok((
        Part::new(positions, positions_nested, NumberKind::Unsigned, count),
        Part::new(others, values_nested, kind, count),
    ))
}

impl Codec for Sparse {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        Self::select(request, cx, dst.values())
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let (positions, others) = parse(request)?;
        dst.fill(W::ZERO);
        match (positions.n, others.bytes.len()) {
            (0, 0) => return Ok(()),
            (0, bytes) => return Err(Error::corrupt(format!("{bytes} bytes of no values"))),
            _ => {}
        }
        positions.with_values(cx, |cx, positions: &[u32]| {
            others.with_values(cx, |_, others: &[W]| {
                for_selected(positions, request.n, request.ranges, |place, i| {
                    if let (Some(d), Some(v)) = (dst.get_mut(place), others.get(i)) {
                        *d = *v;
                    }
                })
            })
        })
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let (positions, others) = parse(request)?;
        if positions.n == 0 {
            return Ok(Vec::new());
        }
        let mut children = positions.children::<u32>("positions", cx)?;
        children.extend(others.children::<W>("values", cx)?);
        Ok(children)
    }
}

pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    positions_plan: Option<&Plan>,
    values_plan: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    size32(values.len())?;
    let listed = (0u32..).zip(values).filter(|(_, v)| **v != W::ZERO);
    let (positions, others): (Vec<u32>, Vec<W>) = listed.unzip();
    let positions_plan = positions_plan.filter(|_| !others.is_empty());
    let values_plan = values_plan.filter(|_| !others.is_empty());
    let start = EncodingCode::Sparse.begin(out);
    out.extend_from_slice(&size32(others.len())?.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend([positions_plan.is_some(), values_plan.is_some()].map(u8::from));
    pad(out, start);
    write_sized(out, start + 6, |out| {
        encode_part(&positions, NumberKind::Unsigned, positions_plan, out)
    })?;
    pad(out, start);
    encode_part(&others, kind, values_plan, out)
}

/// Share of the values, 1 of this many, up to which they are listed.
const MAX_LISTED: usize = 3;
/// Nanoseconds to fill in a zero, and to put a listed value in its place.
const FILL: f32 = 0.05;
const PLACE: f32 = 1.5;

pub(super) fn estimate<W: Word>(
    positions_plan: Option<&Plan>,
    values_plan: Option<&Plan>,
    stats: &Stats<W>,
) -> Option<Estimate> {
    let (positions, values) = stats.listed();
    let count = values.n;
    if count > stats.n / MAX_LISTED {
        return None;
    }
    if count == 0 {
        return Some(Estimate {
            bytes: 16,
            decode_cost: FILL,
        });
    }
    let positions = part::estimate(count, positions_plan, || positions)?;
    let values = part::estimate(count, values_plan, || values)?;
    let share = ratio(count, stats.n);
    Some(Estimate {
        bytes: 16 + positions.bytes.next_multiple_of(8) + values.bytes,
        decode_cost: FILL + share * (PLACE + positions.decode_cost + values.decode_cost),
    })
}
