//! Spec: Chapter 7, "FOR" (frame of reference).
//!
//! ```text
//! u16 code = 3 | reference | pad to 8 | unsigned differences to the reference, encoded
//! ```
//!
//! The writer does not choose this encoding, so it needs no estimate. The encoder serves the tests of the decoder.

use super::super::fields::{Fields, pad, write_word};
use super::mapped::MappedLayout;
use super::{EncodingCode, NumberKind, Part, Plan, Request, Word};
use crate::error::Result;
use crate::kernels::{add, key_range};

pub(super) struct For;

impl MappedLayout for For {
    const NESTED: &'static str = "deltas";

    fn parse<W: Word>(request: Request<'_>) -> Result<(W, Part<'_>)> {
        let (mut fields, payload) = Fields::split(request.values, W::BYTES)?;
        let deltas = Part::region(payload, NumberKind::Unsigned, request.n);
        Ok((fields.word()?, deltas))
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
    let reference = W::from_order_key(key_range(values, kind).0, kind);
    let start = EncodingCode::For.begin(out);
    write_word(reference, out);
    pad(out, start);
    let differences: Vec<W> = values.iter().map(|v| v.minus(reference)).collect();
    super::encode(&differences, NumberKind::Unsigned, deltas, out)
}
