//! Spec: Chapter 6, "(Shard) Field Descriptor": constants of byte values, ranges of wide decimals.

use crate::format::decimal128::{self, Sign};
use crate::format::{AnyValue, RangeStats, SignStats, ValueKind};
use arrow_buffer::i256;
use std::cmp::Ordering;

/// Longest byte value that a descriptor repeats as a constant.
const MAX_CONSTANT_BYTES: usize = 1024;

/// How byte values stand for decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalForm {
    /// 16 bytes of two's complement.
    Integer128,
    /// 32 bytes of two's complement.
    Integer256,
    /// Decimal128 of IEEE 754.
    Decimal128,
}

/// A decimal that is compared as a number.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i256),
    Decimal128([u8; 16]),
}

impl Number {
    /// `None` for NaN, and where decimal128 cannot be compared.
    fn new(value: &[u8], form: DecimalForm) -> Option<Self> {
        match form {
            DecimalForm::Integer128 => {
                let narrow = i128::from_le_bytes(value.try_into().ok()?);
                Some(Self::Integer(i256::from_i128(narrow)))
            }
            DecimalForm::Integer256 => {
                Some(Self::Integer(i256::from_le_bytes(value.try_into().ok()?)))
            }
            DecimalForm::Decimal128 => {
                let bytes = value.try_into().ok()?;
                let is_number = decimal128::sign(bytes)? != Sign::Nan;
                is_number.then_some(Self::Decimal128(bytes))
            }
        }
    }

    fn is(self, ordering: Ordering, other: Self) -> bool {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b) == ordering,
            (Self::Decimal128(a), Self::Decimal128(b)) => {
                decimal128::compare(a, b) == Some(ordering)
            }
            _ => false,
        }
    }
}

/// Whether byte values are all the same, and the range of those that are decimals.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByteStats {
    decimals: Option<DecimalForm>,
    range: Option<(Number, Number)>,
    signs: SignStats,
    first: Option<Vec<u8>>,
    differ: bool,
}

impl ByteStats {
    pub(crate) fn new(decimals: Option<DecimalForm>) -> Self {
        Self {
            decimals,
            ..Self::default()
        }
    }

    /// Whether every value so far is the same, so that further ones have to be looked at.
    pub(crate) fn may_be_constant(&self) -> bool {
        !self.differ
    }

    /// Takes note of a value that is not null.
    pub(crate) fn update(&mut self, value: &[u8]) {
        if !self.differ {
            match &self.first {
                Some(first) => self.differ = first != value,
                None if value.len() <= MAX_CONSTANT_BYTES => self.first = Some(value.to_vec()),
                None => self.differ = true,
            }
        }
        let Some(form) = self.decimals else { return };
        if form == DecimalForm::Decimal128 {
            self.count_sign(value);
        }
        if let Some(number) = Number::new(value, form) {
            let (mut min, mut max) = self.range.unwrap_or((number, number));
            if number.is(Ordering::Less, min) {
                min = number;
            }
            if number.is(Ordering::Greater, max) {
                max = number;
            }
            self.range = Some((min, max));
        }
    }

    fn count_sign(&mut self, value: &[u8]) {
        let sign = value.try_into().ok().and_then(decimal128::sign);
        match sign {
            Some(Sign::Negative) => self.signs.negative_count += 1,
            Some(Sign::Zero) => self.signs.zero_count += 1,
            Some(Sign::Positive) => self.signs.positive_count += 1,
            Some(Sign::Nan) => {
                self.signs.nan_count += 1;
                // A descriptor cannot repeat it, because readers take it for damage.
                self.differ = true;
            }
            None => {}
        }
    }

    /// Whether every value has to be passed to [`update`](Self::update) until the end.
    pub(crate) fn needs_all(&self) -> bool {
        self.decimals.is_some()
    }

    /// The range of decimals, each bound as it is stored.
    pub(crate) fn range(&self) -> Option<RangeStats> {
        let (min, max) = self.range?;
        let bound = |number| match number {
            Number::Decimal128(bytes) => ValueKind::Decimal(bytes).into(),
            Number::Integer(number) => {
                let wide = number.to_le_bytes();
                let stored = match self.decimals {
                    Some(DecimalForm::Integer128) => &wide[..16],
                    _ => &wide[..],
                };
                AnyValue::from(stored).with_annotation("arrow.decimal")
            }
        };
        Some(RangeStats {
            min_value: Some(bound(min)),
            min_inclusive: true,
            max_value: Some(bound(max)),
            max_inclusive: true,
        })
    }

    /// How many decimal128 are negative, zero, positive, or no number.
    pub(crate) fn signs(&self) -> Option<SignStats> {
        let counts =
            self.decimals == Some(DecimalForm::Decimal128) && decimal128::check_supported().is_ok();
        counts.then_some(self.signs)
    }

    /// The bytes that all values have.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        self.first.as_deref().filter(|_| !self.differ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ValueKind;

    #[test]
    fn decimals_compare_as_numbers() {
        let mut stats = ByteStats::new(Some(DecimalForm::Integer128));
        for v in [5i128, -300, 7] {
            stats.update(&v.to_le_bytes());
        }
        let range = stats.range().unwrap();
        let bytes = |v: Option<AnyValue>| match v.unwrap().kind {
            Some(ValueKind::Bytes(b)) => i128::from_le_bytes(b.try_into().unwrap()),
            other => panic!("{other:?}"),
        };
        assert_eq!((bytes(range.min_value), bytes(range.max_value)), (-300, 7));
        assert_eq!(stats.constant(), None);
    }

    #[cfg(feature = "decimal")]
    #[test]
    fn decimal128_are_compared_and_counted_and_nan_is_no_bound() {
        let mut stats = ByteStats::new(Some(DecimalForm::Decimal128));
        let number = |coefficient, exponent| {
            let number = decimal128::Scaled {
                coefficient,
                exponent,
            };
            decimal128::encode(number).unwrap()
        };
        let nan = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7C];
        for v in [
            nan,
            number(2, 0),
            number(-15, -1),
            number(0, 2),
            number(19, 0),
        ] {
            stats.update(&v);
        }
        let range = stats.range().unwrap();
        let kind = |v: Option<AnyValue>| v.unwrap().kind.unwrap();
        assert_eq!(kind(range.min_value), ValueKind::Decimal(number(-15, -1)));
        assert_eq!(kind(range.max_value), ValueKind::Decimal(number(19, 0)));
        let signs = stats.signs().unwrap();
        let counts = [
            signs.negative_count,
            signs.zero_count,
            signs.positive_count,
            signs.nan_count,
        ];
        assert_eq!(counts, [1, 1, 2, 1]);
        let mut nans = ByteStats::new(Some(DecimalForm::Decimal128));
        nans.update(&nan);
        assert_eq!((nans.constant(), nans.range()), (None, None));
    }

    #[test]
    fn a_constant_is_kept_until_values_differ() {
        let mut stats = ByteStats::new(None);
        stats.update(b"a");
        stats.update(b"a");
        assert_eq!(stats.constant(), Some(&b"a"[..]));
        stats.update(b"");
        assert_eq!(stats.constant(), None);
    }
}
