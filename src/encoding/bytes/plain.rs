//! Spec: Chapter 7, "Plain", of byte strings.
//!
//! ```text
//! u16 code = 1 | u8 offset_width | n + 1 offsets, u64, if the width is 8 | values
//! ```

use super::super::fields::{split_at, write_words};
use super::input::Clean;
use super::spans::OffsetsPart;
use super::stats::Stats;
use super::{BytesBuilder, Codec, Context, EncodingCode, Estimate, NullsOut, Request};
use crate::error::{Error, Result};

pub(super) struct Plain;

impl Codec for Plain {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let (head, rest) = split_at(request.values, 3, "metadata")?;
        let width = head.last().copied().unwrap_or_default();
        let size = if width == 8 { 8 * (request.n + 1) } else { 0 };
        let (bytes, values) = split_at(rest, size, "offsets")?;
        let offsets = OffsetsPart {
            width,
            nested: false,
            bytes,
        };
        offsets.with_spans(request, cx, |_, spans, total| {
            if total != values.len() {
                return Err(Error::corrupt(format!(
                    "expected {total} bytes of values, found {}",
                    values.len()
                )));
            }
            out.push_slices(spans, request.ranges, values)
        })
    }
}

pub(super) fn encode(input: &Clean<'_>, out: &mut Vec<u8>) {
    EncodingCode::Plain.begin(out);
    out.push(input.offset_width());
    write_words(&input.offsets, out);
    out.extend_from_slice(&input.values);
}

/// Returns the size of a plain region, in bytes.
pub(super) fn size(n: usize, fixed: Option<usize>, values: usize) -> usize {
    3 + if fixed.is_some() { 0 } else { 8 * (n + 1) } + values
}

pub(super) fn estimate(stats: &Stats) -> Estimate {
    Estimate {
        bytes: size(stats.n, stats.fixed, stats.total_bytes),
        decode_cost: super::PLACING + 0.03 * stats.average_length(),
    }
}
