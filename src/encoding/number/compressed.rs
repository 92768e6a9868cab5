//! Spec: Chapter 7, "General-purpose encodings": numbers as ZSTD and LZ4.
//!
//! ```text
//! u16 code = 16 or 17 | pad to 8 | compressed bytes of the n values
//! ```

use super::super::compress::{Method, compress, decompress};
use super::super::fields::{Fields, pad};
use super::{Codec, Context, Estimate, Request, Stats, Word};
use crate::error::Result;
use crate::kernels::{Slots, as_bytes, as_bytes_mut};

/// The codec of both methods.
pub(super) struct Compressed;

impl Codec for Compressed {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let method = Method::of_region(request.values)?;
        let (_, compressed) = Fields::split(request.values, 0)?;
        decompress(method, compressed, cx, as_bytes_mut(dst.values()))
    }
}

pub(super) fn encode<W: Word>(values: &[W], method: Method, out: &mut Vec<u8>) -> Result<()> {
    let method = method.available();
    let start = method.code().begin(out);
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
