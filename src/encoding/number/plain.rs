//! Spec: Chapter 7, "Plain".
//!
//! ```text
//! u16 code = 1 | n values
//! ```

use super::super::fields::{expect_words, write_words};
use super::{Codec, Context, EncodingCode, Estimate, Request, Stats, Word};
use crate::error::{Error, Result};
use crate::kernels::Slots;
use std::ops::Range;

pub(super) struct Plain;

fn payload(values: &[u8]) -> &[u8] {
    values.get(2..).unwrap_or_default()
}

impl Codec for Plain {
    fn decode<W: Word>(
        request: Request<'_>,
        _cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        copy_all(payload(request.values), dst)
    }

    fn select<W: Word>(request: Request<'_>, _cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        copy_selected(payload(request.values), request.n, request.ranges, dst)
    }
}

/// Copies raw words, one for each place.
pub(super) fn copy_all<W: Word>(bytes: &[u8], dst: &mut Slots<'_, W>) -> Result<()> {
    if dst.copy_from_le(bytes) {
        Ok(())
    } else {
        expect_words::<W>(bytes, dst.len())
    }
}

/// Copies ranges of `n` raw words. `dst` has their total length.
pub(super) fn copy_selected<W: Word>(
    bytes: &[u8],
    n: usize,
    ranges: &[Range<usize>],
    dst: &mut [W],
) -> Result<()> {
    expect_words::<W>(bytes, n)?;
    if Slots::from(dst).copy_ranges_from_le(bytes, ranges.iter().cloned()) {
        Ok(())
    } else {
        Err(Error::invalid(format!("expected ranges of {n} values")))
    }
}

pub(super) fn encode<W: Word>(values: &[W], out: &mut Vec<u8>) {
    EncodingCode::Plain.begin(out);
    write_words(values, out);
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Estimate {
    Estimate {
        bytes: 2 + stats.n * W::BYTES,
        decode_cost: 0.05,
    }
}
