//! Spec: docs/format.md, "Digits": texts of one template, with their digits as numbers.
//!
//! ```text
//! u16 code = 0x8006 | u16 parts P | u32 template_size | u32 exceptions X | u32 exceptions_size
//!                   | template | exceptions, nothing if X is 0 | for each field: u32 size, n numbers, encoded u64
//! exceptions: u32 size, positions, encoded u32 | u32 size, lengths, encoded u32 | texts
//! ```
//! Texts that do not fit the template, and nulls, are exceptions.

use super::super::fields::{Fields, size32, split_at, write_sized};
use super::digit_field::SLACK;
use super::digit_lesson::{DigitLesson, learn};
use super::digit_template::{TOGETHER, Template};
use super::input::Clean;
use super::number;
use super::spans::ValueSpans;
use super::{BytesBuilder, Children, Codec, Context, EncodingCode, Estimate, NullsOut, Request};
use crate::encoding::NumberKind;
use crate::encoding::number::{Part, Stats, for_selected};
use crate::error::{Error, Result, Within, to_usize};
use std::ops::Range;

pub(super) struct Digits;

/// Bytes before the template.
const HEADER: usize = 16;

struct Parts<'a> {
    template: Template,
    /// The numbers of each field.
    numbers: Vec<Part<'a>>,
    exceptions: Option<DigitExceptions<'a>>,
}

/// Texts that do not fit the template.
struct DigitExceptions<'a> {
    positions: Part<'a>,
    lengths: Part<'a>,
    texts: &'a [u8],
}

/// Splits a region off that follows its size.
fn sized_part<'a>(bytes: &'a [u8], n: usize, what: &str) -> Result<(Part<'a>, &'a [u8])> {
    let (size, rest) = split_at(bytes, 4, what)?;
    let size = size
        .iter()
        .rev()
        .fold(0, |size, byte| size << 8 | usize::from(*byte));
    let (region, rest) = split_at(rest, size, what)?;
    Ok((Part::region(region, NumberKind::Unsigned, n), rest))
}

fn parse(request: Request<'_>) -> Result<Parts<'_>> {
    let (mut fields, payload) = Fields::split(request.values, HEADER - 2)?;
    let items = usize::from(fields.word::<u16>()?);
    let template_size = fields.size()?;
    let count = fields.size()?;
    let exceptions_size = fields.size()?;
    if count > request.n || (count == 0) != (exceptions_size == 0) {
        return Err(Error::corrupt(format!(
            "{count} exceptions of {exceptions_size} bytes in a block of {} values",
            request.n
        )));
    }
    let (template, rest) = split_at(payload, template_size, "the template")?;
    let template = Template::read(template, items)?;
    let (exceptions, mut rest) = split_at(rest, exceptions_size, "exceptions")?;
    let exceptions = if count == 0 {
        None
    } else {
        let (positions, exceptions) = sized_part(exceptions, count, "positions")?;
        let (lengths, texts) = sized_part(exceptions, count, "lengths")?;
        Some(DigitExceptions {
            positions,
            lengths,
            texts,
        })
    };
    let mut numbers = Vec::new();
    for _ in template.fields() {
        let (part, after) = sized_part(rest, request.n, "numbers")?;
        numbers.push(part);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(Error::corrupt(format!(
            "{} bytes follow the numbers",
            rest.len()
        )));
    }
    Ok(Parts {
        template,
        numbers,
        exceptions,
    })
}

/// A text that does not fit the template: its ordinal among the selected texts, and its bytes.
type Other<'a> = (usize, &'a [u8]);

impl<'a> DigitExceptions<'a> {
    /// Returns the selected exceptions.
    fn select(&self, request: Request<'_>, cx: &mut Context<'_>) -> Result<Vec<Other<'a>>> {
        let mut found = Vec::new();
        self.positions.with_values(cx, |cx, positions: &[u32]| {
            self.lengths.with_values(cx, |_, lengths: &[u32]| {
                let ends: Vec<usize> = lengths
                    .iter()
                    .scan(0usize, |end, length| {
                        *end = end.saturating_add(*length as usize);
                        Some(*end)
                    })
                    .collect();
                if ends.last() != Some(&self.texts.len()) {
                    return Err(Error::corrupt(format!(
                        "expected lengths of exceptions that sum up to {}",
                        self.texts.len()
                    )));
                }
                for_selected(positions, request.n, request.ranges, |place, i| {
                    let start = i.checked_sub(1).and_then(|before| ends.get(before));
                    let range = start.copied().unwrap_or(0)..ends.get(i).copied().unwrap_or(0);
                    found.push((place, self.texts.get(range).unwrap_or_default()));
                })
            })
        })?;
        Ok(found)
    }
}

impl Codec for Digits {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let parts = parse(request)?;
        let others = match &parts.exceptions {
            Some(exceptions) => exceptions
                .select(request, cx)
                .within(|| "exceptions".to_owned())?,
            None => Vec::new(),
        };
        let rows = request.count;
        cx.with_words(
            rows.saturating_mul(parts.numbers.len()),
            |cx, numbers: &mut [u64]| {
                for (part, numbers) in parts
                    .numbers
                    .iter()
                    .zip(numbers.chunks_exact_mut(rows.max(1)))
                {
                    let selected = part.select(request.ranges, cx, numbers);
                    selected.within(|| "numbers".to_owned())?;
                }
                cx.with_words(rows + 1, |cx, offsets: &mut [u64]| {
                    let total = parts.ends(numbers, rows, &others, offsets)?;
                    cx.check_bytes(total as u64)?;
                    let whole: Range<usize> = 0..rows;
                    let ranges = std::slice::from_ref(&whole);
                    out.push_decoded(
                        ValueSpans::Offsets(offsets),
                        total,
                        rows,
                        ranges,
                        cx,
                        |_, buffer| {
                            let start = buffer.len();
                            let unread = if others.is_empty() {
                                0
                            } else {
                                parts.template.longest()
                            };
                            buffer.resize(start + total + unread + SLACK, 0);
                            let dst = buffer.as_slice_mut().get_mut(start..).unwrap_or_default();
                            parts.put(numbers, offsets, &others, dst);
                            buffer.truncate(start + total);
                            Ok(())
                        },
                    )
                })
            },
        )
    }

    fn children(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let parts = parse(request)?;
        let mut children = Children::new();
        if let Some(exceptions) = &parts.exceptions {
            children.extend(exceptions.positions.children::<u32>("positions", cx)?);
            children.extend(exceptions.lengths.children::<u32>("lengths", cx)?);
        }
        for part in &parts.numbers {
            children.extend(part.children::<u64>("numbers", cx)?);
        }
        Ok(children)
    }
}

impl Parts<'_> {
    /// Checks the numbers, and fills in the offsets of the texts. Returns the last one.
    fn ends(
        &self,
        numbers: &[u64],
        rows: usize,
        others: &[Other<'_>],
        offsets: &mut [u64],
    ) -> Result<usize> {
        let Some((first, lengths)) = offsets.split_first_mut() else {
            return Ok(0);
        };
        *first = 0;
        lengths.fill(self.template.least() as u64);
        for (field, numbers) in self
            .template
            .fields()
            .zip(numbers.chunks_exact(rows.max(1)))
        {
            field.check(numbers)?;
            field.add_lengths(numbers, lengths);
        }
        for (place, text) in others {
            if let Some(length) = lengths.get_mut(*place) {
                *length = text.len() as u64;
            }
        }
        let mut end = 0;
        for offset in lengths {
            end += *offset;
            *offset = end;
        }
        to_usize(end)
    }

    /// Writes the texts, which begin at these offsets. After the last text, there is room for another one.
    fn put(&self, numbers: &[u64], offsets: &[u64], others: &[Other<'_>], dst: &mut [u8]) {
        let at = |i: usize| {
            let offset = offsets.get(i).copied().unwrap_or_default();
            usize::try_from(offset).unwrap_or(usize::MAX)
        };
        let rows = offsets.len().saturating_sub(1);
        let end = at(rows);
        let mut skipped = others.iter().map(|(place, _)| *place).peekable();
        let mut places = [0; TOGETHER];
        for first in (0..rows).step_by(TOGETHER) {
            let count = TOGETHER.min(rows - first);
            let places = places.get_mut(..count).unwrap_or_default();
            for (row, place) in (first..).zip(places.iter_mut()) {
                // The numbers of an exception are written to a place that is not read.
                let is_other = skipped.next_if(|other| *other == row).is_some();
                *place = if is_other { end } else { at(row) };
            }
            let of_field = |field: usize| {
                let start = field * rows + first;
                numbers.get(start..start + count).unwrap_or_default()
            };
            self.template.put(of_field, places, dst);
        }
        for (row, text) in others {
            let start = at(*row);
            if let Some(place) = dst.get_mut(start..start + text.len()) {
                place.copy_from_slice(text);
            }
        }
    }
}

/// Bytes that a nanosecond of decoding must save, as in the profile `Balanced`.
const PRICE: f64 = 0.25;
/// Bytes that a nanosecond of decoding Pco must save, as in the profile `HighCompression`.
const PRICE_OF_PCO: f64 = 0.08;
/// Numbers that Pco is tried on.
const TRIED_NUMBERS: usize = 8192;

/// Returns the plan of lowest cost for the numbers of a field, with its decoding time. Pco is among the plans if its
/// level is given.
fn plan_for(numbers: &[u64], pco: Option<u8>) -> (number::Plan, f32) {
    let (plan, estimate) = fast_plan(numbers);
    let middle = numbers.len().saturating_sub(TRIED_NUMBERS) / 2;
    let tried = numbers.get(middle..numbers.len().min(middle + TRIED_NUMBERS));
    let with_pco = pco.zip(tried).and_then(|(level, tried)| {
        let plan = number::Plan::Pco { level };
        let estimate = plan.trial(tried, NumberKind::Unsigned, &mut Vec::new())?;
        Some((plan, estimate, tried.len()))
    });
    let cost = |estimate: &Estimate, n: usize| {
        estimate.bytes as f64 / n.max(1) as f64 + PRICE_OF_PCO * f64::from(estimate.decode_cost)
    };
    match with_pco {
        Some((pco, tried, n)) if cost(&tried, n) < cost(&estimate, numbers.len()) => {
            (pco, tried.decode_cost)
        }
        _ => (plan, estimate.decode_cost),
    }
}

/// Returns the plan of lowest cost for the numbers of a field, among those that decode fast.
fn fast_plan(numbers: &[u64]) -> (number::Plan, Estimate) {
    let packed = || Box::new(number::Plan::Ffor);
    let compact = || Some(Box::new(number::Plan::CompactFfor));
    let plans = [
        number::Plan::Ffor,
        number::Plan::SingleValue,
        number::Plan::CompactFfor,
        number::Plan::Delta {
            differences: packed(),
        },
        number::Plan::RunLength {
            values: compact(),
            lengths: compact(),
        },
    ];
    let stats = Stats::collect(numbers, NumberKind::Unsigned);
    let cost = |estimate: &Estimate| {
        estimate.bytes as f64 + PRICE * f64::from(estimate.decode_cost) * stats.n as f64
    };
    let estimates = plans.into_iter().filter_map(|plan| {
        let estimate = plan.estimate(&stats)?;
        Some((plan, estimate))
    });
    let best = estimates.min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
    best.unwrap_or((number::Plan::Ffor, Estimate::default()))
}

/// Appends encoded values. Returns false if too few texts fit one template.
pub(super) fn encode(input: &Clean<'_>, pco: Option<u8>, out: &mut Vec<u8>) -> Result<bool> {
    if input.fixed.is_some() {
        return Ok(false);
    }
    let Some(lesson) = learn(input) else {
        return Ok(false);
    };
    write(input, &lesson, pco, out)?;
    Ok(true)
}

/// Appends texts that were learned. Returns the nanoseconds to decode the numbers of a text that are encoded by Pco.
fn write(
    input: &Clean<'_>,
    lesson: &DigitLesson,
    pco: Option<u8>,
    out: &mut Vec<u8>,
) -> Result<f32> {
    let items = u16::try_from(lesson.template.items.len())
        .map_err(|_| Error::invalid("a text of more than 65,535 parts"))?;
    let start = EncodingCode::Digits.begin(out);
    out.extend(items.to_le_bytes());
    out.extend([0; 4]);
    out.extend(size32(lesson.exceptions.len())?.to_le_bytes());
    out.extend([0; 4]);
    write_sized(out, start + 4, |out| lesson.template.write(out))?;
    write_sized(out, start + 12, |out| {
        if lesson.exceptions.is_empty() {
            return Ok(());
        }
        let texts = || lesson.exceptions.iter().map(|i| input.shown(*i as usize));
        let lengths = texts().map(|text| size32(text.len()));
        let lengths = lengths.collect::<Result<Vec<u32>>>()?;
        let positions = number::Plan::Delta {
            differences: Box::new(number::Plan::CompactFfor),
        };
        write_region(&lesson.exceptions, &positions, out)?;
        write_region(&lengths, &number::Plan::CompactFfor, out)?;
        out.extend(texts().flatten());
        Ok(())
    })?;
    let mut slow = 0.0;
    for numbers in &lesson.numbers {
        let (plan, decode_cost) = plan_for(numbers, pco);
        if matches!(plan, number::Plan::Pco { .. }) {
            slow += decode_cost;
        }
        write_region(numbers, &plan, out)?;
    }
    Ok(slow)
}

/// Appends a region after its size.
fn write_region<W: crate::encoding::Word>(
    values: &[W],
    plan: &number::Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    let at = out.len();
    out.extend([0; 4]);
    write_sized(out, at, |out| {
        number::encode(values, NumberKind::Unsigned, plan, out)
    })
}

/// Nanoseconds to decode by bit-packing and to write a field with the literal behind it: lines of a log with seven
/// fields take 31 ns, UUIDs of five fields 22 ns.
const COST_PER_PART: f32 = 4.5;

/// Encodes values to measure their size. Returns `None` if too few texts fit one template.
pub(super) fn trial(input: &Clean<'_>, pco: Option<u8>) -> Result<Option<Estimate>> {
    let Some(lesson) = learn(input).filter(|_| input.fixed.is_none()) else {
        return Ok(None);
    };
    let mut out = Vec::new();
    let slow = write(input, &lesson, pco, &mut out)?;
    let written = (0..input.len).step_by(TOGETHER).map(|first| {
        lesson.template.written_parts(|field| {
            let numbers = lesson.numbers.get(field).map_or(&[][..], Vec::as_slice);
            let last = input.len.min(first + TOGETHER);
            numbers.get(first..last).unwrap_or_default()
        })
    });
    let groups = input.len.div_ceil(TOGETHER);
    let parts = number::ratio(written.sum(), groups);
    Ok(Some(Estimate {
        bytes: out.len(),
        decode_cost: super::PLACING + COST_PER_PART * parts + slow,
    }))
}
