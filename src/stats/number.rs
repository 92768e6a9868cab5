//! Spec: Chapter 6, "(Shard) Field Descriptor": ranges, constants and counts of numbers.

use super::blocks::{BlockRanges, IndexedRanges};
use crate::format::{AnyValue, RangeStats, SignStats, TypeStats, ValueKind};
use crate::kernels::{FloatCounts, NumberKind, Word, float_counts, number_range};
use arrow_buffer::NullBuffer;
use half::f16;

/// The interpretation of a number's bits for statistics.
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
    /// Returns the interpretation of the numbers for encodings.
    pub(crate) fn kind(self) -> NumberKind {
        match self {
            Self::Unsigned | Self::Half => NumberKind::Unsigned,
            Self::Signed => NumberKind::Signed,
            Self::Float => NumberKind::Float,
        }
    }

    /// Returns the interpretation of the numbers for comparisons.
    fn order(self) -> NumberKind {
        match self {
            Self::Half => NumberKind::Float,
            other => other.kind(),
        }
    }

    fn is_float(self) -> bool {
        self.order() == NumberKind::Float
    }

    fn infinity<W: Word>(self) -> W {
        W::truncate(match (self, W::BYTES) {
            (Self::Half, _) => u64::from(f16::INFINITY.to_bits()),
            (_, 4) => u64::from(f32::INFINITY.to_bits()),
            _ => f64::INFINITY.to_bits(),
        })
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

/// Statistics of the numbers of a field.
#[derive(Debug, Clone)]
pub(crate) struct NumberStats<W> {
    domain: NumberDomain,
    /// Whether to collect more than the constant.
    detailed: bool,
    /// Keys of the least and the greatest number, see [`Word::order_key`].
    range: Option<(W, W)>,
    floats: FloatTotals,
    blocks: BlockRanges<W>,
    first: Option<W>,
    all_same: bool,
}

/// The sum of the [`FloatCounts`] of all values.
#[derive(Debug, Clone, Copy, Default)]
struct FloatTotals {
    values: u64,
    zero: u64,
    negative: u64,
    nan: u64,
    positive_infinity: u64,
    negative_infinity: u64,
}

impl FloatTotals {
    fn add(&mut self, values: usize, counts: FloatCounts, times: u64) {
        let add = |to: &mut u64, count: usize| *to += count as u64 * times;
        add(&mut self.values, values);
        add(&mut self.zero, counts.zero);
        add(&mut self.negative, counts.negative);
        add(&mut self.nan, counts.nan);
        add(&mut self.positive_infinity, counts.positive_infinity);
        add(&mut self.negative_infinity, counts.negative_infinity);
    }
}

fn wider<W: Word>(a: (W, W), b: (W, W)) -> (W, W) {
    (a.0.min(b.0), a.1.max(b.1))
}

impl<W: Word> NumberStats<W> {
    /// Returns statistics of no values. If not `detailed`, they only track the constant.
    pub(crate) fn new(domain: NumberDomain, detailed: bool) -> Self {
        Self {
            domain,
            detailed,
            range: None,
            floats: FloatTotals::default(),
            blocks: BlockRanges::default(),
            first: None,
            all_same: true,
        }
    }

    /// Adds the values of the next positions. Values at null positions are ignored.
    pub(crate) fn update(&mut self, values: &[W], nulls: Option<&NullBuffer>) {
        let Some(nulls) = nulls else {
            self.update_present(values);
            let mut rest = values;
            while self.detailed && !rest.is_empty() {
                let (part, after) = rest.split_at(self.blocks.room().min(rest.len()));
                let (range, nan) = self.range_of(part);
                self.blocks.add(part.len(), nan, range, wider);
                rest = after;
            }
            return;
        };
        for (start, end) in nulls.inner().set_slices() {
            self.update_present(&values[start..end]);
        }
        let mut at = 0;
        while self.detailed && at < values.len() {
            let len = self.blocks.room().min(values.len() - at);
            let (mut range, mut present) = (None, 0);
            for (start, end) in nulls.inner().slice(at, len).set_slices() {
                let (found, nan) = self.range_of(&values[at + start..at + end]);
                range = range.into_iter().chain(found).reduce(wider);
                present += end - start - nan;
            }
            self.blocks.add(len, len - present, range, wider);
            at += len;
        }
    }

    /// Adds values to everything except the range, which the blocks provide.
    fn update_present(&mut self, values: &[W]) {
        let Some(&head) = values.first() else { return };
        let first = *self.first.get_or_insert(head);
        self.all_same = self.all_same && values.iter().all(|&v| v == first);
        if self.detailed && self.domain.is_float() {
            let counts = float_counts(values, self.domain.infinity());
            self.floats.add(values.len(), counts, 1);
        }
    }

    /// Adds a value that occurs `times` times at unknown positions.
    pub(crate) fn update_repeated(&mut self, value: W, times: u64) {
        let first = *self.first.get_or_insert(value);
        self.all_same = self.all_same && value == first;
        let (range, _) = self.range_of(&[value]);
        if self.domain.is_float() {
            let counts = float_counts(&[value], self.domain.infinity());
            self.floats.add(1, counts, times);
        }
        self.widen(range);
    }

    fn widen(&mut self, range: Option<(W, W)>) {
        self.range = self.range.into_iter().chain(range).reduce(wider);
    }

    /// Returns the keys of the least and the greatest number, and the number of NaNs.
    fn range_of(&self, values: &[W]) -> (Option<(W, W)>, usize) {
        let (min, max, nan) = number_range(values, self.domain.order(), self.domain.infinity());
        let any = nan < values.len();
        (any.then_some((min, max)), nan)
    }

    /// Returns the range, if there was a value other than null and NaN.
    pub(crate) fn range(&self) -> Option<RangeStats> {
        let of_blocks = self.blocks.total(wider);
        let (min, max) = self.range.into_iter().chain(of_blocks).reduce(wider)?;
        let bound = |key| {
            if self.domain.is_float() {
                // Adding +0.0 turns -0.0 into 0.0 and leaves every other number as it is.
                ValueKind::Double(self.number(key) + 0.0)
            } else {
                self.value(W::from_order_key(key, self.domain.order()))
            }
        };
        Some(RangeStats {
            min_value: Some(bound(min).into()),
            min_inclusive: true,
            max_value: Some(bound(max).into()),
            max_inclusive: true,
        })
    }

    /// Returns counts by kind, if the numbers are floating-point. Infinities also count as positive or negative if
    /// `signed_infinities`.
    pub(crate) fn floating(&self, signed_infinities: bool) -> Option<TypeStats> {
        let all = &self.floats;
        let infinities = if signed_infinities {
            (0, 0)
        } else {
            (all.positive_infinity, all.negative_infinity)
        };
        let positive = all.values - all.zero - all.negative - all.nan;
        self.domain.is_float().then_some(TypeStats::Floating {
            signs: SignStats {
                zero_count: all.zero,
                positive_count: positive - infinities.0,
                negative_count: all.negative - infinities.1,
                nan_count: all.nan,
            },
            positive_infinity_count: all.positive_infinity,
            negative_infinity_count: all.negative_infinity,
        })
    }

    /// Returns the range index, if it is useful.
    pub(crate) fn into_index(mut self) -> Option<IndexedRanges> {
        let blocks = std::mem::take(&mut self.blocks);
        let store = |key, out: &mut Vec<u8>| {
            let word = W::from_order_key(key, self.domain.order());
            out.extend_from_slice(word.to_le().as_ref());
        };
        blocks.finish(W::BYTES, |key| self.number(key), store)
    }

    /// Returns the number for a key.
    fn number(&self, key: W) -> f64 {
        let word = W::from_order_key(key, self.domain.order());
        match self.value(word) {
            _ if self.domain.is_float() => self.domain.to_f64(word.to_u64(), W::BYTES),
            ValueKind::I64(v) => v as f64,
            _ => word.to_u64() as f64,
        }
    }

    fn value(&self, word: W) -> ValueKind {
        match self.domain {
            NumberDomain::Signed => {
                // Shifting left and right extends the sign bit.
                let unused = 64 - W::BITS;
                ValueKind::I64((word.to_u64() << unused).cast_signed() >> unused)
            }
            NumberDomain::Float => ValueKind::Double(self.domain.to_f64(word.to_u64(), W::BYTES)),
            NumberDomain::Unsigned | NumberDomain::Half => ValueKind::U64(word.to_u64()),
        }
    }

    /// Returns the constant if all values are equal bit for bit. NaN is never a constant, because a double does not
    /// preserve the payload of a narrower NaN.
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
        let mut stats = NumberStats::<u16>::new(NumberDomain::Signed, true);
        stats.update(&[3, (-5i16).cast_unsigned(), 7], None);
        let range = stats.range().unwrap();
        assert_eq!(bounds(&range), (ValueKind::I64(-5), ValueKind::I64(7)));
        assert_eq!(stats.constant(), None);
    }

    #[test]
    fn floats_ignore_nan_and_merge_the_zeros() {
        let mut stats = NumberStats::<u64>::new(NumberDomain::Float, true);
        let values = [f64::NAN, -0.0, 1.5].map(f64::to_bits);
        stats.update(&values, None);
        let (min, max) = bounds(&stats.range().unwrap());
        assert!(matches!(min, ValueKind::Double(v) if v.to_bits() == 0));
        assert_eq!(max, ValueKind::Double(1.5));
    }

    #[test]
    fn constants_compare_by_bits() {
        let mut zeros = NumberStats::<u64>::new(NumberDomain::Float, true);
        zeros.update(&[0.0f64, -0.0].map(f64::to_bits), None);
        assert_eq!(zeros.constant(), None);
        let mut minus = NumberStats::<u32>::new(NumberDomain::Float, true);
        minus.update(&[(-0.0f32).to_bits(); 3], None);
        let Some(ValueKind::Double(v)) = minus.constant().unwrap().kind else {
            panic!("a double")
        };
        assert!(v.is_sign_negative());
        let mut nan = NumberStats::<u32>::new(NumberDomain::Float, true);
        nan.update(&[f32::NAN.to_bits(); 3], None);
        assert_eq!(nan.constant(), None);
    }

    #[test]
    fn floats_are_counted_by_kind_whichever_way_they_come() {
        let values = [
            f64::NAN,
            0.0,
            -0.0,
            2.0,
            -3.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
        ];
        let words = values.map(f64::to_bits);
        let nulls = NullBuffer::from(vec![true, true, true, true, true, true, true, false]);
        let mut stats = NumberStats::<u64>::new(NumberDomain::Float, true);
        stats.update(&words, Some(&nulls));
        let mut repeated = NumberStats::<u64>::new(NumberDomain::Float, true);
        for word in &words[..7] {
            repeated.update_repeated(*word, 1);
        }
        for stats in [stats, repeated] {
            let counts = |signed| match stats.floating(signed) {
                Some(TypeStats::Floating {
                    signs: s,
                    positive_infinity_count: p,
                    negative_infinity_count: n,
                }) => [
                    s.zero_count,
                    s.positive_count,
                    s.negative_count,
                    s.nan_count,
                    p,
                    n,
                ],
                other => panic!("{other:?}"),
            };
            assert_eq!(counts(true), [2, 2, 2, 1, 1, 1]);
            assert_eq!(counts(false), [2, 1, 1, 1, 1, 1]);
            let (min, max) = bounds(&stats.range().unwrap());
            assert_eq!(min, ValueKind::Double(f64::NEG_INFINITY));
            assert_eq!(max, ValueKind::Double(f64::INFINITY));
        }
    }

    #[test]
    fn blocks_of_256_positions_are_indexed_wherever_batches_end() {
        let values: Vec<u16> = (0..5000).collect();
        let valid: Vec<bool> = (0..5000).map(|i| !(256..513).contains(&i)).collect();
        let nulls = NullBuffer::from(valid);
        let whole = |pieces: &[usize]| {
            let mut stats = NumberStats::<u16>::new(NumberDomain::Unsigned, true);
            let mut at = 0;
            for &len in pieces {
                stats.update(&values[at..at + len], Some(&nulls.slice(at, len)));
                at += len;
            }
            stats.into_index().unwrap()
        };
        let index = whole(&[5000]);
        assert_eq!(index, whole(&[3, 252, 1, 1, 700, 43, 4000]));
        assert_eq!(index.positions, 5000);
        assert_eq!(index.invalid, [&[0, 256, 1][..], &[0; 17]].concat());
        let le =
            |words: &[u16]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
        let blocks = 3..20u16;
        let minimums = blocks.clone().map(|block| 256 * block);
        let minimums: Vec<_> = [0, 0, 513].into_iter().chain(minimums).collect();
        assert_eq!(index.minimums, le(&minimums));
        let maximums = blocks.map(|block| (256 * block + 255).min(4999));
        let maximums: Vec<_> = [255, 0, 767].into_iter().chain(maximums).collect();
        assert_eq!(index.maximums, le(&maximums));
    }
}
