//! Spec: Chapter 7, "BlockDictionary", of byte strings.
//!
//! ```text
//! u16 code = 14 | u32 codes_size | u32 lengths_size | u32 unique_count | u8 lengths_nested | pad to 16
//!               | codes, u32, encoded | pad to 8 | lengths, u32, encoded or raw | distinct values
//! ```
//! Code 0 is null and code k is distinct value k - 1. Values of fixed size have no lengths.

use super::super::fields::{Fields, pad, size32, split_at, split_padded, write_sized};
use super::input::Clean;
use super::stats::Stats;
use super::{
    BytesBuilder, Children, Codec, Context, EncodingCode, Estimate, NullsOut, Request, number,
};
use crate::encoding::NumberKind;
use crate::encoding::number::Part;
use crate::error::{Error, Result};
use crate::kernels::codes_below;
use hashbrown::HashMap;

pub(super) struct BlockDictionary;

struct Parts<'a> {
    codes: Part<'a>,
    lengths: Part<'a>,
    /// Number of distinct values.
    unique: usize,
    /// The bytes of the distinct values.
    entries: &'a [u8],
}

fn parse(request: Request<'_>) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(request.values, 13)?;
    let (codes_size, lengths_size) = (fields.size()?, fields.size()?);
    let unique = fields.size()?;
    let lengths_nested = fields.flag()?;
    let n = request.n;
    if unique > n.saturating_add(number::UNUSED_ENTRIES) {
        return Err(Error::corrupt(format!(
            "{unique} distinct values in a block of {n}"
        )));
    }
    let (codes, rest) = split_padded(payload, codes_size, "codes")?;
    let (lengths, entries) = split_at(rest, lengths_size, "lengths")?;
    if request.fixed.is_some() && lengths_size > 0 {
        return Err(Error::corrupt("distinct values of fixed size have lengths"));
    }
    Ok(Parts {
        codes: Part::region(codes, NumberKind::Unsigned, n),
        lengths: Part::new(lengths, lengths_nested, NumberKind::Unsigned, unique),
        unique,
        entries,
    })
}

impl Parts<'_> {
    /// Runs `f` with the offsets of the distinct values, one more than values.
    fn with_offsets<T>(
        &self,
        fixed: Option<usize>,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Context<'_>, &[u64]) -> Result<T>,
    ) -> Result<T> {
        cx.with_words(self.unique + 1, |cx, offsets: &mut [u64]| {
            let mut end = 0u64;
            match (fixed, offsets.split_first_mut()) {
                (Some(width), _) => {
                    for (i, offset) in (0u64..).zip(offsets.iter_mut()) {
                        end = i.saturating_mul(width as u64);
                        *offset = end;
                    }
                }
                (None, Some((first, ends))) => {
                    *first = 0;
                    self.lengths.with_values(cx, |_, lengths: &[u32]| {
                        for (offset, length) in ends.iter_mut().zip(lengths) {
                            end += u64::from(*length);
                            *offset = end;
                        }
                        Ok(())
                    })?;
                }
                (None, None) => {}
            }
            if end != self.entries.len() as u64 {
                return Err(Error::corrupt(format!(
                    "expected {end} bytes of distinct values, found {}",
                    self.entries.len()
                )));
            }
            f(cx, offsets)
        })
    }

    /// Runs `f` with the codes of the ranges, after checking them.
    fn with_codes<T>(
        &self,
        request: Request<'_>,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Context<'_>, &[u32]) -> Result<T>,
    ) -> Result<T> {
        cx.with_words(request.count, |cx, codes: &mut [u32]| {
            self.codes.select(request.ranges, cx, codes)?;
            if !codes_below(codes, self.unique + 1) {
                return Err(Error::corrupt(format!(
                    "a code exceeds the {} distinct values of the block",
                    self.unique
                )));
            }
            f(cx, codes)
        })
    }
}

impl Codec for BlockDictionary {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let parts = parse(request)?;
        parts.with_codes(request, cx, |cx, codes| {
            parts.with_offsets(request.fixed, cx, |cx, offsets| {
                for (i, _) in codes.iter().enumerate().filter(|(_, code)| **code == 0) {
                    nulls.clear(i);
                }
                // Code 0 becomes a separate entry before the others.
                let null_size = request.fixed.unwrap_or_default() as u64;
                let mut table = Vec::with_capacity(offsets.len() + 1);
                table.push(0);
                table.extend(offsets.iter().map(|offset| offset + null_size));
                match request.fixed {
                    Some(width) => {
                        // The null entry takes memory, but no bytes of the block.
                        cx.check_bytes(parts.entries.len().saturating_add(width) as u64)?;
                        let entries = [vec![0; width].as_slice(), parts.entries].concat();
                        out.push_gathered(codes, &table, &entries, cx)
                    }
                    None => out.push_gathered(codes, &table, parts.entries, cx),
                }
            })
        })
    }

    #[cfg(any(test, feature = "experimental"))]
    fn view(request: Request<'_>, cx: &mut Context<'_>) -> Result<super::View> {
        let parts = parse(request)?;
        let codes = parts.with_codes(request, cx, |_, codes| Ok(codes.to_vec()))?;
        let offsets = parts.with_offsets(request.fixed, cx, |_, offsets| Ok(offsets.to_vec()))?;
        Ok(super::View::Codes {
            codes,
            entries: super::Entries {
                offsets,
                values: parts.entries.to_vec(),
            },
        })
    }

    fn children(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let parts = parse(request)?;
        let mut children = parts.codes.children::<u32>("codes", cx)?;
        children.extend(parts.lengths.children::<u32>("lengths", cx)?);
        Ok(children)
    }
}

/// Returns codes, and the distinct present values. The most frequent come first, so that codes pack well.
fn distinct<'a>(input: &'a Clean<'_>) -> Result<(Vec<u32>, Vec<&'a [u8]>)> {
    let mut ids: HashMap<&[u8], u32> = HashMap::new();
    let mut entries: Vec<(&[u8], u64)> = Vec::new();
    let mut codes = Vec::with_capacity(input.len);
    for i in 0..input.len {
        if !input.is_present(i) {
            codes.push(0);
            continue;
        }
        let value = input.value(i);
        let next = size32(entries.len() + 1)?;
        let id = *ids.entry(value).or_insert(next);
        if id == next {
            entries.push((value, 0));
        }
        if let Some((_, count)) = entries.get_mut(id as usize - 1) {
            *count += 1;
        }
        codes.push(id);
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(entries.get(*i).map_or(0, |(_, count)| *count)));
    let mut rank = vec![0; entries.len() + 1];
    for (place, i) in order.iter().enumerate() {
        if let Some(rank) = rank.get_mut(i + 1) {
            *rank = size32(place + 1)?;
        }
    }
    for code in &mut codes {
        *code = rank.get(*code as usize).copied().unwrap_or_default();
    }
    let values = order
        .iter()
        .filter_map(|i| entries.get(*i).map(|(value, _)| *value))
        .collect();
    Ok((codes, values))
}

pub(super) fn encode(
    input: &Clean<'_>,
    codes_plan: &number::Plan,
    lengths_plan: Option<&number::Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (codes, entries) = distinct(input)?;
    let variable = input.fixed.is_none();
    let lengths_plan = lengths_plan.filter(|_| variable && !entries.is_empty());
    let start = EncodingCode::BlockDictionary.begin(out);
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&size32(entries.len())?.to_le_bytes());
    out.push(u8::from(lengths_plan.is_some()));
    pad(out, start);
    write_sized(out, start + 2, |out| {
        number::encode(&codes, NumberKind::Unsigned, codes_plan, out)
    })?;
    pad(out, start);
    if variable {
        let lengths = entries.iter().map(|entry| size32(entry.len()));
        let lengths = lengths.collect::<Result<Vec<u32>>>()?;
        write_sized(out, start + 6, |out| {
            number::encode_part(&lengths, NumberKind::Unsigned, lengths_plan, out)
        })?;
    }
    for entry in entries {
        out.extend_from_slice(entry);
    }
    Ok(())
}

pub(super) fn estimate(
    codes_plan: &number::Plan,
    lengths_plan: Option<&number::Plan>,
    stats: &Stats,
) -> Option<Estimate> {
    let unique = stats.distinct?;
    let (codes, lengths) = stats.sample_codes();
    let unsigned = NumberKind::Unsigned;
    let lowest = u32::from(stats.nulls == 0);
    let codes = number::Stats::of_sample(codes, unsigned, stats.n);
    let codes = codes_plan.estimate(&codes.with_range(lowest, size32(unique).ok()?))?;
    let lengths = match (stats.fixed, lengths_plan) {
        (Some(_), _) => 0,
        (None, None) => 4 * unique,
        (None, Some(plan)) => {
            plan.estimate(&number::Stats::of_sample(lengths, unsigned, unique))?
                .bytes
        }
    };
    Some(Estimate {
        bytes: 16 + codes.bytes.next_multiple_of(8) + lengths + stats.distinct_bytes,
        decode_cost: codes.decode_cost + super::PLACING + 1.2 + 0.03 * stats.average_length(),
    })
}
