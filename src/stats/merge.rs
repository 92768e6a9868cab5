//! Merges the descriptors of stripes into the descriptors of the shard.

use super::hll::{estimate_sketch, merge_sketches};
use crate::format::{
    AnyValue, CardinalityInfo, FieldDescriptor, LengthStats, RangeStats, SignStats, Sketch,
    TypeStats, ValueKind,
};
use std::cmp::Ordering;

/// Merges the descriptor of a field over the stripes added so far.
#[derive(Debug)]
pub(crate) struct ShardStats {
    merged: Option<FieldDescriptor>,
    /// Whether null counts as a distinct value.
    null_is_distinct: bool,
}

/// Returns whether all positions are null. Its ranges, cardinality and type-specific statistics are ignored.
fn has_no_values(field: &FieldDescriptor) -> bool {
    field.null_count == Some(field.position_count)
}

impl ShardStats {
    /// Returns a merger without stripes.
    pub(crate) fn new(null_is_distinct: bool) -> Self {
        Self {
            merged: None,
            null_is_distinct,
        }
    }

    /// Adds the descriptor of one more stripe, without its Bloom filter and dictionary size, which cannot be merged.
    pub(crate) fn add(&mut self, stripe: &FieldDescriptor) {
        let Some(merged) = &mut self.merged else {
            self.merged = Some(FieldDescriptor {
                position_count: stripe.position_count,
                null_count: stripe.null_count,
                constant_value: stripe.constant_value.clone(),
                range_stats: stripe.range_stats.clone(),
                type_specific: stripe.type_specific.clone(),
                cardinality: stripe.cardinality.clone(),
                raw_data_size: stripe.raw_data_size,
                ..FieldDescriptor::default()
            });
            return;
        };
        if stripe.position_count == 0 {
            return;
        }
        let cardinality = match (has_no_values(merged), has_no_values(stripe)) {
            (true, _) => {
                merged.range_stats.clone_from(&stripe.range_stats);
                // A stripe of nulls may lack them. If a stripe of values does, there may be a NaN in the shard.
                let earlier = merged
                    .type_specific
                    .take()
                    .filter(|_| has_no_values(stripe));
                merged.type_specific = stripe.type_specific.clone().or(earlier);
                stripe.cardinality.clone()
            }
            (_, true) => merged.cardinality.take(),
            _ => {
                merged.range_stats =
                    merge_ranges(merged.range_stats.take(), stripe.range_stats.as_ref());
                merged.type_specific =
                    merge_types(merged.type_specific.take(), stripe.type_specific.as_ref());
                merge_cardinalities(merged.cardinality.take(), stripe.cardinality.as_ref())
            }
        };
        if merged.position_count == 0 {
            merged.constant_value.clone_from(&stripe.constant_value);
        } else if !is_same(
            merged.constant_value.as_ref(),
            stripe.constant_value.as_ref(),
        ) {
            merged.constant_value = None;
        }
        merged.position_count += stripe.position_count;
        let add = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        merged.null_count = add(merged.null_count, stripe.null_count);
        merged.raw_data_size = add(merged.raw_data_size, stripe.raw_data_size);
        merged.cardinality = cardinality;
        let has_null = self.null_is_distinct && merged.null_count != Some(0);
        let present = merged.position_count - merged.null_count.unwrap_or(0);
        let most = if self.null_is_distinct {
            present
        } else {
            u64::MAX
        };
        recount(merged, has_null, most);
    }

    /// Returns the descriptor of the shard, or `None` if no stripe was added.
    pub(crate) fn finish(self) -> Option<FieldDescriptor> {
        self.merged
    }
}

/// Returns whether constants are equal bit by bit; 0.0 and -0.0 are not.
fn is_same(a: Option<&AnyValue>, b: Option<&AnyValue>) -> bool {
    let kinds = a
        .and_then(|a| a.kind.as_ref())
        .zip(b.and_then(|b| b.kind.as_ref()));
    match kinds {
        Some((ValueKind::Double(a), ValueKind::Double(b))) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

/// Sets the number of distinct values of a merged field; an estimate is at most `most`, plus one for null.
fn recount(field: &mut FieldDescriptor, has_null: bool, most: u64) {
    let null_value = u64::from(has_null);
    if let Some(TypeStats::Boolean {
        true_count,
        false_count,
    }) = field.type_specific
        && let Some(cardinality) = &mut field.cardinality
    {
        let count = u64::from(true_count > 0) + u64::from(false_count > 0) + null_value;
        cardinality.count = Some(count);
        cardinality.is_estimate = false;
        return;
    }
    if let Some(cardinality) = &mut field.cardinality
        && let Some(Sketch::Hll(sketch)) = &cardinality.sketch
    {
        let estimate = estimate_sketch(sketch);
        cardinality.count = estimate.map(|count| count.min(most) + null_value);
        cardinality.is_estimate = cardinality.count.is_some();
    }
}

/// Merges the sketches. Exact counts cannot be merged, because both stripes may share values.
fn merge_cardinalities(
    a: Option<CardinalityInfo>,
    b: Option<&CardinalityInfo>,
) -> Option<CardinalityInfo> {
    let sketch = match (a?.sketch, &b?.sketch) {
        (Some(Sketch::Hll(a)), Some(Sketch::Hll(b))) => merge_sketches(a, b).map(Sketch::Hll),
        _ => None,
    };
    Some(CardinalityInfo {
        sketch,
        ..CardinalityInfo::default()
    })
}

fn merge_ranges(a: Option<RangeStats>, b: Option<&RangeStats>) -> Option<RangeStats> {
    let (mut a, b) = (a?, b?);
    // If two bounds are equal, and one of them is inclusive, the inclusive bound holds for both stripes.
    let wins = |ours: &AnyValue, theirs: &AnyValue, inclusive: bool, order: Ordering| {
        let found = theirs.compare(ours)?;
        Some(found == order || (found == Ordering::Equal && inclusive))
    };
    let (our_min, their_min) = (a.min_value.as_ref()?, b.min_value.as_ref()?);
    if wins(our_min, their_min, b.min_inclusive, Ordering::Less)? {
        a.min_value.clone_from(&b.min_value);
        a.min_inclusive = b.min_inclusive;
    }
    let (our_max, their_max) = (a.max_value.as_ref()?, b.max_value.as_ref()?);
    if wins(our_max, their_max, b.max_inclusive, Ordering::Greater)? {
        a.max_value.clone_from(&b.max_value);
        a.max_inclusive = b.max_inclusive;
    }
    Some(a)
}

fn merge_types(a: Option<TypeStats>, b: Option<&TypeStats>) -> Option<TypeStats> {
    use TypeStats as T;
    Some(match (a?, b?) {
        (
            T::String {
                lengths,
                ascii_count,
            },
            T::String {
                lengths: other,
                ascii_count: other_ascii,
            },
        ) => T::String {
            lengths: merge_lengths(lengths, *other),
            ascii_count: ascii_count.zip(*other_ascii).map(|(a, b)| a + b),
        },
        (T::List(a), T::List(b)) => T::List(merge_lengths(a, *b)),
        (T::Binary(a), T::Binary(b)) => T::Binary(merge_lengths(a, *b)),
        (
            T::Boolean {
                true_count: trues,
                false_count: falses,
            },
            T::Boolean {
                true_count,
                false_count,
            },
        ) => T::Boolean {
            true_count: trues + true_count,
            false_count: falses + false_count,
        },
        (T::Decimal(a), T::Decimal(b)) => T::Decimal(merge_signs(a, *b)),
        (
            T::Floating {
                signs,
                positive_infinity_count: positive,
                negative_infinity_count: negative,
            },
            T::Floating {
                signs: other,
                positive_infinity_count,
                negative_infinity_count,
            },
        ) => T::Floating {
            signs: merge_signs(signs, *other),
            positive_infinity_count: positive + positive_infinity_count,
            negative_infinity_count: negative + negative_infinity_count,
        },
        _ => return None,
    })
}

fn merge_lengths(a: LengthStats, b: LengthStats) -> LengthStats {
    LengthStats {
        min: a.min.min(b.min),
        min_non_empty: a.min_non_empty.into_iter().chain(b.min_non_empty).min(),
        max: a.max.max(b.max),
    }
}

fn merge_signs(a: SignStats, b: SignStats) -> SignStats {
    SignStats {
        zero_count: a.zero_count + b.zero_count,
        positive_count: a.positive_count + b.positive_count,
        negative_count: a.negative_count + b.negative_count,
        nan_count: a.nan_count + b.nan_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripe(positions: u64, nulls: u64, range: Option<(i64, i64)>) -> FieldDescriptor {
        FieldDescriptor {
            position_count: positions,
            null_count: Some(nulls),
            range_stats: range.map(|(min, max)| RangeStats {
                min_value: Some(min.into()),
                min_inclusive: true,
                max_value: Some(max.into()),
                max_inclusive: true,
            }),
            ..FieldDescriptor::default()
        }
    }

    #[test]
    fn ranges_widen_and_counts_add() {
        let mut stats = ShardStats::new(true);
        stats.add(&stripe(3, 0, Some((5, 7))));
        stats.add(&stripe(2, 2, None));
        stats.add(&stripe(0, 0, None));
        stats.add(&stripe(4, 1, Some((-1, 6))));
        let merged = stats.finish().unwrap();
        assert_eq!(merged.position_count, 9);
        assert_eq!(merged.null_count, Some(3));
        assert_eq!(merged.range_stats, stripe(0, 0, Some((-1, 7))).range_stats);
    }

    #[test]
    fn a_stripe_with_unknown_range_makes_it_unknown() {
        let mut stats = ShardStats::new(true);
        stats.add(&stripe(3, 0, Some((5, 7))));
        stats.add(&stripe(3, 0, None));
        assert_eq!(stats.finish().unwrap().range_stats, None);
    }

    #[test]
    fn statistics_of_nulls_do_not_stand_for_unknown_ones() {
        let floats = |positions, nulls, signs| FieldDescriptor {
            type_specific: Some(TypeStats::Floating {
                signs,
                positive_infinity_count: 0,
                negative_infinity_count: 0,
            }),
            ..stripe(positions, nulls, None)
        };
        let nulls = floats(3, 3, SignStats::default());
        let unknown = stripe(2, 0, Some((1, 2)));
        let ones = SignStats {
            positive_count: 2,
            ..SignStats::default()
        };
        let known = floats(2, 0, ones);
        let merged = |stripes: [&FieldDescriptor; 2]| {
            let mut stats = ShardStats::new(true);
            for stripe in stripes {
                stats.add(stripe);
            }
            stats.finish().unwrap().type_specific
        };
        assert_eq!(merged([&nulls, &unknown]), None);
        assert_eq!(merged([&unknown, &nulls]), None);
        assert_eq!(merged([&nulls, &known]), known.type_specific);
        assert_eq!(merged([&known, &nulls]), known.type_specific);
        let unknown_nulls = stripe(3, 3, None);
        assert_eq!(merged([&unknown_nulls, &known]), known.type_specific);
    }

    #[test]
    fn a_constant_survives_only_if_every_stripe_has_it() {
        let constant = |v: i64, n| FieldDescriptor {
            constant_value: Some(v.into()),
            ..stripe(n, 0, None)
        };
        let mut stats = ShardStats::new(true);
        stats.add(&constant(1, 0));
        stats.add(&constant(2, 5));
        stats.add(&constant(2, 5));
        assert_eq!(stats.finish().unwrap().constant_value, Some(2i64.into()));
        let mut stats = ShardStats::new(true);
        stats.add(&constant(1, 5));
        stats.add(&constant(2, 5));
        assert_eq!(stats.finish().unwrap().constant_value, None);
    }

    #[test]
    fn bounds_that_are_no_values_stay_marked() {
        let with = |min: &str, min_inclusive| FieldDescriptor {
            range_stats: Some(RangeStats {
                min_value: Some(min.into()),
                min_inclusive,
                max_value: Some("x".into()),
                max_inclusive: !min_inclusive,
            }),
            ..stripe(1, 0, None)
        };
        let merged = |a: &FieldDescriptor, b: &FieldDescriptor| {
            let mut stats = ShardStats::new(true);
            stats.add(a);
            stats.add(b);
            stats.finish().unwrap().range_stats.unwrap()
        };
        let (cut, whole) = (with("a", false), with("a", true));
        for range in [merged(&cut, &whole), merged(&whole, &cut)] {
            assert!(range.min_inclusive && range.max_inclusive);
        }
        let range = merged(&with("b", true), &cut);
        assert_eq!(
            (range.min_value, range.min_inclusive),
            (Some("a".into()), false)
        );
    }

    #[test]
    fn stripes_of_nulls_change_neither_ranges_nor_lengths() {
        let lengths = LengthStats {
            min: 3,
            min_non_empty: Some(3),
            max: 9,
        };
        let values = FieldDescriptor {
            type_specific: Some(TypeStats::Binary(lengths)),
            ..stripe(4, 1, None)
        };
        let nulls = FieldDescriptor {
            type_specific: Some(TypeStats::Binary(LengthStats::default())),
            ..stripe(2, 2, None)
        };
        for order in [[&values, &nulls], [&nulls, &values]] {
            let mut stats = ShardStats::new(true);
            order.into_iter().for_each(|s| stats.add(s));
            let merged = stats.finish().unwrap();
            assert_eq!(merged.type_specific, values.type_specific);
            assert_eq!((merged.position_count, merged.null_count), (6, Some(3)));
        }
    }

    #[test]
    fn distinct_values_are_estimated_anew_and_null_is_one() {
        let distinct = |values: std::ops::Range<u32>, nulls: u64| {
            let mut stats = crate::stats::DistinctStats::new(0, None);
            values.clone().for_each(|v| stats.add(&v.to_le_bytes()));
            let count = values.len() as u64;
            FieldDescriptor {
                cardinality: Some(stats.cardinality(count + u64::from(nulls > 0), false)),
                ..stripe(count + nulls, nulls, None)
            }
        };
        let merged = |null_is_distinct: bool, parts: &[FieldDescriptor]| {
            let mut stats = ShardStats::new(null_is_distinct);
            parts.iter().for_each(|s| stats.add(s));
            let cardinality = stats.finish().unwrap().cardinality.unwrap();
            (cardinality.count, cardinality.is_estimate)
        };
        let one = [distinct(0..3, 5)];
        assert_eq!(merged(true, &one), (Some(4), false));
        let two = [distinct(0..3, 5), distinct(2..5, 0)];
        assert_eq!(merged(true, &two), (Some(6), true));
        assert_eq!(merged(false, &two), (Some(5), true));
        let mut without = distinct(2..5, 0);
        without.cardinality.as_mut().unwrap().sketch = None;
        assert_eq!(merged(true, &[distinct(0..3, 0), without]), (None, false));
    }
}
