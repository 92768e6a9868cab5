//! Spec: Chapter 7, "TruncateU8", "TruncateU16", "TruncateU32", "TruncateU64".
//!
//! ```text
//! u16 code = 8..11 | u8 nested | pad to 8 | the low bits of the values as unsigned, encoded or raw
//! ```
//! The values are in the signed range of the target width.
//!
//! The writer does not choose this encoding, so it needs no estimate. The encoder serves the tests of the decoder.

use super::super::fields::{Fields, pad};
use super::{
    Children, Codec, Context, EncodingCode, NumberKind, Part, Plan, Request, View, Word,
    encode_part,
};
use crate::error::Result;
use crate::kernels::{Slots, key_range, sign_extend};
use std::marker::PhantomData;

/// Truncation to `U`.
pub(super) struct Truncate<U>(PhantomData<U>);

fn parse(request: Request<'_>) -> Result<Part<'_>> {
    let (mut fields, payload) = Fields::split(request.values, 1)?;
    let nested = fields.flag()?;
    Ok(Part::new(payload, nested, NumberKind::Unsigned, request.n))
}

impl<U: Word> Codec for Truncate<U> {
    fn decode<W: Word>(
        request: Request<'_>,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        Self::select(request, cx, dst.values())
    }

    fn select<W: Word>(request: Request<'_>, cx: &mut Context<'_>, dst: &mut [W]) -> Result<()> {
        let narrow = parse(request)?;
        cx.with_words(dst.len(), |cx, selected: &mut [U]| {
            narrow.select(request.ranges, cx, selected)?;
            sign_extend(selected, dst);
            Ok(())
        })
    }

    fn view<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<View<W>> {
        let wide = |narrow: &[U]| {
            let mut wide = vec![W::ZERO; narrow.len()];
            sign_extend(narrow, &mut wide);
            wide
        };
        Ok(match parse(request)?.view::<U>(cx)? {
            View::Constant(v) => wide(&[v])
                .first()
                .map_or(View::None, |v| View::Constant(*v)),
            View::Runs { values, ends } => View::Runs {
                values: wide(&values),
                ends,
            },
            View::Codes { codes, dictionary } => View::Codes {
                codes,
                dictionary: wide(&dictionary),
            },
            View::None => View::None,
        })
    }

    fn children<W: Word>(request: Request<'_>, cx: &mut Context<'_>) -> Result<Children> {
        parse(request)?.children::<U>("values", cx)
    }
}

/// Returns the bits of the narrowest legal target for signed values between these keys, `None` for 1-byte words.
fn target_bits<W: Word>(min_key: W, max_key: W) -> Option<u32> {
    let fits = |bits: u32| {
        let half = W::ONE << (bits - 1);
        bits <= W::BITS
            && (bits == W::BITS || {
                // Keys are values shifted up by half of their range.
                min_key >= W::SIGN.minus(half) && max_key < W::SIGN.plus(half)
            })
    };
    let widest = if W::BITS == 64 { 64 } else { W::BITS };
    [8u32, 16, 32, 64]
        .into_iter()
        .filter(|bits| *bits <= widest && W::BITS > 8)
        .find(|b| fits(*b))
}

/// Appends the values, truncated as far as they allow. Returns false and appends nothing if no width is legal.
pub(super) fn encode<W: Word>(
    values: &[W],
    nested: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let (min, max) = key_range(values, NumberKind::Signed);
    match target_bits(min, max) {
        Some(8) => encode_as::<W, u8>(values, EncodingCode::TruncateU8, nested, out)?,
        Some(16) => encode_as::<W, u16>(values, EncodingCode::TruncateU16, nested, out)?,
        Some(32) => encode_as::<W, u32>(values, EncodingCode::TruncateU32, nested, out)?,
        Some(64) => encode_as::<W, u64>(values, EncodingCode::TruncateU64, nested, out)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn encode_as<W: Word, U: Word>(
    values: &[W],
    code: EncodingCode,
    nested: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = code.begin(out);
    out.push(u8::from(nested.is_some()));
    pad(out, start);
    let narrow: Vec<U> = values.iter().map(|v| U::truncate(v.to_u64())).collect();
    encode_part(&narrow, NumberKind::Unsigned, nested, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_signed_range_that_holds_the_values_is_taken() {
        let bits = |values: &[i64]| {
            let words: Vec<u64> = values.iter().map(|v| v.cast_unsigned()).collect();
            let (min, max) = key_range(&words, NumberKind::Signed);
            target_bits(min, max)
        };
        assert_eq!(bits(&[-128, 127]), Some(8));
        assert_eq!(bits(&[-129]), Some(16));
        assert_eq!(bits(&[128]), Some(16));
        assert_eq!(bits(&[32768]), Some(32));
        assert_eq!(bits(&[i64::from(i32::MIN) - 1]), Some(64));
        assert_eq!(target_bits(3u8, 4), None);
        assert_eq!(target_bits(0u16, u16::MAX), Some(16));
    }
}
