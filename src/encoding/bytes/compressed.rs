//! Spec: Chapter 7, "General-purpose encodings": byte strings as ZSTD and LZ4.
//!
//! ```text
//! u16 code = 16 or 17 | u32 values_size | u8 offset_width | u8 offsets_nested
//!                     | compressed values | pad to 8 | n + 1 offsets, u64, encoded or raw
//! ```
//! Values of a fixed size have no offsets. The writer still writes the padding, because the
//! reference slices it. Readers accept blocks without it.

use super::super::compress::{Method, compress, compress_trained, decompress_append};
use super::super::fields::{Fields, pad, split_padded, write_sized};
use super::input::Clean;
use super::number;
use super::spans::{OffsetsPart, estimate_offsets, write_offsets};
use super::stats::Stats;
use super::{BytesBuilder, Children, Codec, Context, EncodingCode, Estimate, NullsOut, Request};
use crate::encoding::Trained;
use crate::error::Result;

/// The codec of both methods.
pub(super) struct Compressed;

fn parse(values: &[u8]) -> Result<(&[u8], OffsetsPart<'_>)> {
    let (mut fields, payload) = Fields::split(values, 6)?;
    let size = fields.size()?;
    let width = fields.u8()?;
    let nested = fields.flag()?;
    let (compressed, bytes) = split_padded(payload, size, "compressed values")?;
    Ok((
        compressed,
        OffsetsPart {
            width,
            nested,
            bytes,
        },
    ))
}

impl Codec for Compressed {
    fn select(
        request: Request<'_>,
        cx: &mut Context<'_>,
        out: &mut BytesBuilder,
        _nulls: &mut NullsOut<'_>,
    ) -> Result<()> {
        let method = Method::of_region(request.values)?;
        let (compressed, offsets) = parse(request.values)?;
        offsets.with_spans(request, cx, |cx, spans, total| {
            out.push_decoded(spans, total, request.n, request.ranges, cx, |cx, buffer| {
                decompress_append(method, compressed, total, cx, buffer)
            })
        })
    }

    fn children(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        let (_, offsets) = parse(request.values)?;
        offsets.children(request.n, cx)
    }
}

pub(super) fn encode(
    input: &Clean<'_>,
    method: Method,
    offsets: Option<&number::Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let method = method.available();
    encode_with(input, method.code(), offsets, out, |values, out| {
        compress(method, values, out)
    })
}

/// Appends values that are compressed with a Zstandard dictionary.
pub(super) fn encode_trained(
    input: &Clean<'_>,
    dictionary: &Trained,
    offsets: Option<&number::Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    encode_with(input, EncodingCode::Zstd, offsets, out, |values, out| {
        compress_trained(dictionary, values, out)
    })
}

fn encode_with(
    input: &Clean<'_>,
    code: EncodingCode,
    offsets: Option<&number::Plan>,
    out: &mut Vec<u8>,
    compress: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let offsets = offsets.filter(|_| input.fixed.is_none());
    let start = code.begin(out);
    out.extend_from_slice(&[0; 4]);
    out.extend([input.offset_width(), u8::from(offsets.is_some())]);
    write_sized(out, start + 2, |out| compress(&input.values, out))?;
    pad(out, start);
    write_offsets(input, offsets, out)
}

/// Estimates by compressing the sample.
pub(super) fn estimate(
    stats: &Stats,
    method: Method,
    offsets: Option<&number::Plan>,
) -> Option<Estimate> {
    let mut out = Vec::new();
    let method = method.available();
    compress(method, stats.sample_bytes(), &mut out).ok()?;
    let compressed = stats.scale_up(out.len());
    Some(Estimate {
        bytes: 8 + compressed.next_multiple_of(8) + estimate_offsets(stats, offsets)?.bytes,
        decode_cost: cost(stats, method, offsets, compressed)?,
    })
}

/// Returns the rough time to decode a value, in nanoseconds, if all values take `compressed` bytes.
pub(super) fn cost(
    stats: &Stats,
    method: Method,
    offsets: Option<&number::Plan>,
    compressed: usize,
) -> Option<f32> {
    let of_bytes = method.available().cost_per_compressed_byte();
    let of_offsets = estimate_offsets(stats, offsets)?.decode_cost;
    Some(super::PLACING + of_bytes * number::ratio(compressed, stats.n) + of_offsets)
}
