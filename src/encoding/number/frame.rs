//! Spec: Chapter 7, "FOR" (frame of reference).
//!
//! ```text
//! u16 code = 3 | reference | pad to 8 | unsigned differences to the reference, encoded
//! ```

use super::super::fields::{Fields, pad, write_word};
use super::mapped::{Layout, Parts};
use super::{EncodingCode, Estimate, NumberKind, Plan, Stats, Word};
use crate::error::Result;
use crate::kernels::{add, key_range};

pub(super) struct For;

impl Layout for For {
    const NESTED: &'static str = "deltas";

    fn parse<W: Word>(values: &[u8]) -> Result<Parts<'_, W>> {
        let (mut fields, payload) = Fields::split(values, W::BYTES)?;
        Ok(Parts {
            reference: fields.word()?,
            nested: true,
            payload,
        })
    }

    fn map<W: Word>(values: &mut [W], reference: W) {
        add(values, reference);
    }
}

pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    deltas: &Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let reference = W::from_order_key(key_range(values, kind).0, kind);
    out.extend_from_slice(&EncodingCode::For.to_u16().to_le_bytes());
    write_word(reference, out);
    pad(out, start);
    let differences: Vec<W> = values.iter().map(|v| v.minus(reference)).collect();
    super::encode(&differences, NumberKind::Unsigned, deltas, out)
}

pub(super) fn estimate<W: Word>(deltas: &Plan, stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind == NumberKind::Float {
        return None;
    }
    let nested = stats.derive(NumberKind::Unsigned, stats.n, |sample| {
        sample
            .iter()
            .map(|v| v.minus(stats.min))
            .collect::<Vec<W>>()
    });
    let nested = deltas.estimate(&nested.with_range(W::ZERO, stats.max.minus(stats.min)))?;
    Some(Estimate {
        bytes: (2 + W::BYTES).next_multiple_of(8) + nested.bytes,
        decode_cost: nested.decode_cost + 0.05,
    })
}
