//! From the descriptors of stripes to those of the shard.

use crate::format::{
    AnyValue, FieldDescriptor, RangeStats, SignStats, TypeStats, ValueKind, decimal128,
};
use arrow_buffer::i256;
use std::cmp::Ordering;

/// The descriptor of a field over the stripes seen so far.
#[derive(Debug, Default)]
pub(crate) struct ShardStats {
    merged: Option<FieldDescriptor>,
}

impl ShardStats {
    /// Adds the descriptor of one more stripe.
    pub(crate) fn add(&mut self, stripe: &FieldDescriptor) {
        let Some(merged) = &mut self.merged else {
            self.merged = Some(FieldDescriptor {
                position_count: stripe.position_count,
                null_count: stripe.null_count,
                constant_value: stripe.constant_value.clone(),
                range_stats: stripe.range_stats.clone(),
                type_specific: stripe.type_specific.clone(),
                raw_data_size: stripe.raw_data_size,
                ..FieldDescriptor::default()
            });
            return;
        };
        if stripe.position_count == 0 {
            return;
        }
        let all_null = |d: &FieldDescriptor| d.null_count == Some(d.position_count);
        merged.range_stats = match (all_null(merged), all_null(stripe)) {
            (true, _) => stripe.range_stats.clone(),
            (_, true) => merged.range_stats.take(),
            _ => merge_ranges(merged.range_stats.take(), stripe.range_stats.as_ref()),
        };
        if merged.position_count == 0 {
            merged.constant_value.clone_from(&stripe.constant_value);
        } else if merged.constant_value != stripe.constant_value {
            merged.constant_value = None;
        }
        merged.type_specific = match (merged.type_specific.take(), &stripe.type_specific) {
            (
                Some(TypeStats::Boolean {
                    true_count: t,
                    false_count: f,
                }),
                Some(TypeStats::Boolean {
                    true_count,
                    false_count,
                }),
            ) => Some(TypeStats::Boolean {
                true_count: t + true_count,
                false_count: f + false_count,
            }),
            (Some(TypeStats::Decimal(a)), Some(TypeStats::Decimal(b))) => {
                Some(TypeStats::Decimal(SignStats {
                    zero_count: a.zero_count + b.zero_count,
                    positive_count: a.positive_count + b.positive_count,
                    negative_count: a.negative_count + b.negative_count,
                    nan_count: a.nan_count + b.nan_count,
                }))
            }
            _ => None,
        };
        merged.position_count += stripe.position_count;
        let add = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        merged.null_count = add(merged.null_count, stripe.null_count);
        merged.raw_data_size = add(merged.raw_data_size, stripe.raw_data_size);
    }

    /// The descriptor of the shard; `None` if no stripe was added.
    pub(crate) fn finish(self) -> Option<FieldDescriptor> {
        self.merged
    }
}

fn merge_ranges(a: Option<RangeStats>, b: Option<&RangeStats>) -> Option<RangeStats> {
    let (mut a, b) = (a?, b?);
    if compare(b.min_value.as_ref()?, a.min_value.as_ref()?)? == Ordering::Less {
        a.min_value.clone_from(&b.min_value);
        a.min_inclusive = b.min_inclusive;
    }
    if compare(b.max_value.as_ref()?, a.max_value.as_ref()?)? == Ordering::Greater {
        a.max_value.clone_from(&b.max_value);
        a.max_inclusive = b.max_inclusive;
    }
    Some(a)
}

/// Orders two bounds of the same field; `None` if they are not of one kind.
fn compare(a: &AnyValue, b: &AnyValue) -> Option<Ordering> {
    use ValueKind::{Bytes, Decimal, Double, I64, String, U64};
    match (a.kind.as_ref()?, b.kind.as_ref()?) {
        (U64(a), U64(b)) => Some(a.cmp(b)),
        (I64(a), I64(b)) => Some(a.cmp(b)),
        (Double(a), Double(b)) => a.partial_cmp(b),
        (String(a), String(b)) => Some(a.cmp(b)),
        (Bytes(x), Bytes(y)) if a.annotation.as_deref() == Some("arrow.decimal") => {
            Some(decimal(x)?.cmp(&decimal(y)?))
        }
        (Decimal(a), Decimal(b)) => decimal128::compare(*a, *b),
        (Bytes(a), Bytes(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn decimal(bytes: &[u8]) -> Option<i256> {
    match bytes.len() {
        16 => Some(i256::from_i128(i128::from_le_bytes(bytes.try_into().ok()?))),
        32 => Some(i256::from_le_bytes(bytes.try_into().ok()?)),
        _ => None,
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
        let mut stats = ShardStats::default();
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
        let mut stats = ShardStats::default();
        stats.add(&stripe(3, 0, Some((5, 7))));
        stats.add(&stripe(3, 0, None));
        assert_eq!(stats.finish().unwrap().range_stats, None);
    }

    #[test]
    fn a_constant_survives_only_if_every_stripe_has_it() {
        let constant = |v: i64, n| FieldDescriptor {
            constant_value: Some(v.into()),
            ..stripe(n, 0, None)
        };
        let mut stats = ShardStats::default();
        stats.add(&constant(1, 0));
        stats.add(&constant(2, 5));
        stats.add(&constant(2, 5));
        assert_eq!(stats.finish().unwrap().constant_value, Some(2i64.into()));
        let mut stats = ShardStats::default();
        stats.add(&constant(1, 5));
        stats.add(&constant(2, 5));
        assert_eq!(stats.finish().unwrap().constant_value, None);
    }
}
