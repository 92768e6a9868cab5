//! Spec: Chapter 6, "(Shard) Field Descriptor": ranges and signs of wide decimals.

use super::blocks::{BlockRanges, IndexedRanges};
use crate::format::decimal128::{self, Sign};
use crate::format::{AnyValue, RangeStats, SignStats, ValueKind};
use arrow_buffer::{BooleanBuffer, i256};
use std::cmp::Ordering;

/// The encoding of decimals as byte values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalForm {
    /// 16 bytes of two's complement.
    Integer128,
    /// 32 bytes of two's complement.
    Integer256,
    /// Decimal128 of IEEE 754.
    Decimal128,
}

impl DecimalForm {
    /// Returns the size of a value in bytes.
    fn width(self) -> usize {
        match self {
            Self::Integer128 | Self::Decimal128 => 16,
            Self::Integer256 => 32,
        }
    }
}

/// A decimal that is compared as a number.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i256),
    Decimal128([u8; 16]),
}

impl Number {
    /// Returns the number of a stored value. Returns `None` for NaN, and if this build cannot compare decimal128.
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

    /// Returns whether this is less than the other.
    fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a < b,
            (Self::Decimal128(a), Self::Decimal128(b)) => {
                decimal128::compare(a, b) == Some(Ordering::Less)
            }
            _ => false,
        }
    }

    fn sign(self) -> Sign {
        match self {
            Self::Integer(v) => match v.cmp(&i256::ZERO) {
                Ordering::Less => Sign::Negative,
                Ordering::Equal => Sign::Zero,
                Ordering::Greater => Sign::Positive,
            },
            Self::Decimal128(bytes) => decimal128::sign(bytes).unwrap_or(Sign::Nan),
        }
    }

    /// Returns the number approximately.
    fn to_f64(self) -> f64 {
        match self {
            Self::Integer(v) => {
                let (low, high) = v.to_parts();
                low as f64 + high as f64 * 2f64.powi(128)
            }
            Self::Decimal128(bytes) => match (decimal128::decode(bytes), self.sign()) {
                (Some(v), _) => v.coefficient as f64 * 10f64.powi(v.exponent),
                (None, Sign::Negative) => f64::NEG_INFINITY,
                (None, _) => f64::INFINITY,
            },
        }
    }

    /// Appends the number in `width` bytes.
    fn store(self, width: usize, out: &mut Vec<u8>) {
        match self {
            Self::Integer(v) => out.extend_from_slice(&v.to_le_bytes()[..width]),
            Self::Decimal128(bytes) => out.extend_from_slice(&bytes),
        }
    }
}

fn wider(a: (Number, Number), b: (Number, Number)) -> (Number, Number) {
    let min = if b.0.is_below(a.0) { b.0 } else { a.0 };
    let max = if a.1.is_below(b.1) { b.1 } else { a.1 };
    (min, max)
}

/// Statistics of the decimals of a field.
#[derive(Debug, Clone)]
pub(crate) struct DecimalStats {
    form: DecimalForm,
    range: Option<(Number, Number)>,
    signs: SignStats,
    blocks: BlockRanges<Number>,
}

impl DecimalStats {
    pub(crate) fn new(form: DecimalForm) -> Self {
        Self {
            form,
            range: None,
            signs: SignStats::default(),
            blocks: BlockRanges::default(),
        }
    }

    /// Adds the values of the next `len` positions. Values at null positions are ignored.
    pub(crate) fn update<'a>(
        &mut self,
        len: usize,
        nulls: Option<&BooleanBuffer>,
        value: impl Fn(usize) -> &'a [u8],
    ) {
        let mut at = 0;
        while at < len {
            let end = len.min(at + self.blocks.room());
            let present = (at..end)
                .filter(|&i| nulls.is_none_or(|nulls| nulls.value(i)))
                .map(&value);
            let (range, valid) = match self.form {
                DecimalForm::Integer128 => self.add_integers(present),
                DecimalForm::Integer256 | DecimalForm::Decimal128 => self.add_numbers(present),
            };
            self.widen(range);
            self.blocks.add(end - at, end - at - valid, range, wider);
            at = end;
        }
    }

    /// Counts values by sign. Returns the range of the values that are not NaN, and their number.
    fn add_numbers<'a>(
        &mut self,
        values: impl Iterator<Item = &'a [u8]>,
    ) -> (Option<(Number, Number)>, usize) {
        let (mut range, mut valid) = (None, 0);
        for number in values.filter_map(|value| self.count(value, 1)) {
            let own = (number, number);
            range = Some(range.map_or(own, |range| wider(range, own)));
            valid += 1;
        }
        (range, valid)
    }

    /// Counts integers of 16 bytes in two's complement by sign. Returns their range and their number. Such integers are
    /// frequent, so they have a loop that is faster than [`add_numbers`](Self::add_numbers).
    fn add_integers<'a>(
        &mut self,
        values: impl Iterator<Item = &'a [u8]>,
    ) -> (Option<(Number, Number)>, usize) {
        let (mut min, mut max) = (i128::MAX, i128::MIN);
        let (mut valid, mut negative, mut zero) = (0, 0, 0);
        for value in values {
            let Ok(bytes) = value.try_into() else {
                continue;
            };
            let number = i128::from_le_bytes(bytes);
            (min, max) = (min.min(number), max.max(number));
            valid += 1;
            negative += usize::from(number < 0);
            zero += usize::from(number == 0);
        }
        self.signs.negative_count += negative as u64;
        self.signs.zero_count += zero as u64;
        self.signs.positive_count += (valid - negative - zero) as u64;
        let number = |v| Number::Integer(i256::from_i128(v));
        ((valid > 0).then(|| (number(min), number(max))), valid)
    }

    /// Adds a value that occurs `times` times at unknown positions.
    pub(crate) fn update_repeated(&mut self, value: &[u8], times: u64) {
        let number = self.count(value, times);
        self.widen(number.map(|number| (number, number)));
    }

    fn widen(&mut self, range: Option<(Number, Number)>) {
        self.range = self.range.into_iter().chain(range).reduce(wider);
    }

    /// Counts a value by its sign. Returns the number unless it is NaN.
    fn count(&mut self, value: &[u8], times: u64) -> Option<Number> {
        let number = Number::new(value, self.form);
        let count = match number.map_or(Sign::Nan, Number::sign) {
            Sign::Negative => &mut self.signs.negative_count,
            Sign::Zero => &mut self.signs.zero_count,
            Sign::Positive => &mut self.signs.positive_count,
            Sign::Nan => &mut self.signs.nan_count,
        };
        *count += times;
        number
    }

    /// Returns the range, each bound in its stored form.
    pub(crate) fn range(&self) -> Option<RangeStats> {
        let (min, max) = self.range?;
        let bound = |number: Number| match number {
            Number::Decimal128(bytes) => ValueKind::Decimal(bytes).into(),
            Number::Integer(_) => {
                let mut bytes = Vec::new();
                number.store(self.form.width(), &mut bytes);
                AnyValue::from(bytes).with_annotation("arrow.decimal")
            }
        };
        Some(RangeStats {
            min_value: Some(bound(min)),
            min_inclusive: true,
            max_value: Some(bound(max)),
            max_inclusive: true,
        })
    }

    /// Returns the counts of negative, zero, positive and NaN values, or `None` if this build cannot determine them.
    pub(crate) fn signs(&self) -> Option<SignStats> {
        let can_tell =
            self.form != DecimalForm::Decimal128 || decimal128::check_supported().is_ok();
        can_tell.then_some(self.signs)
    }

    /// Returns the range index, if it is useful.
    pub(crate) fn into_index(self) -> Option<IndexedRanges> {
        let width = self.form.width();
        self.blocks.finish(width, Number::to_f64, |number, out| {
            number.store(width, out);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ValueKind;

    #[test]
    fn decimals_compare_as_numbers() {
        let values = [5i128, -300, 0, 7].map(i128::to_le_bytes);
        let mut stats = DecimalStats::new(DecimalForm::Integer128);
        stats.update(4, None, |i| &values[i]);
        let range = stats.range().unwrap();
        let bytes = |v: Option<AnyValue>| match v.unwrap().kind {
            Some(ValueKind::Bytes(b)) => i128::from_le_bytes(b[..].try_into().unwrap()),
            other => panic!("{other:?}"),
        };
        assert_eq!((bytes(range.min_value), bytes(range.max_value)), (-300, 7));
        let signs = stats.signs().unwrap();
        assert_eq!((signs.negative_count, signs.zero_count), (1, 1));
        assert_eq!((signs.positive_count, signs.nan_count), (2, 0));
    }

    #[test]
    fn decimals_are_indexed_in_their_own_bytes() {
        const COUNT: usize = 4100;
        let values: Vec<[u8; 32]> = (0..COUNT as u64)
            .map(|i| i256::from_i128(i128::from(i) << 100).to_le_bytes())
            .collect();
        let mut stats = DecimalStats::new(DecimalForm::Integer256);
        let present = BooleanBuffer::collect_bool(COUNT, |i| i != 0);
        stats.update(COUNT, Some(&present), |i| &values[i]);
        let index = stats.into_index().unwrap();
        let ends = (0..COUNT)
            .step_by(256)
            .map(|start| (start, (start + 255).min(COUNT - 1)));
        let (least, greatest): (Vec<_>, Vec<_>) = ends
            .map(|(start, end)| (values[start.max(1)], values[end]))
            .unzip();
        assert_eq!(index.minimums, least.concat());
        assert_eq!(index.maximums, greatest.concat());
        assert_eq!(index.invalid, [&[1][..], &[0; 16]].concat());
        assert_eq!(index.width, 32);
    }

    #[cfg(feature = "decimal")]
    #[test]
    fn decimal128_are_compared_and_counted_and_nan_is_no_bound() {
        let mut stats = DecimalStats::new(DecimalForm::Decimal128);
        let number = |coefficient, exponent| {
            let number = decimal128::Scaled {
                coefficient,
                exponent,
            };
            decimal128::encode(number).unwrap()
        };
        let nan = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7C];
        let values = [
            nan,
            number(2, 0),
            number(-15, -1),
            number(0, 2),
            number(19, 0),
        ];
        stats.update(5, None, |i| &values[i]);
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
        let mut nans = DecimalStats::new(DecimalForm::Decimal128);
        nans.update_repeated(&nan, 3);
        assert_eq!(nans.range(), None);
        assert_eq!(nans.signs().unwrap().nan_count, 3);
    }
}
