//! Spec: Chapter 7, "RunLength".
//!
//! ```text
//! u16 code = 6 | u32 values_size | u32 runs_count | u8 values_nested | u8 lengths_nested | pad to 16
//!              | values | pad to 8 | lengths
//! ```
//! Values are raw or encoded. Lengths are u32, raw or encoded, and sum up to the number of values.

use super::super::fields::{Fields, pad, set_size, size32, split_padded, write_words};
use super::stats::ratio;
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Plan, Stats, View, Word,
};
use crate::error::{Error, Result};
use crate::kernels::{Slots, expand_runs};
use std::ops::Range;

pub(super) struct RunLength;

struct Parts<'a> {
    runs: usize,
    values: &'a [u8],
    values_nested: bool,
    lengths: &'a [u8],
    lengths_nested: bool,
}

fn parse(values: &[u8], n: usize) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(values, 10)?;
    let size = fields.size()?;
    let runs = fields.size()?;
    let (values_nested, lengths_nested) = (fields.flag()?, fields.flag()?);
    if runs > n {
        return Err(Error::corrupt(format!(
            "{runs} runs cannot hold {n} values"
        )));
    }
    let (values, lengths) = split_padded(payload, size, "run values")?;
    Ok(Parts {
        runs,
        values,
        values_nested,
        lengths,
        lengths_nested,
    })
}

/// Returns the number of runs.
pub(super) fn count(values: &[u8], n: usize) -> Result<usize> {
    Ok(parse(values, n)?.runs)
}

fn wrong_sum(n: usize) -> Error {
    Error::corrupt(format!(
        "the lengths of the runs are not positive numbers that sum up to {n}"
    ))
}

/// Runs `f` with the values and lengths of the runs.
fn with_runs<W: Word, T>(
    values: &[u8],
    kind: NumberKind,
    n: usize,
    cx: &mut Context<'_>,
    f: impl FnOnce(&[W], &[u32]) -> Result<T>,
) -> Result<T> {
    let parts = parse(values, n)?;
    cx.with_words(parts.runs, |cx, values: &mut [W]| {
        super::decode_part(parts.values, parts.values_nested, kind, cx, values)?;
        cx.with_words(parts.runs, |cx, lengths: &mut [u32]| {
            let unsigned = NumberKind::Unsigned;
            super::decode_part(parts.lengths, parts.lengths_nested, unsigned, cx, lengths)?;
            f(values, lengths)
        })
    })
}

impl Codec for RunLength {
    fn decode<W: Word>(
        values: &[u8],
        kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let dst = dst.values();
        with_runs(values, kind, dst.len(), cx, |values, lengths| {
            let n = dst.len();
            if expand_runs(values, lengths, dst) {
                Ok(())
            } else {
                Err(wrong_sum(n))
            }
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
        with_runs(values, kind, n, cx, |values: &[W], lengths| {
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

    fn view<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        with_runs(values, kind, n, cx, |values: &[W], lengths| {
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

    fn children<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let Parts {
            runs,
            values,
            values_nested,
            lengths,
            lengths_nested,
        } = parse(values, n)?;
        let unsigned = NumberKind::Unsigned;
        let mut children = super::part_tree::<W>("values", values, values_nested, kind, runs, cx)?;
        children.extend(super::part_tree::<u32>(
            "lengths",
            lengths,
            lengths_nested,
            unsigned,
            runs,
            cx,
        )?);
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
    let start = out.len();
    let (heads, lengths) = runs_of(values)?;
    out.extend_from_slice(&EncodingCode::RunLength.to_u16().to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&size32(heads.len())?.to_le_bytes());
    out.extend([
        u8::from(heads_plan.is_some()),
        u8::from(lengths_plan.is_some()),
    ]);
    pad(out, start);
    let at = out.len();
    match heads_plan {
        Some(plan) => super::encode(&heads, kind, plan, out)?,
        None => write_words(&heads, out),
    }
    let size = out.len() - at;
    set_size(out, start + 2, size)?;
    pad(out, start);
    match lengths_plan {
        Some(plan) => super::encode(&lengths, NumberKind::Unsigned, plan, out),
        None => {
            write_words(&lengths, out);
            Ok(())
        }
    }
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
    let heads = stats.derive_stretches(stats.kind, stats.runs, |stretch, out| {
        out.extend(
            stretch
                .chunk_by(|a, b| a == b)
                .filter_map(|run| run.first()),
        );
    });
    let lengths = stats.derive_stretches(NumberKind::Unsigned, stats.runs, |stretch, out| {
        out.extend(
            stretch
                .chunk_by(|a, b| a == b)
                .map(|run| u32::try_from(run.len()).unwrap_or(0)),
        );
    });
    let raw = |bytes| {
        Some(Estimate {
            bytes,
            decode_cost: 0.05,
        })
    };
    let heads = match heads_plan {
        Some(plan) => plan.estimate(&heads.with_range(stats.min, stats.max)),
        None => raw(stats.runs * W::BYTES),
    }?;
    let lengths = match lengths_plan {
        Some(plan) => plan.estimate(&lengths),
        None => raw(stats.runs * 4),
    }?;
    let share = ratio(stats.runs, stats.n);
    Some(Estimate {
        bytes: 16 + heads.bytes.next_multiple_of(8) + lengths.bytes,
        decode_cost: 0.1 + share * (2.0 + heads.decode_cost + lengths.decode_cost),
    })
}
