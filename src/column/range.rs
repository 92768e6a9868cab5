//! Finds the values of an array within a range, comparing all at once.

use crate::kernels::{NumberKind, Word, within, within_wide};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::DataType;

/// Returns whether the values of a type are signed or unsigned integers, or `None` if Arrow does not store them as
/// integers of at most 64 bits. Dates, times and narrow decimals are integers, too.
pub(super) fn kind_of(data_type: &DataType) -> Option<NumberKind> {
    match data_type {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            Some(NumberKind::Unsigned)
        }
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Decimal32(..)
        | DataType::Decimal64(..) => Some(NumberKind::Signed),
        _ => None,
    }
}

/// Calls a function with the words of an array of integers.
macro_rules! with_words {
    ($array:expr, $kind:expr, $f:ident($($arg:expr),*)) => {{
        let data = $array.to_data();
        match data.data_type().primitive_width() {
            Some(1) => $f(data.buffer::<u8>(0), $kind $(, $arg)*),
            Some(2) => $f(data.buffer::<u16>(0), $kind $(, $arg)*),
            Some(4) => $f(data.buffer::<u32>(0), $kind $(, $arg)*),
            _ => $f(data.buffer::<u64>(0), $kind $(, $arg)*),
        }
    }};
}

pub(super) use with_words;

/// The sign of an integer of 128 bits.
const SIGN: u128 = 1 << 127;

/// Returns the key of the only value of an array of integers, and the largest key of the type. Keys sort like the
/// values. Returns `None` for other types and for null.
pub(crate) fn integer_key(value: &ArrayRef) -> Option<(u128, u128)> {
    fn key<W: Word>(words: &[W], kind: NumberKind) -> Option<(u128, u128)> {
        let word = words.first()?;
        Some((word.order_key(kind).to_u64().into(), W::MAX.to_u64().into()))
    }
    if let Some(wide) = value.as_primitive_opt::<Decimal128Type>() {
        let key = wide.values().first()?.cast_unsigned() ^ SIGN;
        return wide.is_valid(0).then_some((key, u128::MAX));
    }
    let kind = kind_of(value.data_type())?;
    if value.len() != 1 || value.is_null(0) {
        return None;
    }
    with_words!(value, kind, key())
}

/// Returns a bit per value of an array: whether its [key](integer_key) is from `low` to `high`. Bits at null positions
/// are arbitrary. Returns `None` for types without keys.
pub(crate) fn integers_within(array: &ArrayRef, low: u128, high: u128) -> Option<BooleanBuffer> {
    fn bits<W: Word>(
        words: &[W],
        kind: NumberKind,
        low: u128,
        high: u128,
        len: usize,
    ) -> BooleanBuffer {
        // The buffer of an array may be longer than the array.
        let words = words.get(..len).unwrap_or_default();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "keys of words are no longer than these"
        )]
        let word = |key: u128| W::from_order_key(W::truncate(key as u64), kind);
        bits_within(words, word(low), word(high))
    }
    if let Some(wide) = array.as_primitive_opt::<Decimal128Type>() {
        let (low, span) = (low ^ SIGN, high.wrapping_sub(low));
        let bits = within_wide(wide.values(), low.cast_signed(), span);
        return Some(BooleanBuffer::new(Buffer::from_vec(bits), 0, wide.len()));
    }
    let kind = kind_of(array.data_type())?;
    Some(with_words!(array, kind, bits(low, high, array.len())))
}

/// Returns a bit per code: whether it is from `low` to `high`.
pub(crate) fn codes_within(codes: &[u32], low: u32, high: u32) -> BooleanBuffer {
    bits_within(codes, low, high)
}

fn bits_within<W: Word>(words: &[W], low: W, high: W) -> BooleanBuffer {
    let mut bits = vec![0u64; words.len().div_ceil(64)];
    within(words, low, high.minus(low), &mut bits);
    BooleanBuffer::new(Buffer::from_vec(bits), 0, words.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Decimal128Array, Int8Array, Int64Array, UInt16Array};
    use arrow_ord::cmp;
    use std::sync::Arc;

    fn agrees(array: &ArrayRef) {
        for i in 0..array.len() {
            for j in 0..array.len() {
                let (low, high) = (array.slice(i, 1), array.slice(j, 1));
                let (Some((a, _)), Some((b, _))) = (integer_key(&low), integer_key(&high)) else {
                    continue;
                };
                if a > b {
                    continue;
                }
                let scalar = |value: &ArrayRef| arrow_array::Scalar::new(value.clone());
                let above = cmp::gt_eq(array, &scalar(&low)).unwrap();
                let below = cmp::lt_eq(array, &scalar(&high)).unwrap();
                let want = arrow_arith::boolean::and(&above, &below).unwrap();
                let got = integers_within(array, a, b).unwrap();
                for k in (0..array.len()).filter(|&k| array.is_valid(k)) {
                    assert_eq!(got.value(k), want.value(k), "{array:?} {k} in {i}..={j}");
                }
            }
        }
    }

    #[test]
    fn ranges_are_those_of_the_kernels_that_compare() {
        let few: Vec<i64> = vec![i64::MIN, -129, -3, -1, 0, 1, 2, 127, 70_000, i64::MAX];
        let long: Vec<i64> = few.iter().copied().cycle().take(150).collect();
        let wide = [
            i128::MIN,
            i128::MAX,
            -1 << 64,
            (-1 << 64) + 1,
            1 << 64,
            (1 << 64) - 1,
        ];
        let wide = wide.into_iter().chain(few.iter().map(|&v| v.into()));
        let wide: Vec<Option<i128>> = wide.map(|v| (v != 2).then_some(v)).collect();
        let decimals = |values: Vec<Option<i128>>| Decimal128Array::from(values);
        let arrays: [ArrayRef; 7] = [
            Arc::new(decimals(wide.clone())),
            Arc::new(decimals(wide.iter().copied().cycle().take(150).collect()).slice(1, 140)),
            Arc::new(Int64Array::from(few.clone())),
            Arc::new(Int64Array::from_iter(
                long.iter().map(|&v| (v != 0).then_some(v)),
            )),
            Arc::new(Int8Array::from_iter_values(i8::MIN..=i8::MAX).slice(100, 77)),
            Arc::new(Date32Array::from(vec![i32::MIN, -1, 0, 9190, i32::MAX])),
            Arc::new(UInt16Array::from_iter_values((0..100).map(|i| i * 650)).slice(3, 70)),
        ];
        for array in &arrays {
            agrees(array);
        }
        assert_eq!(
            integers_within(&arrays[2], 0, u64::MAX.into())
                .unwrap()
                .count_set_bits(),
            10
        );
        let floats: ArrayRef = Arc::new(arrow_array::Float32Array::from(vec![1.0]));
        assert!(integer_key(&floats).is_none());
        let codes: Vec<u32> = (0..100).collect();
        assert_eq!(
            codes_within(&codes, 7, 9).set_indices().collect::<Vec<_>>(),
            [7, 8, 9]
        );
    }
}
