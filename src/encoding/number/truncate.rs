//! Spec: Chapter 7, "TruncateU8", "TruncateU16", "TruncateU32", "TruncateU64".
//!
//! ```text
//! u16 code = 8..11 | u8 nested | pad to 8 | the low bits of the values as unsigned, encoded or raw
//! ```
//! The values are in the signed range of the target width.

use super::super::fields::{Fields, pad, write_words};
use super::{
    Children, Codec, Context, EncodingCode, Estimate, NumberKind, Plan, Stats, View, Word,
};
use crate::error::Result;
use crate::kernels::{Slots, key_range, sign_extend};
use std::marker::PhantomData;
use std::ops::Range;

/// Truncation to `U`.
pub(super) struct Truncate<U>(PhantomData<U>);

fn parse(values: &[u8]) -> Result<(bool, &[u8])> {
    let (mut fields, payload) = Fields::split(values, 1)?;
    Ok((fields.flag()?, payload))
}

impl<U: Word> Codec for Truncate<U> {
    fn decode<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        cx: &mut Context<'_>,
        dst: &mut Slots<'_, W>,
    ) -> Result<()> {
        let dst = dst.values();
        let (nested, payload) = parse(values)?;
        cx.with_words(dst.len(), |cx, narrow: &mut [U]| {
            super::decode_part(payload, nested, NumberKind::Unsigned, cx, narrow)?;
            sign_extend(narrow, dst);
            Ok(())
        })
    }

    fn select<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        ranges: &[Range<usize>],
        cx: &mut Context<'_>,
        dst: &mut [W],
    ) -> Result<()> {
        let (nested, payload) = parse(values)?;
        cx.with_words(dst.len(), |cx, narrow: &mut [U]| {
            super::select_part(payload, nested, NumberKind::Unsigned, n, ranges, cx, narrow)?;
            sign_extend(narrow, dst);
            Ok(())
        })
    }

    fn view<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<View<W>> {
        let (nested, payload) = parse(values)?;
        if !nested {
            return Ok(View::None);
        }
        let wide = |narrow: Vec<U>| {
            let mut wide = vec![W::ZERO; narrow.len()];
            sign_extend(&narrow, &mut wide);
            wide
        };
        Ok(
            match super::view::<U>(payload, NumberKind::Unsigned, n, cx)? {
                View::Constant(v) => wide(vec![v])
                    .first()
                    .map_or(View::None, |v| View::Constant(*v)),
                View::Runs { values, ends } => View::Runs {
                    values: wide(values),
                    ends,
                },
                View::Codes { codes, dictionary } => View::Codes {
                    codes,
                    dictionary: wide(dictionary),
                },
                View::None => View::None,
            },
        )
    }

    fn children<W: Word>(
        values: &[u8],
        _kind: NumberKind,
        n: usize,
        cx: &mut Context<'_>,
    ) -> Result<Children> {
        let (nested, payload) = parse(values)?;
        super::part_tree::<U>("values", payload, nested, NumberKind::Unsigned, n, cx)
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

fn narrow<W: Word, U: Word>(values: &[W]) -> Vec<U> {
    values.iter().map(|v| U::truncate(v.to_u64())).collect()
}

fn encode_as<W: Word, U: Word>(
    values: &[W],
    code: EncodingCode,
    nested: Option<&Plan>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&code.to_u16().to_le_bytes());
    out.push(u8::from(nested.is_some()));
    pad(out, start);
    let values = narrow::<W, U>(values);
    match nested {
        Some(plan) => super::encode(&values, NumberKind::Unsigned, plan, out),
        None => {
            write_words(&values, out);
            Ok(())
        }
    }
}

pub(super) fn estimate<W: Word>(nested: Option<&Plan>, stats: &Stats<W>) -> Option<Estimate> {
    if stats.kind != NumberKind::Signed {
        return None;
    }
    let key = |v: W| v.order_key(NumberKind::Signed);
    match target_bits(key(stats.min), key(stats.max))? {
        8 => estimate_as::<W, u8>(nested, stats),
        16 => estimate_as::<W, u16>(nested, stats),
        32 => estimate_as::<W, u32>(nested, stats),
        _ => estimate_as::<W, u64>(nested, stats),
    }
}

fn estimate_as<W: Word, U: Word>(nested: Option<&Plan>, stats: &Stats<W>) -> Option<Estimate> {
    let inner = match nested {
        Some(plan) => {
            let derived = stats.derive(NumberKind::Unsigned, stats.n, narrow::<W, U>);
            let negative = stats.min & W::SIGN != W::ZERO;
            let (min, max) = (
                U::truncate(stats.min.to_u64()),
                U::truncate(stats.max.to_u64()),
            );
            let (low, high) = if negative && max & U::SIGN == U::ZERO {
                (derived.min, U::MAX)
            } else {
                (min, max)
            };
            plan.estimate(&derived.with_range(low, high))?
        }
        None => Estimate {
            bytes: stats.n * U::BYTES,
            decode_cost: 0.05,
        },
    };
    Some(Estimate {
        bytes: 8 + inner.bytes,
        decode_cost: inner.decode_cost + 0.1,
    })
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
