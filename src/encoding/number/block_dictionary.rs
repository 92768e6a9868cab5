//! Spec: Chapter 7, "BlockDictionary", of numbers.
//!
//! ```text
//! u16 code = 14 | u32 codes_size | u32 unique_count | u8 values_nested | pad to 16
//!               | codes, u32, encoded | the distinct values, encoded or raw
//! ```
//! Code 0 means null and decodes to 0. Code k is the distinct value k - 1.

use super::super::fields::{Fields, pad, set_size, size32, split_at, write_words};
use super::stats::ratio;
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Plan, Stats, View, Word,
};
use crate::error::{Error, Result};
use crate::kernels::{Slots, codes_below};
use hashbrown::HashMap;
use std::ops::Range;

pub(super) struct BlockDictionary;

struct Parts<'a> {
    codes: &'a [u8],
    values: &'a [u8],
    values_nested: bool,
    unique: usize,
}

/// Entries that a block may have beyond one per value. More are useless, and would let few bytes request
/// much memory.
pub(in super::super) const UNUSED_ENTRIES: usize = 1 << 16;

fn parse(values: &[u8], n: usize) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(values, 9)?;
    let codes_size = fields.size()?;
    let unique = fields.size()?;
    let values_nested = fields.flag()?;
    if unique > n.saturating_add(UNUSED_ENTRIES) {
        return Err(Error::corrupt(format!(
            "{unique} distinct values in a block of {n}"
        )));
    }
    let (codes, values) = split_at(payload, codes_size, "codes")?;
    Ok(Parts {
        codes,
        values,
        values_nested,
        unique,
    })
}

fn bad_code(unique: usize) -> Error {
    Error::corrupt(format!(
        "a code exceeds the {unique} distinct values of the block"
    ))
}

/// Runs `f` with the values by code, including 0 for code 0.
fn with_entries<W: Word, T>(
    parts: &Parts<'_>,
    kind: NumberKind,
    cx: &mut Context<'_>,
    f: impl FnOnce(&mut Context<'_>, &[W]) -> Result<T>,
) -> Result<T> {
    cx.with_words(parts.unique + 1, |cx, entries: &mut [W]| {
        if let Some((null, values)) = entries.split_first_mut() {
            *null = W::ZERO;
            super::decode_part(parts.values, parts.values_nested, kind, cx, values)?;
        }
        f(cx, entries)
    })
}

impl Codec for BlockDictionary {
    fn decode<W: Word>(
        values: &[u8],
        kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let parts = parse(values, dst.len())?;
        with_entries(&parts, kind, cx, |cx, entries: &[W]| {
            cx.with_words(dst.len(), |cx, codes: &mut [u32]| {
                super::decode(parts.codes, NumberKind::Unsigned, cx, codes)?;
                if dst.gather(codes, entries) {
                    Ok(())
                } else {
                    Err(bad_code(parts.unique))
                }
            })
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
        with_entries(&parts, kind, cx, |cx, entries: &[W]| {
            cx.with_words(dst.len(), |cx, codes: &mut [u32]| {
                let unsigned = NumberKind::Unsigned;
                super::decode_selected(parts.codes, unsigned, n, ranges, cx, codes)?;
                if Slots::from(&mut *dst).gather(codes, entries) {
                    Ok(())
                } else {
                    Err(bad_code(parts.unique))
                }
            })
        })
    }

    fn view<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        let parts = parse(values, n)?;
        let codes: Vec<u32> = super::part_to_vec(parts.codes, true, NumberKind::Unsigned, n, cx)?;
        if !codes_below(&codes, parts.unique + 1) {
            return Err(bad_code(parts.unique));
        }
        let dictionary = with_entries(&parts, kind, cx, |_, entries: &[W]| Ok(entries.to_vec()))?;
        Ok(View::Codes { codes, dictionary })
    }

    fn children<W: Word>(
        values: &[u8],
        kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let Parts {
            codes,
            values,
            values_nested,
            unique,
        } = parse(values, n)?;
        let codes = super::tree::<u32>(codes, NumberKind::Unsigned, n, cx)?;
        let mut children = vec![("codes", codes)];
        children.extend(super::part_tree::<W>(
            "values",
            values,
            values_nested,
            kind,
            unique,
            cx,
        )?);
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
    let start = out.len();
    let (codes, entries) = distinct(values)?;
    out.extend_from_slice(&EncodingCode::BlockDictionary.to_u16().to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&size32(entries.len())?.to_le_bytes());
    out.push(0);
    pad(out, start);
    let at = out.len();
    super::encode(&codes, NumberKind::Unsigned, codes_plan, out)?;
    let size = out.len() - at;
    set_size(out, start + 2, size)?;
    match values_plan {
        // The parts are not padded, and other readers require nested values to be aligned.
        Some(plan) if size.is_multiple_of(8) => {
            if let Some(flag) = out.get_mut(start + 10) {
                *flag = 1;
            }
            super::encode(&entries, kind, plan, out)
        }
        _ => {
            write_words(&entries, out);
            Ok(())
        }
    }
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
    let values = match values_plan {
        Some(plan) => {
            let entries = stats.derive(stats.kind, unique, |sample| {
                distinct(sample)
                    .map(|(_, entries)| entries)
                    .unwrap_or_default()
            });
            plan.estimate(&entries.with_range(stats.min, stats.max))?
        }
        None => Estimate {
            bytes: unique * W::BYTES,
            decode_cost: 0.05,
        },
    };
    Some(Estimate {
        bytes: 16 + codes.bytes + values.bytes,
        decode_cost: codes.decode_cost + 0.3 + ratio(unique, stats.n) * values.decode_cost,
    })
}
