//! Spec: Chapter 7, the offsets of byte strings: where the values of a block stand.

use super::super::number::{self, Part};
use super::super::{Children, Context, Estimate, NumberKind};
use super::Request;
use super::input::Clean;
use super::stats::Stats;
use crate::error::{Error, Result, to_usize};
use crate::kernels::is_ascending;
use std::ops::Range;

/// Checked positions of the values in the bytes of a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueSpans<'a> {
    /// Offsets, one more than values. They ascend from 0, and the last one fits memory.
    Offsets(&'a [u64]),
    /// All values have this size.
    Fixed(usize),
}

impl ValueSpans<'_> {
    /// Returns the bytes of a range of values.
    pub(super) fn bytes_of(&self, range: &Range<usize>) -> Range<usize> {
        match self {
            // Offsets are checked to fit memory, and ranges to lie within the block.
            Self::Offsets(offsets) => {
                let at = |i: usize| {
                    offsets
                        .get(i)
                        .and_then(|o| usize::try_from(*o).ok())
                        .unwrap_or_default()
                };
                at(range.start)..at(range.end)
            }
            Self::Fixed(width) => range.start * width..range.end * width,
        }
    }
}

/// How a block stores the offsets of its values.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffsetsPart<'a> {
    /// The `offset_width` of the metadata: 8, or 0 for values of fixed size.
    pub(super) width: u8,
    /// Whether the offsets are an encoded region.
    pub(super) nested: bool,
    /// The offsets.
    pub(super) bytes: &'a [u8],
}

impl<'a> OffsetsPart<'a> {
    /// Returns the offsets of `n` values.
    fn part(self, n: usize) -> Part<'a> {
        Part::new(self.bytes, self.nested, NumberKind::Unsigned, n + 1)
    }

    /// Runs `f` with the spans of the values and their total size in bytes.
    pub(super) fn with_spans<T>(
        self,
        request: Request<'_>,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Context<'_>, ValueSpans<'_>, usize) -> Result<T>,
    ) -> Result<T> {
        let Request { n, fixed, .. } = request;
        match (self.width, fixed) {
            (0, Some(width)) => {
                if !self.bytes.is_empty() {
                    return Err(Error::corrupt("values of fixed size have offsets"));
                }
                let total = n.checked_mul(width).ok_or_else(|| {
                    Error::corrupt(format!("{n} values of {width} bytes exceed memory"))
                })?;
                f(cx, ValueSpans::Fixed(width), total)
            }
            (8, None) => self.part(n).with_values(cx, |cx, offsets: &[u64]| {
                let total = check(offsets)?;
                f(cx, ValueSpans::Offsets(offsets), total)
            }),
            (width, fixed) => Err(Error::corrupt(format!(
                "an offset width of {width} does not suit values of {}",
                if fixed.is_some() {
                    "fixed size"
                } else {
                    "variable size"
                }
            ))),
        }
    }

    /// Describes the encoding of the offsets, if they are encoded.
    pub(super) fn children(self, n: usize, cx: &mut Context<'_>) -> Result<Children> {
        if self.width == 0 {
            return Ok(Vec::new());
        }
        self.part(n).children::<u64>("offsets", cx)
    }
}

/// Checks offsets and returns the last one.
fn check(offsets: &[u64]) -> Result<usize> {
    match (offsets.first(), offsets.last()) {
        (Some(0), Some(&last)) if is_ascending(offsets) => to_usize(last),
        _ => Err(Error::corrupt("offsets do not ascend from 0")),
    }
}

/// Appends the offsets of values of variable size, encoded if there is a plan.
pub(super) fn write_offsets(
    input: &Clean<'_>,
    plan: Option<&number::Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    if input.fixed.is_some() {
        return Ok(());
    }
    number::encode_part(&input.offsets, NumberKind::Unsigned, plan, out)
}

/// Estimates the results of storing the offsets of values with these statistics, which are zero for values of
/// fixed size.
pub(super) fn estimate_offsets(stats: &Stats, plan: Option<&number::Plan>) -> Option<Estimate> {
    match (stats.fixed, plan) {
        (Some(_), _) => Some(Estimate {
            bytes: 0,
            decode_cost: 0.0,
        }),
        (None, Some(plan)) => {
            let (sample, unsigned) = (stats.sample_offsets(), NumberKind::Unsigned);
            let offsets = number::Stats::of_sample(sample, unsigned, stats.n + 1);
            plan.estimate(&offsets.with_range(0, stats.total_bytes as u64))
        }
        (None, None) => Some(Estimate {
            bytes: 8 * (stats.n + 1),
            decode_cost: 0.1,
        }),
    }
}
