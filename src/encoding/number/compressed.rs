//! Spec: Chapter 7, "General-purpose encodings": numbers as ZSTD and LZ4.
//!
//! ```text
//! u16 code = 16 or 17 | pad to 8 | compressed bytes of the n values
//! ```

use super::super::compress::{Method, compress, decompress};
use super::super::fields::{Fields, pad};
use super::{Codec, Context, EncodingCode, Estimate, NumberKind, Stats, Word};
use crate::error::Result;
use crate::kernels::{Slots, as_bytes, as_bytes_mut};

pub(super) struct Zstd;
pub(super) struct Lz4;

fn decode<W: Word>(
    method: Method,
    values: &[u8],
    cx: &mut Context<'_>,
    dst: &mut [W],
) -> Result<()> {
    let (_, compressed) = Fields::split(values, 0)?;
    decompress(method, compressed, cx, as_bytes_mut(dst))
}

impl Codec for Zstd {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        decode(Method::Zstd { level: 0 }, values, cx, dst.values())
    }
}

impl Codec for Lz4 {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        decode(Method::Lz4, values, cx, dst.values())
    }
}

pub(super) fn encode<W: Word>(values: &[W], method: Method, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let method = method.available();
    let code = match method {
        Method::Zstd { .. } => EncodingCode::Zstd,
        Method::Lz4 => EncodingCode::Lz4,
    };
    out.extend_from_slice(&code.to_u16().to_le_bytes());
    pad(out, start);
    compress(method, as_bytes(values), out)
}

/// Estimates by compressing the sample.
pub(super) fn estimate<W: Word>(stats: &Stats<W>, method: Method) -> Option<Estimate> {
    let mut out = Vec::new();
    compress(method.available(), as_bytes(stats.sample()), &mut out).ok()?;
    let width = f32::from(u8::try_from(W::BYTES).ok()?);
    Some(Estimate {
        bytes: 8 + stats.scale_up(out.len()),
        decode_cost: method.available().cost_per_byte() * width,
    })
}
