//! Spec: Chapter 7, "BlockDictionary", of numbers.
//!
//! ```text
//! u16 code = 14 | u32 codes_size | u32 unique_count | u8 values_nested | pad to 16
//!               | codes, u32, encoded | the distinct values, encoded or raw
//! ```
//! Code 0 means null and decodes to 0. Code k is the distinct value k - 1.

use super::super::fields::{Fields, pad, size32, split_at, write_sized};
use super::stats::ratio;
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, View,
    Word, encode_part, part,
};
use crate::error::{Error, Result};
use crate::kernels::{Slots, codes_below};
use hashbrown::HashMap;

pub(super) struct BlockDictionary;

/// Entries that a block may have beyond one per value. More are useless, and would let few bytes request
/// much memory.
pub(in super::super) const UNUSED_ENTRIES: usize = 1 << 16;

/// Splits a region into its codes and its distinct values.
fn parse(request: Request<'_>) -> Result<(Part<'_>, Part<'_>)> {
    let Request {
        values, kind, n, ..
    } = request;
    let (mut fields, payload) = Fields::split(values, 9)?;
    let codes_size = fields.size()?;
    let unique = fields.size()?;
    let nested = fields.flag()?;
    if unique > n.saturating_add(UNUSED_ENTRIES) {
        return Err(Error::corrupt(format!(
            "{unique} distinct values in a block of {n}"
        )));
    }
    let (codes, distinct) = split_at(payload, codes_size, "codes")?;
    Ok((
        Part::region(codes, NumberKind::Unsigned, n),
        Part::new(distinct, nested, kind, unique),
    ))
}

fn bad_code(unique: usize) -> Error {
    Error::corrupt(format!(
        "a code exceeds the {unique} distinct values of the block"
    ))
}

/// Runs `f` with the values by code, including 0 for code 0.
fn with_entries<W: Word, T>(
    distinct: Part<'_>,
    cx: &mut Context<'_>,
    f: impl FnOnce(&mut Context<'_>, &[W]) -> Result<T>,
) -> Result<T> {
    cx.with_words(distinct.n + 1, |cx, entries: &mut [W]| {
        if let Some((null, values)) = entries.split_first_mut() {
            *null = W::ZERO;
            distinct.decode(cx, values)?;
        }
        f(cx, entries)
    })
}

/// Decodes the values of the ranges.
fn gather<W: Word>(
    request: Request<'_>,
    cx: &mut Context<'_>,
    dst: &mut Slots<'_, W>,
) -> Result<()> {
    let (codes, distinct) = parse(request)?;
    with_entries(distinct, cx, |cx, entries: &[W]| {
        cx.with_words(dst.len(), |cx, selected: &mut [u32]| {
            codes.select(request.ranges, cx, selected)?;
            if dst.gather(selected, entries) {
                Ok(())
            } else {
                Err(bad_code(distinct.n))
            }
        })
    })
}

impl Codec for BlockDictionary {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        gather(request, cx, dst)
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        gather(request, cx, &mut dst.into())
    }

    fn view<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<View<W>> {
        let (stored, distinct) = parse(request)?;
        cx.check_bytes(stored.n.saturating_mul(4) as u64)?;
        let mut codes = vec![0; stored.n];
        stored.decode(cx, &mut codes)?;
        if !codes_below(&codes, distinct.n + 1) {
            return Err(bad_code(distinct.n));
        }
        let dictionary = with_entries(distinct, cx, |_, entries: &[W]| Ok(entries.to_vec()))?;
        Ok(View::Codes { codes, dictionary })
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let (codes, distinct) = parse(request)?;
        let mut children = codes.children::<u32>("codes", cx)?;
        children.extend(distinct.children::<W>("values", cx)?);
        Ok(children)
    }
}

/// Returns codes from 1, and the distinct values. The most frequent come first, so that codes pack well.
fn distinct<W: Word>(values: &[W]) -> Result<(Vec<u32>, Vec<W>)> {
    let mut counts: HashMap<W, u32> = HashMap::new();
    for &v in values {
        *counts.entry(v).or_default() += 1;
    }
    let mut entries: Vec<(W, u32)> = counts.iter().map(|(v, c)| (*v, *c)).collect();
    // Ties are broken by value, so that encoding is deterministic.
    entries.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    for (i, (v, _)) in entries.iter().enumerate() {
        counts.insert(*v, size32(i + 1)?);
    }
    let codes = values
        .iter()
        .map(|v| counts.get(v).copied().unwrap_or_default())
        .collect();
    Ok((codes, entries.into_iter().map(|(v, _)| v).collect()))
}

pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    codes_plan: &Plan,
    values_plan: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (codes, entries) = distinct(values)?;
    let start = EncodingCode::BlockDictionary.begin(out);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&size32(entries.len())?.to_le_bytes());
    out.push(0);
    pad(out, start);
    write_sized(out, start + 2, |out| {
        super::encode(&codes, NumberKind::Unsigned, codes_plan, out)
    })?;
    // The parts are not padded, and other readers require nested values to be aligned.
    let values_plan = values_plan.filter(|_| (out.len() - start).is_multiple_of(8));
    if let (Some(_), Some(flag)) = (values_plan, out.get_mut(start + 10)) {
        *flag = 1;
    }
    encode_part(&entries, kind, values_plan, out)
}

pub(super) fn estimate<W: Word>(
    codes_plan: &Plan,
    values_plan: Option<&Plan>,
    stats: &Stats<W>,
) -> Option<Estimate> {
    let unique = stats.distinct();
    if unique > stats.n / 2 + 1 {
        return None;
    }
    let unsigned = NumberKind::Unsigned;
    let codes = match codes_plan {
        // The estimate for bit-packing needs only the range.
        Plan::FlBitPack => Stats::of_sample(Vec::new(), unsigned, stats.n),
        _ => stats.derive(unsigned, stats.n, |sample| {
            distinct(sample).map(|(codes, _)| codes).unwrap_or_default()
        }),
    };
    let codes = codes_plan.estimate(&codes.with_range(1, size32(unique).ok()?))?;
    let values = part::estimate(unique, values_plan, || {
        let entries = stats.derive(stats.kind, unique, |sample| {
            distinct(sample)
                .map(|(_, entries)| entries)
                .unwrap_or_default()
        });
        entries.with_range(stats.min, stats.max)
    })?;
    Some(Estimate {
        bytes: 16 + codes.bytes + values.bytes,
        decode_cost: codes.decode_cost + 0.3 + ratio(unique, stats.n) * values.decode_cost,
    })
}
