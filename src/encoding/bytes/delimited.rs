//! Spec: Chapter 6, "Primitive Variable-Sized Encoding"; docs/format.md, "Other layouts": delimited byte
//! strings, each after its length.
//!
//! ```text
//! u32 size | region of size u8, which decode to: u32 length | bytes | u32 length | bytes ...
//! ```

use super::super::compress::Method;
use super::super::fields::size32;
use super::super::{Context, EncodingTree, NumberKind, check_ranges, number};
use super::input::Clean;
use super::spans::ValueSpans;
use super::{BytesBuilder, Stats};
use crate::error::{Error, Result, Within};
use std::ops::Range;

const LENGTH: usize = size_of::<u32>();

/// Rough time to find the next value by its length and to move it, in nanoseconds.
const FOLLOWING: f32 = 4.0;

/// Splits the values of a block into the number of bytes that the region decodes to, and the region.
fn parse(values: &[u8], n: usize) -> Result<(usize, &[u8])> {
    let Some((size, region)) = values.split_first_chunk::<LENGTH>() else {
        return Err(Error::corrupt(format!(
            "expected the size of delimited values, found {} bytes",
            values.len()
        )));
    };
    let size = u32::from_le_bytes(*size) as usize;
    if size / LENGTH < n {
        return Err(Error::corrupt(format!(
            "{size} bytes do not hold the lengths of {n} delimited values"
        )));
    }
    Ok((size, region))
}

/// Appends ascending `ranges` of the `n` values of a block.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the block does not hold exactly `n` values, else
/// the errors of [`decode_selected`](super::decode_selected).
pub fn decode_delimited(
    values: &[u8],
    n: usize,
    ranges: &[Range<usize>],
    cx: &mut Context<'_>,
    out: &mut BytesBuilder,
) -> Result<()> {
    out.check_fixed(None)?;
    if check_ranges(ranges, n)? == 0 {
        return Ok(());
    }
    let mut decode = || {
        let (size, region) = parse(values, n)?;
        cx.with_words(size, |cx, bytes: &mut [u8]| {
            number::decode(region, NumberKind::Unsigned, cx, bytes)?;
            cx.with_words(n + 1, |_, offsets: &mut [u64]| {
                let values = join(bytes, offsets)?;
                out.push_slices(ValueSpans::Offsets(offsets), ranges, values)
            })
        })
    };
    decode().within(|| "delimited values".to_owned())
}

/// Removes the lengths between the values, and writes the offsets of the values.
fn join<'a>(bytes: &'a mut [u8], offsets: &mut [u64]) -> Result<&'a [u8]> {
    let (mut from, mut end) = (0, 0);
    let count = offsets.len().saturating_sub(1);
    for (i, offset) in offsets.iter_mut().enumerate() {
        *offset = end as u64;
        if i == count {
            break;
        }
        let rest = bytes.get(from..).unwrap_or_default();
        let (len, rest) = rest.split_first_chunk::<LENGTH>().ok_or_else(|| {
            Error::corrupt(format!("expected {count} delimited values, found {i}"))
        })?;
        let len = u32::from_le_bytes(*len) as usize;
        if len > rest.len() {
            return Err(Error::corrupt(format!(
                "delimited value {i} has {len} bytes, and {} follow its length",
                rest.len()
            )));
        }
        let start = from + LENGTH;
        bytes.copy_within(start..start + len, end);
        end += len;
        from = start + len;
    }
    if from != bytes.len() {
        return Err(Error::corrupt(format!(
            "{} bytes follow {count} delimited values",
            bytes.len() - from
        )));
    }
    Ok(bytes.get(..end).unwrap_or_default())
}

/// Describes the encodings of a block of `n` delimited values.
///
/// # Errors
/// Returns the errors of [`decode_delimited`] that metadata show.
pub fn describe_delimited(values: &[u8], n: usize) -> Result<EncodingTree> {
    let (size, region) = parse(values, n)?;
    number::describe(region, NumberKind::Unsigned, size, 1)
}

pub(super) fn encode(input: &Clean<'_>, plan: &number::Plan, out: &mut Vec<u8>) -> Result<()> {
    if input.fixed.is_some() {
        return Err(Error::invalid("values of one size are not delimited"));
    }
    let mut bytes = Vec::with_capacity(input.values.len() + LENGTH * input.len);
    for window in input.offsets.windows(2) {
        let &[start, end] = window else { continue };
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let value = input.values.get(at(start)..at(end)).unwrap_or_default();
        bytes.extend_from_slice(&size32(value.len())?.to_le_bytes());
        bytes.extend_from_slice(value);
    }
    out.extend_from_slice(&size32(bytes.len())?.to_le_bytes());
    number::encode(&bytes, NumberKind::Unsigned, plan, out)
}

/// Returns the rough time to decode a value, in nanoseconds.
pub(super) fn cost(plan: &number::Plan, stats: &Stats) -> f32 {
    let per_byte = match plan {
        number::Plan::Zstd { level } => Method::Zstd { level: *level }.available().cost_per_byte(),
        number::Plan::Lz4 => Method::Lz4.cost_per_byte(),
        _ => 0.0,
    };
    let average = stats.total_bytes as f32 / stats.n.max(1) as f32;
    FOLLOWING + per_byte * (average + 4.0)
}

#[cfg(test)]
mod tests {
    use super::super::{BytesLayout, Decoded, Input, Plan};
    use super::*;
    use crate::encoding::Scratch;
    use crate::{ErrorKind, Limits};
    use proptest::prelude::*;

    fn encoded(values: &[Vec<u8>], plan: &number::Plan) -> Vec<u8> {
        let mut offsets = vec![0];
        for value in values {
            offsets.push(offsets.last().unwrap() + value.len() as u64);
        }
        let input = values.concat();
        let mut out = Vec::new();
        let plan = Plan::Delimited {
            bytes: plan.clone(),
        };
        super::super::encode(&Input::variable(&offsets, &input, None), &plan, &mut out).unwrap();
        out
    }

    fn decoded(bytes: &[u8], n: usize, ranges: &[Range<usize>]) -> Result<Vec<Vec<u8>>> {
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        let mut cx = Context::new(&limits, &mut scratch);
        let mut out = BytesBuilder::new(BytesLayout::Offsets32, 0);
        decode_delimited(bytes, n, ranges, &mut cx, &mut out)?;
        let Decoded::Offsets32(offsets, values) = out.finish() else {
            panic!("32-bit offsets");
        };
        let value = |w: &[i32]| values[w[0] as usize..w[1] as usize].to_vec();
        Ok(offsets.windows(2).map(value).collect())
    }

    fn plans() -> impl Strategy<Value = number::Plan> {
        prop_oneof![
            Just(number::Plan::Plain),
            Just(number::Plan::Lz4),
            Just(number::Plan::Ffor),
            Just(number::Plan::Zstd { level: 1 }),
        ]
    }

    proptest! {
        #[test]
        fn any_values_come_back(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..80),
            plan in plans(),
            picks in prop::collection::vec(any::<bool>(), 80),
        ) {
            let bytes = encoded(&values, &plan);
            let all = 0..values.len();
            prop_assert_eq!(&decoded(&bytes, values.len(), &[all]).unwrap(), &values);
            let picked: Vec<usize> = (0..values.len()).filter(|i| picks[*i]).collect();
            let ranges: Vec<_> = picked.iter().map(|i| *i..i + 1).collect();
            let expected: Vec<_> = picked.iter().map(|i| values[*i].clone()).collect();
            prop_assert_eq!(decoded(&bytes, values.len(), &ranges).unwrap(), expected);
            let fewer = 0..values.len() - 1;
            if !fewer.is_empty() {
                prop_assert!(decoded(&bytes, fewer.end, &[fewer]).is_err());
            }
            let more = 0..values.len() + 1;
            prop_assert!(decoded(&bytes, more.end, &[more]).is_err());
            prop_assert!(describe_delimited(&bytes, values.len()).is_ok());
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..20),
            plan in plans(),
            at: prop::sample::Index,
            byte: u8,
            cut: prop::sample::Index,
        ) {
            let mut bytes = encoded(&values, &plan);
            let whole = 0..values.len();
            let cut = cut.index(bytes.len());
            let _ = decoded(&bytes[..cut], values.len(), std::slice::from_ref(&whole));
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decoded(&bytes, values.len(), &[whole]);
        }
    }

    #[test]
    fn lengths_are_held_to_their_bytes() {
        let bytes = encoded(&[b"one".to_vec(), b"three".to_vec()], &number::Plan::Plain);
        // After the size and the header of the plain region.
        let first = bytes.len() - (4 + 3 + 4 + 5);
        let second = first + 4 + 3;
        for (place, len) in [
            (first, 2),
            (first, 4),
            (first, u32::MAX),
            (second, 4),
            (second, 6),
        ] {
            let mut damaged = bytes.clone();
            damaged[place..place + 4].copy_from_slice(&u32::to_le_bytes(len));
            let error = decoded(&damaged, 2, &[0..2, 2..2]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains("delimited"), "{error}");
        }
        let mut huge = bytes;
        huge[..4].fill(0xff);
        let whole = 0..2;
        assert!(decoded(&huge, 2, &[whole]).is_err());
    }
}
