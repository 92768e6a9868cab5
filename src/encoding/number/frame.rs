//! Spec: Chapter 7, "FOR" (frame of reference).
//!
//! ```text
//! u16 code = 3 | reference | pad to 8 | unsigned differences to the reference, encoded
//! ```
//!
//! The writer chooses it for blocks in which most values are equal, but not 0: the reference is that value then.

use super::super::fields::{Fields, pad, write_word};
use super::mapped::MappedLayout;
use super::stats::majority;
use super::{EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, Word};
use crate::error::Result;
use crate::kernels::{add, key_range};

pub(super) struct For;

impl MappedLayout for For {
    const NESTED: &'static str = "deltas";

    type Map<W: Word> = W;

    fn parse<W: Word>(request: Request<'_>) -> Result<(W, Part<'_>)> {
        let (mut fields, payload) = Fields::split(request.values, W::BYTES)?;
        let deltas = Part::region(payload, NumberKind::Unsigned, request.n);
        Ok((fields.word()?, deltas))
    }

    fn map<W: Word>(values: &mut [W], reference: W) {
        add(values, reference);
    }
}

/// Returns the reference of these values: the least one, or the most frequent one if the differences are sparse.
fn reference<W: Word>(values: &[W], kind: NumberKind, deltas: &Plan) -> W {
    match deltas {
        Plan::Sparse { .. } => majority(values),
        _ => W::from_order_key(key_range(values, kind).0, kind),
    }
}

pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    deltas: &Plan,
    out: &mut Vec<u8>,
) -> Result<()> {
    let reference = reference(values, kind, deltas);
    let start = EncodingCode::For.begin(out);
    write_word(reference, out);
    pad(out, start);
    let differences: Vec<W> = values.iter().map(|v| v.minus(reference)).collect();
    super::encode(&differences, NumberKind::Unsigned, deltas, out)
}

pub(super) fn estimate<W: Word>(deltas: &Plan, stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind == NumberKind::Float {
        return None;
    }
    let reference = match deltas {
        Plan::Sparse { .. } => majority(stats.sample()),
        _ => stats.min,
    };
    let nested = deltas.estimate(&stats.minus(reference, NumberKind::Unsigned))?;
    Some(Estimate {
        bytes: (2 + W::BYTES).next_multiple_of(8) + nested.bytes,
        decode_cost: nested.decode_cost + 0.05,
    })
}
