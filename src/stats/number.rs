//! Spec: Chapter 6, "(Shard) Field Descriptor": ranges and constants of numbers.

use crate::format::{AnyValue, RangeStats, ValueKind};
use crate::kernels::{NumberKind, Word};
use half::f16;

/// What the bits of a number mean to statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberDomain {
    /// An unsigned integer, or ticks of a DateTime.
    Unsigned,
    /// A signed integer.
    Signed,
    /// A floating-point number of the word's size.
    Float,
    /// A half-precision number, stored as an unsigned 16-bit integer.
    Half,
}

impl NumberDomain {
    /// How the encodings see the numbers.
    pub(crate) fn kind(self) -> NumberKind {
        match self {
            Self::Unsigned | Self::Half => NumberKind::Unsigned,
            Self::Signed => NumberKind::Signed,
            Self::Float => NumberKind::Float,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::Float | Self::Half)
    }

    fn to_f64(self, bits: u64, bytes: usize) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the word has that many bits"
        )]
        match (self, bytes) {
            (Self::Half, _) => f16::from_bits(bits as u16).to_f64(),
            (_, 4) => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }
}

/// The range of the values seen so far, and whether they are all the same.
#[derive(Debug, Clone)]
pub(crate) struct NumberStats<W> {
    domain: NumberDomain,
    /// Least and greatest integer, sign bit flipped for signed ones so that they compare as words.
    range: Option<(W, W)>,
    /// Least and greatest float that is a number; the zeros are merged.
    float_range: Option<(f64, f64)>,
    first: Option<W>,
    all_same: bool,
}

impl<W: Word> NumberStats<W> {
    pub(crate) fn new(domain: NumberDomain) -> Self {
        Self {
            domain,
            range: None,
            float_range: None,
            first: None,
            all_same: true,
        }
    }

    /// Takes note of values, none of them null.
    pub(crate) fn update(&mut self, values: &[W]) {
        let Some(&head) = values.first() else { return };
        let first = *self.first.get_or_insert(head);
        self.all_same = self.all_same && values.iter().all(|&v| v == first);
        if self.domain.is_float() {
            self.update_float(values);
        } else {
            let flip = self.sign_flip();
            let (mut min, mut max) = self.range.unwrap_or((head ^ flip, head ^ flip));
            for &v in values {
                let key = v ^ flip;
                min = min.min(key);
                max = max.max(key);
            }
            self.range = Some((min, max));
        }
    }

    fn sign_flip(&self) -> W {
        match self.domain {
            NumberDomain::Signed => W::SIGN,
            _ => W::ZERO,
        }
    }

    fn update_float(&mut self, values: &[W]) {
        for &v in values {
            let v = self.domain.to_f64(v.to_u64(), W::BYTES);
            if v.is_nan() {
                continue;
            }
            // Adding +0.0 turns -0.0 into 0.0 and leaves every other number as it is.
            let v = v + 0.0;
            let (min, max) = self.float_range.unwrap_or((v, v));
            self.float_range = Some((min.min(v), max.max(v)));
        }
    }

    /// The range, if there was a value that has a place in one.
    pub(crate) fn range(&self) -> Option<RangeStats> {
        let (min, max) = if self.domain.is_float() {
            let (min, max) = self.float_range?;
            (ValueKind::Double(min), ValueKind::Double(max))
        } else {
            let (min, max) = self.range?;
            let flip = self.sign_flip();
            (self.value(min ^ flip), self.value(max ^ flip))
        };
        Some(RangeStats {
            min_value: Some(min.into()),
            min_inclusive: true,
            max_value: Some(max.into()),
            max_inclusive: true,
        })
    }

    fn value(&self, word: W) -> ValueKind {
        match self.domain {
            NumberDomain::Signed => {
                // The sign bit is brought to the top, and then down again with copies of itself.
                let unused = 64 - W::BITS;
                ValueKind::I64((word.to_u64() << unused).cast_signed() >> unused)
            }
            NumberDomain::Float => ValueKind::Double(self.domain.to_f64(word.to_u64(), W::BYTES)),
            NumberDomain::Unsigned | NumberDomain::Half => ValueKind::U64(word.to_u64()),
        }
    }

    /// The value that all values have, bit for bit. A NaN is none, because a double does not
    /// carry the payload of a narrower one.
    pub(crate) fn constant(&self) -> Option<AnyValue> {
        let first = self.first.filter(|_| self.all_same)?;
        let is_nan = self.domain == NumberDomain::Float
            && self.domain.to_f64(first.to_u64(), W::BYTES).is_nan();
        (!is_nan).then(|| self.value(first).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(stats: &RangeStats) -> (ValueKind, ValueKind) {
        let kind = |v: &Option<AnyValue>| v.clone().unwrap().kind.unwrap();
        (kind(&stats.min_value), kind(&stats.max_value))
    }

    #[test]
    fn signed_numbers_compare_by_sign() {
        let mut stats = NumberStats::<u16>::new(NumberDomain::Signed);
        stats.update(&[3, (-5i16).cast_unsigned(), 7]);
        let range = stats.range().unwrap();
        assert_eq!(bounds(&range), (ValueKind::I64(-5), ValueKind::I64(7)));
        assert_eq!(stats.constant(), None);
    }

    #[test]
    fn floats_ignore_nan_and_merge_the_zeros() {
        let mut stats = NumberStats::<u64>::new(NumberDomain::Float);
        stats.update(&[f64::NAN.to_bits(), (-0.0f64).to_bits(), 1.5f64.to_bits()]);
        let (min, max) = bounds(&stats.range().unwrap());
        assert!(matches!(min, ValueKind::Double(v) if v.to_bits() == 0));
        assert_eq!(max, ValueKind::Double(1.5));
    }

    #[test]
    fn constants_compare_by_bits() {
        let mut zeros = NumberStats::<u64>::new(NumberDomain::Float);
        zeros.update(&[0.0f64.to_bits(), (-0.0f64).to_bits()]);
        assert_eq!(zeros.constant(), None);
        let mut minus = NumberStats::<u32>::new(NumberDomain::Float);
        minus.update(&[(-0.0f32).to_bits(); 3]);
        let Some(ValueKind::Double(v)) = minus.constant().unwrap().kind else {
            panic!("a double")
        };
        assert!(v.is_sign_negative());
        let mut nan = NumberStats::<u32>::new(NumberDomain::Float);
        nan.update(&[f32::NAN.to_bits(); 3]);
        assert_eq!(nan.constant(), None);
    }
}
