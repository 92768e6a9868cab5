//! Spec: Chapter 7, "ZigZag".
//!
//! ```text
//! u16 code = 18 | u8 nested | pad to 8 | unsigned values, encoded (or raw if nested is 0)
//! ```
//!
//! The writer does not choose this encoding, so it needs no estimate. The encoder serves the tests of the decoder.

use super::super::fields::{Fields, pad};
use super::mapped::MappedLayout;
use super::{EncodingCode, NumberKind, Part, Plan, Request, Word};
use crate::error::Result;
use crate::kernels::un_zig_zag;

pub(super) struct ZigZag;

impl MappedLayout for ZigZag {
    const NESTED: &'static str = "values";

    type Map<W: Word> = ();

    fn parse<W: Word>(request: Request<'_>) -> Result<((), Part<'_>)> {
        let (mut fields, payload) = Fields::split(request.values, 1)?;
        let folded = Part::new(payload, fields.flag()?, NumberKind::Unsigned, request.n);
        Ok(((), folded))
    }

    fn map<W: Word>(values: &mut [W], (): ()) {
        un_zig_zag(values);
    }
}

pub(super) fn encode<W: Word>(values: &[W], nested: &Plan, out: &mut Vec<u8>) -> Result<()> {
    let start = EncodingCode::ZigZag.begin(out);
    out.push(1);
    pad(out, start);
    let sign = |v: W| {
        if v & W::SIGN == W::ZERO {
            W::ZERO
        } else {
            W::MAX
        }
    };
    let folded: Vec<W> = values.iter().map(|&v| (v << 1) ^ sign(v)).collect();
    super::encode(&folded, NumberKind::Unsigned, nested, out)
}
