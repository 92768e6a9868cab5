//! Spec: Chapter 7, "RunLength".
//!
//! ```text
//! u16 code = 6 | u32 values_size | u32 runs_count | u8 values_nested | u8 lengths_nested | pad to 16
//!              | values | pad to 8 | lengths
//! ```
//! Values are raw or encoded. Lengths are u32, raw or encoded, and sum up to the number of values.

use super::super::fields::{Fields, pad, size32, split_padded, write_sized};
use super::stats::ratio;
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, View,
    Word, encode_part, part,
};
use crate::error::{Error, Result};
use crate::kernels::{Slots, expand_runs};

pub(super) struct RunLength;

/// Splits a region into the values and the lengths of its runs.
fn parse(request: Request<'_>) -> Result<(Part<'_>, Part<'_>)> {
    let Request {
        values, kind, n, ..
    } = request;
    let (mut fields, payload) = Fields::split(values, 10)?;
    let size = fields.size()?;
    let runs = fields.size()?;
    let (values_nested, lengths_nested) = (fields.flag()?, fields.flag()?);
    if runs > n {
        return Err(Error::corrupt(format!(
            "{runs} runs cannot hold {n} values"
        )));
    }
    let (heads, lengths) = split_padded(payload, size, "run values")?;
    Ok((
        Part::new(heads, values_nested, kind, runs),
        Part::new(lengths, lengths_nested, NumberKind::Unsigned, runs),
    ))
}

/// Returns the number of runs.
pub(super) fn count(values: &[u8], n: usize) -> Result<usize> {
    // Runs of numbers of any kind are counted alike.
    let request = Request::new(values, NumberKind::Unsigned, n, &[]);
    let (_, lengths) = parse(request)?;
    Ok(lengths.n)
}

fn wrong_sum(n: usize) -> Error {
    Error::corrupt(format!(
        "the lengths of the runs are not positive numbers that sum up to {n}"
    ))
}

/// Runs `f` with the values and lengths of the runs.
fn with_runs<W: Word, T>(
    request: Request<'_>,
    cx: &mut Context<'_>,
    f: impl FnOnce(&[W], &[u32]) -> Result<T>,
) -> Result<T> {
    let (heads, lengths) = parse(request)?;
    heads.with_values(cx, |cx, heads: &[W]| {
        lengths.with_values(cx, |_, lengths: &[u32]| f(heads, lengths))
    })
}

impl Codec for RunLength {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let dst = dst.values();
        with_runs(request, cx, |values, lengths| {
            if expand_runs(values, lengths, dst) {
                Ok(())
            } else {
                Err(wrong_sum(request.n))
            }
        })
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let Request { n, ranges, .. } = request;
        with_runs(request, cx, |values: &[W], lengths| {
            let mut runs = values.iter().zip(lengths);
            let (mut value, mut end) = (W::ZERO, 0);
            let mut rest = dst;
            for range in ranges {
                let mut at = range.start;
                while at < range.end {
                    while end <= at {
                        let (v, &length) = runs.next().ok_or_else(|| wrong_sum(n))?;
                        (value, end) = (*v, end.saturating_add(length as usize));
                    }
                    let stop = end.min(range.end);
                    let (now, later) = std::mem::take(&mut rest)
                        .split_at_mut_checked(stop - at)
                        .ok_or_else(|| wrong_sum(n))?;
                    now.fill(value);
                    (rest, at) = (later, stop);
                }
            }
            Ok(())
        })
    }

    fn view<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<View<W>> {
        let n = request.n;
        with_runs(request, cx, |values: &[W], lengths| {
            let mut ends = Vec::with_capacity(lengths.len());
            let mut end = 0u32;
            for &length in lengths {
                let next = end.checked_add(length).filter(|next| *next > end);
                end = next.ok_or_else(|| wrong_sum(n))?;
                ends.push(end);
            }
            if end as usize != n {
                return Err(wrong_sum(n));
            }
            Ok(match values {
                [one] => View::Constant(*one),
                _ => View::Runs {
                    values: values.to_vec(),
                    ends,
                },
            })
        })
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let (heads, lengths) = parse(request)?;
        let mut children = heads.children::<W>("values", cx)?;
        children.extend(lengths.children::<u32>("lengths", cx)?);
        Ok(children)
    }
}

/// Returns the value and length of each maximal run of equal values. Lengths fit 32 bits because blocks do.
fn runs_of<W: Word>(values: &[W]) -> Result<(Vec<W>, Vec<u32>)> {
    let (mut heads, mut lengths) = (Vec::new(), Vec::new());
    for run in values.chunk_by(|a, b| a == b) {
        heads.extend(run.first());
        lengths.push(size32(run.len())?);
    }
    Ok((heads, lengths))
}

pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    heads_plan: Option<&Plan>,
    lengths_plan: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (heads, lengths) = runs_of(values)?;
    let start = EncodingCode::RunLength.begin(out);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&size32(heads.len())?.to_le_bytes());
    out.extend([heads_plan.is_some(), lengths_plan.is_some()].map(u8::from));
    pad(out, start);
    write_sized(out, start + 2, |out| {
        encode_part(&heads, kind, heads_plan, out)
    })?;
    pad(out, start);
    encode_part(&lengths, NumberKind::Unsigned, lengths_plan, out)
}

pub(super) fn estimate<W: Word>(
    heads_plan: Option<&Plan>,
    lengths_plan: Option<&Plan>,
    stats: &Stats<W>,
) -> Option<Estimate> {
    // Runs of little more than one value take more space than the values.
    if stats.runs > stats.n / 4 * 3 && stats.n > 4 {
        return None;
    }
    let heads = part::estimate(stats.runs, heads_plan, || stats.run_heads())?;
    let lengths = part::estimate(stats.runs, lengths_plan, || stats.run_lengths())?;
    let share = ratio(stats.runs, stats.n);
    Some(Estimate {
        bytes: 16 + heads.bytes.next_multiple_of(8) + lengths.bytes,
        decode_cost: 0.1 + share * (2.0 + heads.decode_cost + lengths.decode_cost),
    })
}
