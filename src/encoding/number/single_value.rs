//! Spec: Chapter 7, "SingleValue".
//!
//! ```text
//! u16 code = 7 | one value
//! ```

use super::super::fields::{read_words, write_word};
use super::{Codec, Context, EncodingCode, Estimate, NumberKind, Stats, View, Word};
use crate::error::Result;
use crate::kernels::Slots;
use std::ops::Range;

pub(super) struct SingleValue;

fn value<W: Word>(values: &[u8]) -> Result<W> {
    let mut one = [W::ZERO];
    read_words(values.get(2..).unwrap_or_default(), &mut one)?;
    let [value] = one;
    Ok(value)
}

impl Codec for SingleValue {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        _cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        dst.fill(value(values)?);
        Ok(())
    }

    fn select<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        _n: usize,
        _ranges: &[Range<usize>],
        _cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        dst.fill(value(values)?);
        Ok(())
    }

    fn view<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        _n: usize,
        _cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        Ok(View::Constant(value(values)?))
    }
}

pub(super) fn encode<W: Word>(value: W, out: &mut Vec<u8>) {
    out.extend_from_slice(&EncodingCode::SingleValue.to_u16().to_le_bytes());
    write_word(value, out);
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Option<Estimate> {
    stats.all_equal().then_some(Estimate {
        bytes: 2 + W::BYTES,
        decode_cost: 0.02,
    })
}
