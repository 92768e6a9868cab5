//! Spec: docs/format.md, "FsstValues": FSST that gives back single values.
//!
//! ```text
//! u16 code = 0x8001 | u8 symbols Y | u8 g | u32 values_size | u32 ends_size | u32 dictionary
//!                   | Y symbols, u64 | Y lengths, u8 | compressed values | pad to 8
//!                   | ends, encoded u32 | pad to 8 | lengths, encoded u32 (variable size only)
//! ```
//! Like FSST, but groups of 2^g values are compressed as one string each, and `ends` says where the codes of
//! each group end. If `dictionary` is not 0, Y is 0, and the symbols come from the compressor dictionary
//! of the field with this id.

use super::super::fields::{Fields, pad, size32, split_padded, write_sized};
use super::fsst::{self, Learned, Teaching, split_compressed, symbol_count, write_symbols};
use super::input::Clean;
use super::number;
use super::spans::ValueSpans;
use super::stats::Stats;
use super::{BytesBuilder, Children, Codec, Context, EncodingCode, Estimate, NullsOut, Request};
use crate::encoding::NumberKind;
use crate::encoding::number::Part;
use crate::error::{Error, Result, Within, to_usize};
use crate::kernels::{FsstEncoder, Symbols, prefetch};
use arrow_buffer::MutableBuffer;
use std::ops::Range;

pub(super) struct FsstValues;

/// Target size of a group, in bytes. Smaller groups take more space, larger ones make reads of single
/// values slower.
const GROUP_BYTES: usize = 180;
/// Largest binary logarithm of the number of values that the writer puts into a group.
const MAX_WRITTEN: u8 = 4;
/// Largest binary logarithm of the number of values in a group.
const MAX_GROUP: u8 = 31;

/// Share of the groups, [`WHOLE`] of [`WHOLE_OF`], from which on the whole block is decoded.
const WHOLE: usize = 3;
const WHOLE_OF: usize = 4;

/// Number of groups that are prefetched from memory, if few are wanted.
const AHEAD: usize = 16;

struct Parts<'a> {
    /// The symbols of the block, none if it refers to a dictionary.
    symbols: Symbols,
    /// Id of the dictionary that holds the symbols, or 0.
    dictionary: u32,
    /// Values per group.
    group: usize,
    compressed: &'a [u8],
    /// Where the codes of each group end.
    ends: Part<'a>,
    lengths: Part<'a>,
}

fn parse(request: Request<'_>) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(request.values, 14)?;
    let count = usize::from(fields.u8()?);
    let group = fields.u8()?;
    let (size, ends_size) = (fields.size()?, fields.size()?);
    let dictionary = fields.word::<u32>()?;
    if dictionary != 0 && count != 0 {
        return Err(Error::corrupt(format!(
            "{count} symbols beside those of dictionary {dictionary}"
        )));
    }
    if group > MAX_GROUP {
        return Err(Error::corrupt(format!(
            "expected groups of up to 2^{MAX_GROUP} values, found 2^{group}"
        )));
    }
    let (symbols, compressed, rest) = split_compressed(payload, count, size)?;
    let (ends, lengths) = split_padded(rest, ends_size, "ends")?;
    let group = 1 << group;
    Ok(Parts {
        symbols,
        dictionary,
        group,
        compressed,
        ends: Part::region(ends, NumberKind::Unsigned, request.n.div_ceil(group)),
        lengths: Part::region(lengths, NumberKind::Unsigned, request.n),
    })
}

impl Codec for FsstValues {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let parts = parse(request)?;
        if request.fixed.is_some() && !parts.lengths.bytes.is_empty() {
            return Err(Error::corrupt("values of fixed size have lengths"));
        }
        let groups = request.n.div_ceil(parts.group);
        let stretches = touched(request.ranges, parts.group);
        let wanted: usize = stretches.iter().map(Range::len).sum();
        if wanted * WHOLE_OF >= groups * WHOLE {
            return parts.decode(request, cx, out);
        }
        cx.with_words(groups, |cx, ends: &mut [u32]| {
            parts.ends.decode(cx, ends).within(|| "ends".to_owned())?;
            let last = ends.last().map(|end| *end as usize);
            // Without an early exit, the compiler vectorizes the comparisons.
            let pairs = ends.iter().zip(ends.iter().skip(1));
            let ascends = pairs.fold(true, |ascends, (a, b)| ascends & (a <= b));
            if !ascends || last != Some(parts.compressed.len()) {
                return Err(Error::corrupt(format!(
                    "the ends of groups do not ascend to {}, the size of the values",
                    parts.compressed.len()
                )));
            }
            parts.pick(&stretches, ends, request, cx, out)
        })
    }

    fn children(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let parts = parse(request)?;
        let mut children = parts.ends.children::<u32>("ends", cx)?;
        if request.fixed.is_none() {
            children.extend(parts.lengths.children::<u32>("lengths", cx)?);
        }
        Ok(children)
    }
}

/// Returns the groups that the ascending ranges touch, as ascending ranges with gaps between them.
fn touched(ranges: &[Range<usize>], group: usize) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        let next = range.start / group..range.end.div_ceil(group);
        match stretches.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            _ => stretches.push(next),
        }
    }
    stretches
}

impl Parts<'_> {
    /// Returns the symbols of the block, its own or those from the dictionary.
    fn symbols<'a>(&'a self, cx: &Context<'a>) -> Result<&'a Symbols> {
        match self.dictionary {
            0 => Ok(&self.symbols),
            id => cx.dictionaries.symbols(id),
        }
    }

    /// Decodes the whole block, and appends the wanted values.
    fn decode(
        &self,
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
    ) -> Result<()> {
        let Request {
            n, fixed, ranges, ..
        } = request;
        let symbols = self.symbols(cx)?;
        let mut push = |spans: ValueSpans<'_>, total: u64, cx: &mut Context<'_>| {
            cx.check_bytes(total)?;
            let total = to_usize(total)?;
            let fill = |_: &mut Context<'_>, buffer: &mut MutableBuffer| {
                symbols.decompress(self.compressed, total, buffer)
            };
            out.push_decoded(spans, total, n, ranges, cx, fill)
        };
        if let Some(width) = fixed {
            let total = (n as u64).saturating_mul(width as u64);
            return push(ValueSpans::Fixed(width), total, cx);
        }
        cx.with_words(n, |cx, lengths: &mut [u32]| {
            let decoded = self.lengths.decode(cx, lengths);
            decoded.within(|| "lengths".to_owned())?;
            cx.with_words(n + 1, |cx, offsets: &mut [u64]| {
                let total = sum_up(lengths, offsets);
                push(ValueSpans::Offsets(offsets), total, cx)
            })
        })
    }

    /// Decompresses stretches of groups, which contain all wanted values, and appends the wanted ones.
    fn pick(
        &self,
        stretches: &[Range<usize>],
        ends: &[u32],
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
    ) -> Result<()> {
        let Request { n, fixed, .. } = request;
        let symbols = self.symbols(cx)?;
        // Positions in the block of the values in each stretch, and positions of the wanted values among
        // the decompressed values of all stretches.
        let values_of =
            |stretch: &Range<usize>| stretch.start * self.group..(stretch.end * self.group).min(n);
        let values: Vec<Range<usize>> = stretches.iter().map(values_of).collect();
        let mut wanted = request.ranges.iter().filter(|r| !r.is_empty()).peekable();
        let (mut ranges, mut count) = (Vec::with_capacity(request.ranges.len()), 0);
        // Positions after the last wanted value of each stretch.
        let mut unwanted = Vec::with_capacity(values.len());
        for values in &values {
            let mut last = count;
            while let Some(range) = wanted.next_if(|range| range.end <= values.end) {
                let shift = |i: usize| i - values.start + count;
                last = shift(range.end);
                ranges.push(shift(range.start)..last);
            }
            count += values.len();
            unwanted.push(last..count);
        }
        cx.check_bytes(8 * (count as u64 + 1))?;
        let mut offsets = vec![0; count + 1];
        match fixed {
            Some(width) => {
                for (i, offset) in offsets.iter_mut().enumerate() {
                    *offset = (i as u64).saturating_mul(width as u64);
                }
            }
            None => cx.with_words(count, |cx, lengths: &mut [u32]| {
                let selected = self.lengths.select(&values, cx, lengths);
                selected.within(|| "lengths".to_owned())?;
                for values in &unwanted {
                    // Their bytes are not decompressed.
                    lengths.get_mut(values.clone()).unwrap_or_default().fill(0);
                }
                sum_up(lengths, &mut offsets);
                Ok(())
            })?,
        }
        cx.check_bytes(offsets.last().copied().unwrap_or_default())?;
        let offset = |i: usize| offsets.get(i).copied().unwrap_or_default();
        let end = |group: usize| ends.get(group).map_or(0, |end| *end as usize);
        cx.with_buffer(|_, buffer| {
            let mut first = 0;
            let start = |stretch: &Range<usize>| stretch.start.checked_sub(1).map_or(0, end);
            let mut ahead = stretches.iter();
            let fetch = |stretch: &Range<usize>| {
                let start = start(stretch);
                prefetch(self.compressed, start);
                prefetch(self.compressed, start + 64);
            };
            ahead.by_ref().take(AHEAD).for_each(fetch);
            for ((stretch, values), unwanted) in stretches.iter().zip(&values).zip(&unwanted) {
                ahead.next().into_iter().for_each(fetch);
                let codes = self.compressed.get(start(stretch)..end(stretch.end - 1));
                let codes = codes.unwrap_or_default();
                let len = to_usize(offset(first + values.len()) - offset(first))?;
                if fixed.is_some() || unwanted.is_empty() {
                    symbols.decompress(codes, len, buffer)?
                } else {
                    symbols.decompress_first(codes, len, buffer)?
                }
                first += values.len();
            }
            let spans = fixed.map_or(ValueSpans::Offsets(&offsets), ValueSpans::Fixed);
            out.push_slices(spans, &ranges, buffer)
        })
    }
}

/// Fills in offsets from lengths and returns the last one. There is one more offset than lengths.
fn sum_up(lengths: &[u32], offsets: &mut [u64]) -> u64 {
    let mut end = 0;
    for (offset, length) in offsets.iter_mut().zip(std::iter::once(&0).chain(lengths)) {
        end += u64::from(*length);
        *offset = end;
    }
    end
}

/// Returns the binary logarithm of the group size for `n` values of `bytes` bytes altogether.
fn group_of(n: usize, bytes: usize) -> u8 {
    let fits = |g: &u8| bytes << g >= GROUP_BYTES * n;
    (0..MAX_WRITTEN).find(fits).unwrap_or(MAX_WRITTEN)
}

/// Nanoseconds to sum up a length.
const SUMMING: f32 = 0.3;

/// Returns the plan for the ends of groups. Their differences, the sizes of groups, vary less than the ends.
fn ends_plan() -> number::Plan {
    number::Plan::Delta {
        differences: Box::new(number::Plan::Ffor),
    }
}

pub(super) fn encode(
    input: &Clean<'_>,
    encoder: &FsstEncoder,
    dictionary: Option<u32>,
    lengths_plan: &number::Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    let group = group_of(input.len, input.values.len());
    let start = EncodingCode::FsstValues.begin(out);
    let own = dictionary.is_none();
    out.extend([if own { symbol_count(encoder)? } else { 0 }, group]);
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&dictionary.unwrap_or(0).to_le_bytes());
    if own {
        write_symbols(encoder, out);
    }
    let pieces: Vec<usize> = (0..input.len)
        .step_by(1 << group)
        .map(|first| input.end_of(input.len.min(first + (1 << group)) - 1))
        .collect();
    let ends = write_sized(out, start + 4, |out| {
        let ends = encoder.compress(&input.values, &pieces, out)?;
        ends.into_iter().map(size32).collect::<Result<Vec<u32>>>()
    })?;
    pad(out, start);
    write_sized(out, start + 8, |out| {
        number::encode(&ends, NumberKind::Unsigned, &ends_plan(), out)
    })?;
    if input.fixed.is_some() {
        return Ok(());
    }
    pad(out, start);
    let lengths = input
        .offsets
        .windows(2)
        .map(|w| w.iter().rev().copied().reduce(|end, start| end - start))
        .map(|length| size32(to_usize(length.unwrap_or_default())?))
        .collect::<Result<Vec<u32>>>()?;
    number::encode(&lengths, NumberKind::Unsigned, lengths_plan, out)
}

/// Estimates like FSST, plus about a byte for the size of each group.
pub(super) fn estimate(
    stats: &Stats,
    symbols: &Learned,
    lengths: &number::Plan,
) -> Option<Estimate> {
    let (codes, decode_cost) = fsst::estimate_codes(stats, symbols, Teaching::Texts);
    let ends = stats.n >> group_of(stats.n, stats.total_bytes);
    let lengths = match stats.fixed {
        Some(_) => Estimate {
            bytes: 0,
            decode_cost: 0.0,
        },
        None => lengths.estimate(&stats.lengths())?,
    };
    Some(Estimate {
        bytes: 16 + codes + ends + lengths.bytes,
        decode_cost: decode_cost + lengths.decode_cost + SUMMING,
    })
}
