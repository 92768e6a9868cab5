//! Spec: Chapter 7, "FFOR".
//!
//! ```text
//! u16 code = 4 | reference | u8 width | pad to 8 | chunks of 1024 differences, 128 * width bytes each
//! ```
//! The reference has the type of the values and is their minimum.

use super::super::fields::{Fields, pad, write_word};
use super::packed::{Packed, PackedLayout, packed_bytes, width_byte, write_chunks};
use super::{EncodingCode, Estimate, NumberKind, Stats, Word, single_value};
use crate::error::Result;

pub(super) struct Ffor;

impl PackedLayout for Ffor {
    fn parse<W: Word>(values: &[u8], n: usize) -> Result<Packed<'_, W>> {
        let (mut fields, chunks) = Fields::split(values, W::BYTES + 1)?;
        let reference = fields.word()?;
        Packed::try_new(chunks, fields.u8()?, reference, n)
    }
}

/// Appends encoded values. `width` is at least the bits of the largest difference to `reference`, and at least 1.
pub(super) fn encode<W: Word>(values: &[W], reference: W, width: u32, out: &mut Vec<u8>) {
    let start = EncodingCode::Ffor.begin(out);
    write_word(reference, out);
    out.push(width_byte(width));
    pad(out, start);
    write_chunks(values, width, reference, out);
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Option<Estimate> {
    let width = stats.max.minus(stats.min).bit_length();
    if width == 0 {
        return single_value::estimate(stats);
    }
    (stats.kind != NumberKind::Float).then(|| Estimate {
        bytes: (3 + W::BYTES).next_multiple_of(8) + packed_bytes(stats.n, width),
        decode_cost: 0.1,
    })
}
