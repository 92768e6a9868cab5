//! Spec: Chapter 7, "SingleValue".
//!
//! ```text
//! u16 code = 7 | one value
//! ```

use super::super::fields::{read_words, write_word};
use super::{Codec, Context, EncodingCode, Estimate, Request, Stats, View, Word};
use crate::error::Result;
use crate::kernels::Slots;

pub(super) struct SingleValue;

fn value<W: Word>(request: Request<'_>) -> Result<W> {
    let mut one = [W::ZERO];
    read_words(request.values.get(2..).unwrap_or_default(), &mut one)?;
    let [value] = one;
    Ok(value)
}

impl Codec for SingleValue {
    fn decode<W: Word>(
        request: Request<'_>,
        _cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        dst.fill(value(request)?);
        Ok(())
    }

    fn select<W: Word>(request: Request<'_>, _cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        dst.fill(value(request)?);
        Ok(())
    }

    fn view<W: Word>(request: Request<'_>, _cx: &mut Context<'_>) -> Result<View<W>> {
        Ok(View::Constant(value(request)?))
    }
}

pub(super) fn encode<W: Word>(value: W, out: &mut Vec<u8>) {
    EncodingCode::SingleValue.begin(out);
    write_word(value, out);
}

pub(super) fn estimate<W: Word>(stats: &Stats<W>) -> Option<Estimate> {
    stats.all_equal().then_some(Estimate {
        bytes: 2 + W::BYTES,
        decode_cost: 0.02,
    })
}
