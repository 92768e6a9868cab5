//! Spec: docs/format.md, "Multiples": integers with a common divisor above their minimum, such as times in whole
//! seconds that are stored as microseconds.
//!
//! ```text
//! u16 code = 0x8007 | factor | base | pad to 8 | (value - base) / factor, encoded as the same kind of number
//! ```

use super::super::fields::{Fields, pad, write_word};
use super::mapped::MappedLayout;
use super::stats::gcd;
use super::{EncodingCode, Estimate, NumberKind, Part, Plan, Request, Stats, Word};
use crate::error::Result;
use crate::kernels::key_range;

pub(super) struct Multiples;

/// The factor of a quotient, and the base that is added to the product.
#[derive(Clone, Copy)]
pub(super) struct Line<W> {
    factor: W,
    base: W,
}

/// Values from which the divisor is first guessed.
const GUESSED_FROM: usize = 64;
/// Nanoseconds to multiply and add.
const COST: f32 = 0.2;

impl MappedLayout for Multiples {
    const NESTED: &'static str = "quotients";

    type Map<W: Word> = Line<W>;

    fn parse<W: Word>(request: Request<'_>) -> Result<(Line<W>, Part<'_>)> {
        let (mut fields, payload) = Fields::split(request.values, 2 * W::BYTES)?;
        let line = Line {
            factor: fields.word()?,
            base: fields.word()?,
        };
        Ok((line, Part::region(payload, request.kind, request.n)))
    }

    fn map<W: Word>(values: &mut [W], line: Line<W>) {
        for value in values {
            *value = value.times(line.factor).plus(line.base);
        }
    }
}

/// Divides the differences to `base` by their greatest common divisor. Returns the divisor and the quotients, or `None`
/// if it is 1 or if all values are equal.
fn divide<W: Word>(values: &[W], base: W) -> Option<(W, Vec<W>)> {
    let difference = |value: &W| value.minus(base).to_u64();
    let some = values.iter().take(GUESSED_FROM);
    let mut divisor = some.map(difference).fold(0, gcd);
    let mut quotients = Vec::with_capacity(values.len());
    let mut rest = values.iter();
    while let Some(value) = rest.next() {
        let difference = difference(value);
        if divisor > 1 && difference.is_multiple_of(divisor) {
            quotients.push(W::truncate(difference / divisor));
            continue;
        }
        divisor = gcd(divisor, difference);
        if divisor == 1 {
            return None;
        }
        if divisor == 0 {
            // All of them are equal so far.
            quotients.push(W::ZERO);
            continue;
        }
        // The quotients so far have another divisor.
        quotients.clear();
        rest = values.iter();
    }
    (divisor > 1).then(|| (W::truncate(divisor), quotients))
}

/// Appends values, or returns false if their differences have no common divisor, or if they are of another type.
pub(super) fn encode<W: Word>(
    values: &[W],
    kind: NumberKind,
    nested: &Plan,
    out: &mut Vec<u8>,
) -> Result<bool> {
    if !EncodingCode::Multiples.suits_numbers(kind, W::BYTES) {
        return Ok(false);
    }
    let base = W::from_order_key(key_range(values, kind).0, kind);
    let Some((factor, quotients)) = divide(values, base) else {
        return Ok(false);
    };
    let start = EncodingCode::Multiples.begin(out);
    write_word(factor, out);
    write_word(base, out);
    pad(out, start);
    super::encode(&quotients, kind, nested, out)?;
    Ok(true)
}

pub(super) fn estimate<W: Word>(nested: &Plan, stats: &Stats<W>) -> Option<Estimate> {
    let nested = nested.estimate(&stats.quotients()?)?;
    Some(Estimate {
        bytes: (2 + 2 * W::BYTES).next_multiple_of(8) + nested.bytes,
        decode_cost: nested.decode_cost + COST,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_divisor_is_that_of_all_differences() {
        let divided = |values: &[u64]| divide(values, *values.iter().min().unwrap());
        assert_eq!(divided(&[700, 100, 400]), Some((300, vec![2, 0, 1])));
        assert_eq!(divided(&[5, 5]), None);
        assert_eq!(divided(&[5, 6, 8]), None);
        // Later values show that the first guess is too large.
        let mut values: Vec<u64> = (0..100).map(|i| 7 + 6000 * i).collect();
        values.push(7 + 40);
        let (factor, quotients) = divided(&values).unwrap();
        assert_eq!(factor, 40);
        let back: Vec<u64> = quotients.iter().map(|q| 7 + q * 40).collect();
        assert_eq!(back, values);
        values.push(8);
        assert_eq!(divided(&values), None);
        let negative: Vec<u64> = [-4i64, -10, 8].map(i64::cast_unsigned).to_vec();
        let base = (-10i64).cast_unsigned();
        assert_eq!(divide(&negative, base), Some((6, vec![1, 0, 3])));
        let wide = [0, u64::MAX - 1];
        assert_eq!(divide(&wide, 0), Some((u64::MAX - 1, vec![0, 1])));
    }
}
