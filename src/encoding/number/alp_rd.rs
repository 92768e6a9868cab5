//! Spec: Chapter 7, "ALPRD".
//!
//! ```text
//! u16 code = 13 | u32 left_size | u32 right_size | u16 exceptions | u8 right_bits R | u8 entries D
//!               | pad to 16 | D u16 left parts | left codes, u16, encoded | right parts, encoded
//!               | positions, u32 | left parts, u16
//! ```
//! The bits of a float are `left << R | right`. The left part is one of up to 8 in the dictionary,
//! or an exception.

use super::super::fields::{Fields, pad, read_words, split_at, write_sized, write_words};
use super::exceptions::Exceptions;
use super::packed::{packed_bytes, width_byte};
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, Word,
    fl_bit_pack,
};
use crate::error::{Error, Result};
use crate::kernels::{Slots, join_lefts};

pub(super) struct AlpRd;

/// Most entries of the dictionary. The encoder always writes 8, which keeps the following parts aligned.
const ENTRIES: usize = 8;
/// Bits of the widest left part.
pub(super) const LEFT_BITS: u8 = 16;

struct Parts<'a> {
    right_bits: u32,
    entries: Vec<u16>,
    left: Part<'a>,
    right: Part<'a>,
    /// Left parts without an entry.
    exceptions: Exceptions<'a>,
}

fn parse<W: Word>(request: Request<'_>) -> Result<Parts<'_>> {
    let Request { values, n, .. } = request;
    let (mut fields, payload) = Fields::split(values, 12)?;
    let (left_size, right_size) = (fields.size()?, fields.size()?);
    let count = usize::from(fields.u16()?);
    let (right_bits, entry_count) = (u32::from(fields.u8()?), usize::from(fields.u8()?));
    if right_bits >= W::BITS || right_bits + 16 < W::BITS {
        return Err(Error::corrupt(format!(
            "expected right parts of {} to {} bits, found {right_bits}",
            W::BITS - 16,
            W::BITS - 1
        )));
    }
    if count > n || entry_count > ENTRIES {
        return Err(Error::corrupt(format!(
            "{count} exceptions and {entry_count} left parts in a block of {n} values"
        )));
    }
    let (entry_bytes, rest) = split_at(payload, 2 * entry_count, "left parts")?;
    let mut entries = vec![0; entry_count];
    read_words(entry_bytes, &mut entries)?;
    let (left, rest) = split_at(rest, left_size, "left codes")?;
    let (right, rest) = split_at(rest, right_size, "right parts")?;
    Ok(Parts {
        right_bits,
        entries,
        left: Part::region(left, NumberKind::Unsigned, n),
        right: Part::region(right, NumberKind::Unsigned, n),
        exceptions: Exceptions::split::<u16>(rest, count)?,
    })
}

impl Parts<'_> {
    /// Adds the left parts of the selected values to `dst`, which holds their right parts.
    fn join<W: Word>(
        &self,
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        let up = self.right_bits;
        let mut lefts = [W::ZERO; ENTRIES];
        for (left, entry) in lefts.iter_mut().zip(&self.entries) {
            *left = W::truncate(u64::from(*entry)) << up;
        }
        cx.with_words(dst.len(), |cx, codes: &mut [u16]| {
            self.left.select(request.ranges, cx, codes)?;
            let (largest, rights) = join_lefts(codes, &lefts, dst);
            if rights >> up != W::ZERO {
                return Err(Error::corrupt(format!(
                    "a right part has more than {up} bits"
                )));
            }
            if usize::from(largest) >= self.entries.len() && !codes.is_empty() {
                return Err(Error::corrupt(format!(
                    "code {largest} exceeds {} left parts",
                    self.entries.len()
                )));
            }
            let mask = W::MAX >> (W::BITS - up);
            self.exceptions.for_each(request, cx, |place, left: u16| {
                if let Some(d) = dst.get_mut(place) {
                    *d = (*d & mask) | (W::truncate(u64::from(left)) << up);
                }
            })
        })
    }
}

impl Codec for AlpRd {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let parts = parse::<W>(request)?;
        parts.right.fill(cx, dst)?;
        parts.join(request, cx, dst.values())
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let parts = parse::<W>(request)?;
        parts.right.select(request.ranges, cx, dst)?;
        parts.join(request, cx, dst)
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let parts = parse::<W>(request)?;
        let mut children = parts.left.children::<u16>("left", cx)?;
        children.extend(parts.right.children::<W>("right", cx)?);
        Ok(children)
    }
}

fn left_of<W: Word>(value: W, right_bits: u32) -> u16 {
    u16::truncate((value >> right_bits).to_u64())
}

/// Number of values from which the cut is chosen.
const TRIED: usize = 512;

/// The number of right bits, and the left parts that get an entry.
struct WordSplit {
    right_bits: u32,
    entries: Vec<u16>,
    /// Expected number of values without an entry for their left part.
    exceptions: usize,
}

/// Returns the cut with the fewest bits for these values, judged by some of them.
fn choose<W: Word>(values: &[W]) -> WordSplit {
    let step = values.len().div_ceil(TRIED).max(1);
    let some = values.iter().step_by(step);
    let mut lefts: Vec<u16> = some
        .map(|v| left_of(*v, W::BITS - u32::from(LEFT_BITS)))
        .collect();
    lefts.sort_unstable();
    let mut best = WordSplit {
        right_bits: W::BITS - 1,
        entries: Vec::new(),
        exceptions: 0,
    };
    let mut fewest = u64::MAX;
    for shift in (0..u32::from(LEFT_BITS)).rev() {
        let right_bits = W::BITS - u32::from(LEFT_BITS) + shift;
        // The most frequent left parts, with their number of values.
        let mut top: Vec<(usize, u16)> = Vec::with_capacity(ENTRIES + 1);
        for group in lefts.chunk_by(|a, b| a >> shift == b >> shift) {
            let left = group.first().map_or(0, |left| left >> shift);
            let place = top.partition_point(|(count, _)| *count >= group.len());
            if place < ENTRIES {
                top.insert(place, (group.len(), left));
                top.truncate(ENTRIES);
            }
        }
        let covered: usize = top.iter().map(|(count, _)| count).sum();
        let exceptions = lefts.len() - covered;
        let code_bits = usize::BITS - (top.len().max(2) - 1).leading_zeros();
        let bits = u64::from(right_bits + code_bits) * lefts.len() as u64 + 48 * exceptions as u64;
        if bits < fewest {
            fewest = bits;
            best = WordSplit {
                right_bits,
                entries: top.into_iter().map(|(_, left)| left).collect(),
                exceptions: exceptions * step,
            };
        }
    }
    best
}

/// Appends encoded floats. Returns false and appends nothing if there are too many exceptions.
pub(super) fn encode<W: Word>(
    values: &[W],
    left_plan: &Plan,
    right_plan: &Plan,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let WordSplit {
        right_bits,
        mut entries,
        ..
    } = choose(values);
    let filler = entries.first().copied().unwrap_or_default();
    // The code of every left part, or `NONE` for exceptions.
    const NONE: u16 = u16::MAX;
    let mut code_of = vec![NONE; 1 << (W::BITS - right_bits)];
    for (code, entry) in (0u16..).zip(&entries) {
        if let Some(place) = code_of.get_mut(usize::from(*entry)) {
            *place = code;
        }
    }
    let mask = W::MAX >> (W::BITS - right_bits);
    let rights: Vec<W> = values.iter().map(|v| *v & mask).collect();
    let mut codes: Vec<u16> = values
        .iter()
        .map(|v| {
            let left = usize::from(left_of(*v, right_bits));
            code_of.get(left).copied().unwrap_or(NONE)
        })
        .collect();
    let (mut positions, mut exceptions) = (Vec::new(), Vec::new());
    for ((i, code), v) in (0u32..).zip(&mut codes).zip(values) {
        if *code == NONE {
            *code = 0;
            positions.push(i);
            exceptions.push(left_of(*v, right_bits));
        }
    }
    let Ok(count) = u16::try_from(positions.len()) else {
        return Ok(false);
    };
    entries.resize(ENTRIES, filler);
    let start = EncodingCode::AlpRd.begin(out);
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend([width_byte(right_bits), 8]);
    pad(out, start);
    write_words(&entries, out);
    write_sized(out, start + 2, |out| {
        let at = out.len();
        super::encode(&codes, NumberKind::Unsigned, left_plan, out)?;
        if !(out.len() - at).is_multiple_of(8) {
            // The parts are not padded, and other readers require the right one to be aligned.
            out.truncate(at);
            let largest = codes.iter().copied().max().unwrap_or_default();
            fl_bit_pack::encode(&codes, largest.bit_length().max(1), out);
        }
        Ok(())
    })?;
    write_sized(out, start + 6, |out| {
        super::encode(&rights, NumberKind::Unsigned, right_plan, out)
    })?;
    write_words(&positions, out);
    write_words(&exceptions, out);
    Ok(true)
}

pub(super) fn estimate<W: Word>(
    left_plan: &Plan,
    right_plan: &Plan,
    stats: &Stats<W>,
) -> Option<Estimate> {
    if !EncodingCode::AlpRd.suits_numbers(stats.kind, W::BYTES) {
        return None;
    }
    let cut = choose(stats.sample());
    let exceptions = stats.scale_up(cut.exceptions);
    u16::try_from(exceptions).ok()?;
    let mask = W::MAX >> (W::BITS - cut.right_bits);
    let unsigned = NumberKind::Unsigned;
    let codes = stats.derive(unsigned, stats.n, |sample| {
        let code = |v: &W| {
            let left = left_of(*v, cut.right_bits);
            (0u16..)
                .zip(&cut.entries)
                .find(|(_, e)| **e == left)
                .map_or(0, |(code, _)| code)
        };
        sample.iter().map(code).collect::<Vec<u16>>()
    });
    let rights = stats.derive(unsigned, stats.n, |sample| {
        sample.iter().map(|v| *v & mask).collect::<Vec<W>>()
    });
    let packed = 8 + packed_bytes(stats.n, 1);
    let left = left_plan.estimate(&codes).unwrap_or(Estimate {
        bytes: packed,
        decode_cost: 0.1,
    });
    let right = right_plan.estimate(&rights)?;
    Some(Estimate {
        bytes: 32 + left.bytes + right.bytes + exceptions * 6,
        decode_cost: left.decode_cost + right.decode_cost + 0.5,
    })
}
