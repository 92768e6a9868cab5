//! Spec: Chapter 7, "Plain".
//!
//! ```text
//! u16 code = 1 | n values
//! ```

use super::super::fields::{expect_words, write_words};
use super::{Codec, Context, EncodingCode, Estimate, NumberKind, Stats, Word};
use crate::error::Result;
use crate::kernels::Slots;
use std::ops::Range;

pub(super) struct Plain;

fn payload(values: &[u8]) -> &[u8] {
    values.get(2..).unwrap_or_default()
}

impl Codec for Plain {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        _cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let bytes = payload(values);
        if dst.copy_from_le(bytes) {
            Ok(())
        } else {
            expect_words::<W>(bytes, dst.len())
        }
    }

    fn select<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        ranges: &[Range<usize>],
        _cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        let bytes = payload(values);
        expect_words::<W>(bytes, n)?;
        copy_raw(bytes, ranges, dst);
        Ok(())
    }
}

/// Copies the words of the ranges out of raw words.
pub(super) fn copy_raw<W: Word>(bytes: &[u8], ranges: &[Range<usize>], dst: &mut [W]) {
    let mut rest = dst;
    for range in ranges {
        let src = bytes
            .get(range.start * W::BYTES..range.end * W::BYTES)
            .unwrap_or_default();
        let Some((now, later)) = std::mem::take(&mut rest).split_at_mut_checked(range.len()) else {
            return;
        };
        for (d, &word) in now.iter_mut().zip(W::chunks(src)) {
            *d = W::from_le(word);
        }
        rest = later;
    }
}

pub(super) fn encode<W: Word>(values: &[W], out: &mut Vec<u8>) {
    out.extend_from_slice(&EncodingCode::Plain.to_u16().to_le_bytes());
    write_words(values, out);
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Estimate {
    Estimate {
        bytes: 2 + stats.n * W::BYTES,
        decode_cost: 0.05,
    }
}
