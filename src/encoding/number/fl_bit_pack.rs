//! Spec: Chapter 7, "FLBitPack".
//!
//! ```text
//! u16 code = 2 | u8 width | pad to 8 | chunks of 1024 values, 128 * width bytes each
//! ```

use super::super::fields::{Fields, pad};
use super::packed::{Packed, PackedLayout, packed_bytes, width_byte, write_chunks};
use super::{EncodingCode, Estimate, NumberKind, Stats, Word, single_value};
use crate::error::Result;

pub(super) struct FlBitPack;

impl PackedLayout for FlBitPack {
    fn parse<W: Word>(values: &[u8], n: usize) -> Result<Packed<'_, W>> {
        let (mut fields, chunks) = Fields::split(values, 1)?;
        Packed::try_new(chunks, fields.u8()?, W::ZERO, n)
    }
}

/// Appends encoded values. `width` is at least the bits of the largest value, and at least 1.
pub(super) fn encode<W: Word>(values: &[W], width: u32, out: &mut Vec<u8>) {
    let start = EncodingCode::FlBitPack.begin(out);
    out.push(width_byte(width));
    pad(out, start);
    write_chunks(values, width, W::ZERO, out);
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Option<Estimate> {
    if stats.max == W::ZERO {
        return single_value::estimate(stats);
    }
    (stats.kind == NumberKind::Unsigned).then(|| Estimate {
        bytes: 8 + packed_bytes(stats.n, stats.max.bit_length()),
        decode_cost: 0.1,
    })
}
