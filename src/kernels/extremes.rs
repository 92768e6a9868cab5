//! Loops over numbers for statistics: ranges without NaN, and counts of special floats.

use super::{NumberKind, Word, dispatch};

/// Counts of the special floats, as found by [`float_counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FloatCounts {
    /// Zeros, of either sign.
    pub(crate) zero: usize,
    /// Numbers below zero, including negative infinity.
    pub(crate) negative: usize,
    /// NaN.
    pub(crate) nan: usize,
    /// Positive infinity.
    pub(crate) positive_infinity: usize,
    /// Negative infinity.
    pub(crate) negative_infinity: usize,
}

#[inline(always)]
fn number_range_body<W: Word>(values: &[W], kind: NumberKind, infinity: W) -> (W, W, usize) {
    let (mut min, mut max, mut nan) = (W::MAX, W::ZERO, 0);
    match kind {
        NumberKind::Unsigned | NumberKind::Signed => {
            let flip = match kind {
                NumberKind::Signed => W::SIGN,
                _ => W::ZERO,
            };
            for &v in values {
                min = min.min(v ^ flip);
                max = max.max(v ^ flip);
            }
        }
        NumberKind::Float => {
            for &v in values {
                let is_nan = v & !W::SIGN > infinity;
                let key = v.order_key(NumberKind::Float);
                min = min.min(if is_nan { W::MAX } else { key });
                max = max.max(if is_nan { W::ZERO } else { key });
                nan += usize::from(is_nan);
            }
        }
    }
    (min, max, nan)
}

#[inline(always)]
fn float_counts_body<W: Word>(values: &[W], infinity: W) -> FloatCounts {
    let mut counts = FloatCounts::default();
    for &v in values {
        let size = v & !W::SIGN;
        let (nan, zero) = (size > infinity, size == W::ZERO);
        counts.zero += usize::from(zero);
        counts.nan += usize::from(nan);
        counts.negative += usize::from(v > W::SIGN && !nan);
        counts.positive_infinity += usize::from(v == infinity);
        counts.negative_infinity += usize::from(v == infinity | W::SIGN);
    }
    counts
}

dispatch! {
    /// Returns the smallest and the largest [`order_key`](Word::order_key) of the values that are not NaN,
    /// `(MAX, 0)` if there are none, and the number of NaN. `infinity` is the bits of positive infinity.
    pub(crate) fn number_range<W: Word>(values: &[W], kind: NumberKind, infinity: W) -> (W, W, usize) = number_range_body;
}

dispatch! {
    /// Counts floats by kind. `infinity` is the bits of positive infinity.
    pub(crate) fn float_counts<W: Word>(values: &[W], infinity: W) -> FloatCounts = float_counts_body;
}

#[cfg(test)]
mod tests {
    use super::super::cpu::tests::at_every_level;
    use super::*;

    #[test]
    fn ranges_leave_out_nan_and_counts_count_it() {
        at_every_level(ranges_and_counts);
    }

    fn ranges_and_counts() {
        let values = [
            f64::NAN,
            -f64::NAN,
            0.0,
            -0.0,
            1.5,
            -2.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            7.0,
        ];
        let words = values.map(f64::to_bits);
        let infinity = f64::INFINITY.to_bits();
        // Every length, so that both whole vectors and remainders are tested.
        for len in 0..=words.len() {
            let (part, numbers) = (&words[..len], &values[..len]);
            let counts = float_counts(part, infinity);
            let count = |f: &dyn Fn(f64) -> bool| numbers.iter().filter(|v| f(**v)).count();
            let expected = FloatCounts {
                zero: count(&|v| v == 0.0),
                negative: count(&|v| v < 0.0),
                nan: count(&f64::is_nan),
                positive_infinity: count(&|v| v == f64::INFINITY),
                negative_infinity: count(&|v| v == f64::NEG_INFINITY),
            };
            assert_eq!(counts, expected);
            let (min, max, nan) = number_range(part, NumberKind::Float, infinity);
            let real = numbers.iter().copied().filter(|v| !v.is_nan());
            let key = |v: f64| v.to_bits().order_key(NumberKind::Float);
            let smallest = real.clone().min_by(f64::total_cmp);
            let largest = real.max_by(f64::total_cmp);
            assert_eq!(min, smallest.map_or(u64::MAX, key));
            assert_eq!(max, largest.map_or(0, key));
            assert_eq!(nan, expected.nan);
        }
        let signed = [5i16, -7, 3].map(i16::cast_unsigned);
        let (min, max, _) = number_range(&signed, NumberKind::Signed, 0);
        let back = |key| u16::from_order_key(key, NumberKind::Signed).cast_signed();
        assert_eq!((back(min), back(max)), (-7, 5));
    }
}
