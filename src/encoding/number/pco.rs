//! Spec: docs/format.md, "Pco" (extension of Chapter 7).
//!
//! ```text
//! u16 code = 0x8003 | pad to 8 | a standalone Pco file of n numbers of the type
//! ```

use super::super::fields::pad;
use super::{Codec, Context, EncodingCode, Estimate, NumberKind, Request, Stats, Word};
use crate::error::{Error, Result};
use crate::kernels::{Slots, as_bytes, as_bytes_mut};
use pco::ChunkConfig;
use pco::standalone::{simple_compress, simple_decompress_into};
use std::fmt::Display;

pub(super) struct Pco;

/// Bytes before the file.
const HEADER: usize = 8;

/// Evaluates `$call` with `$number` as the type of such numbers, and `$bits` as the type of
/// their bits.
macro_rules! with_number {
    ($width:expr, $kind:expr, ($number:ident, $bits:ident) => $call:expr, else $other:expr) => {{
        macro_rules! run {
            ($n:ty, $b:ty) => {{
                type $number = $n;
                type $bits = $b;
                $call
            }};
        }
        match ($width, $kind) {
            (2, NumberKind::Unsigned) => run!(u16, u16),
            (2, NumberKind::Signed) => run!(i16, u16),
            (4, NumberKind::Unsigned) => run!(u32, u32),
            (4, NumberKind::Signed) => run!(i32, u32),
            (4, NumberKind::Float) => run!(f32, u32),
            (8, NumberKind::Unsigned) => run!(u64, u64),
            (8, NumberKind::Signed) => run!(i64, u64),
            (8, NumberKind::Float) => run!(f64, u64),
            _ => $other,
        }
    }};
}

fn corrupt(e: impl Display) -> Error {
    Error::corrupt(format!("not the expected Pco file: {e}"))
}

impl Codec for Pco {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let Request { values, kind, .. } = request;
        let dst = dst.values();
        let file = values
            .get(HEADER..)
            .ok_or_else(|| Error::corrupt(format!("{} bytes of a Pco block", values.len())))?;
        with_number!(W::BYTES, kind, (Number, Bits) => {
            cx.check_bytes(size_of_val(dst) as u64)?;
            let mut numbers = vec![Number::default(); dst.len()];
            let progress = simple_decompress_into(file, &mut numbers).map_err(corrupt)?;
            if progress.n_processed != dst.len() || !progress.finished {
                let more = if progress.finished { "" } else { " and more" };
                return Err(corrupt(format!(
                    "expected {} numbers, found {}{more}",
                    dst.len(),
                    progress.n_processed
                )));
            }
            let out = <Bits as Word>::chunks_mut(as_bytes_mut(dst));
            for (to, number) in out.iter_mut().zip(&numbers) {
                *to = number.to_le_bytes();
            }
            Ok(())
        }, else Err(corrupt("of another type")))
    }
}

/// Appends encoded numbers. Returns false if Pco has no such numbers.
pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    level: u8,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let config = ChunkConfig::default().with_compression_level(level.into());
    let file = with_number!(W::BYTES, kind, (Number, Bits) => {
        let numbers: Vec<Number> = <Bits as Word>::chunks(as_bytes(values))
            .iter()
            .map(|bytes| Number::from_le_bytes(*bytes))
            .collect();
        simple_compress(&numbers, &config)
    }, else return Ok(false));
    let file = file.map_err(|e| Error::invalid(format!("Pco, level {level}: {e}")))?;
    let start = EncodingCode::Pco.begin(out);
    pad(out, start);
    out.extend_from_slice(&file);
    Ok(true)
}

/// Estimates by compressing the sample.
pub(super) fn estimate<W: Word>(stats: &Stats<W>, level: u8) -> Option<Estimate> {
    let mut out = Vec::new();
    if !encode(stats.sample(), stats.kind, level, &mut out).ok()? {
        return None;
    }
    Some(Estimate {
        bytes: HEADER + stats.scale_up(out.len() - HEADER),
        decode_cost: decode_cost(stats.kind),
    })
}

/// Returns the rough time to decode a number, in nanoseconds.
pub(super) fn decode_cost(kind: NumberKind) -> f32 {
    match kind {
        NumberKind::Float => 6.0,
        NumberKind::Signed | NumberKind::Unsigned => 3.0,
    }
}
