//! Consistency of the statistics of a field.

use crate::format::{
    AnyValue, CardinalityInfo, FieldDescriptor, LengthStats, SignStats, Sketch,
    SplitBlockBloomFilter, TypeStats, ValueKind,
};
use std::cmp::Ordering;

/// Returns statistics that contradict each other. If the two wires define a statistic differently, both readings are
/// accepted.
pub(in crate::read) fn contradictions(field: &FieldDescriptor) -> Vec<String> {
    let mut found = Contradictions(Vec::new());
    let positions = field.position_count;
    let nulls = field.null_count;
    found.above("null_count", nulls, "position_count", Some(positions));
    let present = nulls.and_then(|nulls| positions.checked_sub(nulls));
    match field.constant_value.as_ref().map(|value| &value.kind) {
        Some(None | Some(ValueKind::Null)) => {
            if let Some(present) = present.filter(|present| *present > 0) {
                found.add(format!(
                    "the constant is null, and {present} values are not"
                ));
            }
        }
        Some(Some(_)) => {
            if let Some(nulls) = nulls.filter(|nulls| *nulls > 0) {
                found.add(format!("the constant is not null, and {nulls} values are"));
            }
        }
        None => {}
    }
    if let Some(range) = &field.range_stats
        && let (Some(min), Some(max)) = (&range.min_value, &range.max_value)
    {
        match min.compare(max) {
            Some(Ordering::Greater) => {
                found.add("the least value is above the greatest".to_owned());
            }
            Some(Ordering::Equal) if range.min_inclusive != range.max_inclusive => {
                found.add("the least value is the greatest, and only one is a value".to_owned());
            }
            _ => {}
        }
        if present == Some(0) {
            found.add("there is a least and a greatest value, and all values are null".to_owned());
        }
    }
    if let Some(stats) = &field.type_specific {
        found.of_type(stats, field, present);
    }
    if let Some(cardinality) = &field.cardinality {
        found.cardinality(cardinality, positions);
        let exact = cardinality.count.filter(|_| !cardinality.is_estimate);
        if let (Some(_), Some(count)) = (&field.constant_value, exact.filter(|n| *n > 1)) {
            found.add(format!(
                "the field is a constant, and {count} values are distinct"
            ));
        }
        let filtered = field.bloom_filter.as_ref().map(|f| f.num_values);
        found.above(
            "the number of values in the filter,",
            filtered,
            "distinct values,",
            exact,
        );
    }
    if let Some(filter) = &field.bloom_filter {
        found.filter(filter, positions);
    }
    found.0
}

/// Returns an inconsistency that [`contradictions`] accepts, because it is not damage: the reference implementation
/// makes a constant of floats that are all equal except for NaNs.
pub(super) fn folded(field: &FieldDescriptor) -> Option<String> {
    let Some(TypeStats::Floating { signs, .. }) = &field.type_specific else {
        return None;
    };
    let nulls = field.null_count;
    let present = nulls.and_then(|nulls| field.position_count.checked_sub(nulls));
    let nans = signs.nan_count;
    let is_folded = field.constant_value.is_some() && nans > 0 && present != Some(nans);
    is_folded
        .then(|| format!("the field is a constant, and {nans} values of several are not numbers"))
}

fn double(value: Option<&AnyValue>) -> Option<f64> {
    match value?.kind {
        Some(ValueKind::Double(value)) => Some(value),
        _ => None,
    }
}

struct Contradictions(Vec<String>);

impl Contradictions {
    fn add(&mut self, what: String) {
        self.0.push(what);
    }

    /// Adds a contradiction if a number exceeds another one.
    fn above(&mut self, name: &str, number: Option<u64>, of: &str, most: Option<u64>) {
        if let (Some(number), Some(most)) = (number, most)
            && number > most
        {
            self.add(format!("{name} {number} exceeds {of} {most}"));
        }
    }

    fn of_type(&mut self, stats: &TypeStats, field: &FieldDescriptor, present: Option<u64>) {
        let values = "the values that are not null,";
        match stats {
            TypeStats::String {
                lengths,
                ascii_count,
            } => {
                self.lengths(lengths);
                self.bound_lengths(lengths, field);
                self.above("ascii_count", *ascii_count, values, present);
            }
            TypeStats::Binary(lengths) => {
                self.lengths(lengths);
                self.bound_lengths(lengths, field);
            }
            TypeStats::List(lengths) => self.lengths(lengths),
            TypeStats::Boolean {
                true_count,
                false_count,
            } => {
                let all = true_count.saturating_add(*false_count);
                if let Some(present) = present.filter(|present| *present != all) {
                    self.add(format!(
                        "{true_count} values are true and {false_count} false, and {present} are not null"
                    ));
                }
            }
            TypeStats::Decimal(signs) => {
                self.above("the count by sign", Some(total(signs)), values, present);
            }
            TypeStats::Floating {
                signs,
                positive_infinity_count,
                negative_infinity_count,
            } => {
                // One wire counts infinities by sign, the other only separately.
                let least = total(signs);
                let infinite = positive_infinity_count.saturating_add(*negative_infinity_count);
                let most = least.saturating_add(infinite);
                self.above("the count by sign", Some(least), values, present);
                self.above(
                    "the number of values that are not null,",
                    present,
                    "all counts,",
                    Some(most),
                );
                let range = field.range_stats.as_ref();
                let min = double(range.and_then(|range| range.min_value.as_ref()));
                let max = double(range.and_then(|range| range.max_value.as_ref()));
                if signs.negative_count > 0 && min.is_some_and(|min| min >= 0.0) {
                    self.add(format!(
                        "{} values are negative, and the least is not",
                        signs.negative_count
                    ));
                }
                if signs.positive_count > 0 && max.is_some_and(|max| max <= 0.0) {
                    self.add(format!(
                        "{} values are positive, and the greatest is not",
                        signs.positive_count
                    ));
                }
            }
        }
    }

    /// Bounds that occur as values have lengths within the lengths of the values.
    fn bound_lengths(&mut self, lengths: &LengthStats, field: &FieldDescriptor) {
        let Some(range) = &field.range_stats else {
            return;
        };
        for (bound, inclusive) in [
            (&range.min_value, range.min_inclusive),
            (&range.max_value, range.max_inclusive),
        ] {
            let len = match bound.as_ref().and_then(|bound| bound.kind.as_ref()) {
                Some(ValueKind::String(text)) => text.len(),
                Some(ValueKind::Bytes(bytes)) => bytes.len(),
                _ => continue,
            };
            let len = Some(len as u64).filter(|_| inclusive);
            self.above(
                "the length of a bound,",
                len,
                "the longest",
                Some(lengths.max),
            );
        }
    }

    fn lengths(&mut self, lengths: &LengthStats) {
        let max = Some(lengths.max);
        self.above("the shortest length", Some(lengths.min), "the longest", max);
        self.above(
            "the shortest length that is not 0,",
            lengths.min_non_empty,
            "the longest",
            max,
        );
        match lengths.min_non_empty {
            Some(0) => self.add("the shortest length that is not 0 is 0".to_owned()),
            found => self.above(
                "the shortest length",
                Some(lengths.min).filter(|_| found.is_some()),
                "the one that is not 0,",
                found,
            ),
        }
    }

    fn cardinality(&mut self, cardinality: &CardinalityInfo, positions: u64) {
        if !cardinality.is_estimate {
            let count = cardinality.count;
            self.above(
                "the number of distinct values,",
                count,
                "position_count",
                Some(positions),
            );
        }
        let Some(Sketch::Hll(hll)) = &cardinality.sketch else {
            return;
        };
        let set = hll.counters.iter().filter(|rank| **rank > 0).count() as u64;
        self.above(
            "the number of set counters,",
            Some(set),
            "position_count",
            Some(positions),
        );
        let highest = hll.counters.iter().max().copied().map(u64::from);
        let most = 65u64.checked_sub(u64::from(hll.bits_per_index));
        self.above(
            "a counter of the sketch,",
            highest,
            "the bits of a hash,",
            most,
        );
        match cardinality.count {
            Some(0) if set > 0 => {
                self.add(format!("no value is distinct, and {set} counters are set"));
            }
            // Null may count as a distinct value, but is not hashed.
            Some(count) if count > 1 && set == 0 => {
                self.add(format!(
                    "{count} values are distinct, and no counter is set"
                ));
            }
            _ => {}
        }
    }

    fn filter(&mut self, filter: &SplitBlockBloomFilter, positions: u64) {
        let values = filter.num_values;
        self.above(
            "the number of values in the filter,",
            Some(values),
            "position_count",
            Some(positions),
        );
        let bits = filter.bits_set();
        if values > 0 && bits < 8 {
            self.add(format!("the filter has {values} values, and {bits} bits"));
        }
        self.above(
            "the number of set bits,",
            Some(bits),
            "8 per value,",
            Some(values.saturating_mul(8)),
        );
    }
}

fn total(signs: &SignStats) -> u64 {
    [
        signs.zero_count,
        signs.positive_count,
        signs.negative_count,
        signs.nan_count,
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{HllSketch, RangeStats};

    fn sound() -> FieldDescriptor {
        let mut counters = vec![0; 16];
        counters[3] = 61;
        FieldDescriptor {
            position_count: 10,
            null_count: Some(4),
            range_stats: Some(RangeStats {
                min_value: Some((-1.5).into()),
                min_inclusive: true,
                max_value: Some(f64::INFINITY.into()),
                max_inclusive: true,
            }),
            type_specific: Some(TypeStats::Floating {
                signs: SignStats {
                    zero_count: 1,
                    positive_count: 2,
                    negative_count: 1,
                    nan_count: 1,
                },
                positive_infinity_count: 1,
                negative_infinity_count: 0,
            }),
            cardinality: Some(CardinalityInfo {
                count: Some(1),
                is_estimate: true,
                sketch: Some(Sketch::Hll(HllSketch {
                    bits_per_index: 4,
                    counters,
                    ..HllSketch::default()
                })),
            }),
            bloom_filter: Some(SplitBlockBloomFilter {
                num_blocks: 1,
                num_values: 1,
                data: [0, 0, 0, 1].repeat(8).into(),
                ..SplitBlockBloomFilter::default()
            }),
            ..FieldDescriptor::default()
        }
    }

    #[test]
    fn sound_statistics_do_not_contradict_each_other() {
        assert_eq!(contradictions(&sound()), [""; 0]);
        assert_eq!(contradictions(&FieldDescriptor::default()), [""; 0]);
    }

    #[test]
    fn a_constant_that_leaves_out_nan_is_told_apart_from_contradictions() {
        let mut field = sound();
        assert_eq!(folded(&field), None);
        field.constant_value = Some(1.0.into());
        let text = folded(&field).unwrap();
        assert!(text.contains("1 values of several are not numbers"));
        assert!(!contradictions(&field).contains(&text));
    }

    /// A change to sound statistics, and a part of the expected message.
    type Case = (fn(&mut FieldDescriptor), &'static str);

    #[test]
    fn every_contradiction_is_found() {
        let cases: [Case; 20] = [
            (
                |f| f.null_count = Some(11),
                "null_count 11 exceeds position_count 10",
            ),
            (
                |f| f.constant_value = Some(7i64.into()),
                "is not null, and 4 values are",
            ),
            (
                |f| f.constant_value = Some(AnyValue::default()),
                "is null, and 6 values are not",
            ),
            (|f| f.null_count = Some(10), "all values are null"),
            (|f| f.null_count = Some(5), ""),
            (|f| f.position_count = 12, "exceeds all counts, 6"),
            (|f| f.position_count = 8, "the count by sign 5 exceeds"),
            (
                |f| f.range_stats.as_mut().unwrap().max_value = Some((-2.0).into()),
                "the least value is above",
            ),
            (
                |f| f.range_stats.as_mut().unwrap().min_value = Some(0.0.into()),
                "1 values are negative, and the least is not",
            ),
            (
                |f| {
                    let lengths = LengthStats {
                        min: 3,
                        min_non_empty: Some(2),
                        max: 1,
                    };
                    f.type_specific = Some(TypeStats::Binary(lengths));
                },
                "the shortest length 3 exceeds the longest 1",
            ),
            (
                |f| {
                    let lengths = LengthStats {
                        min: 0,
                        min_non_empty: Some(0),
                        max: 1,
                    };
                    f.type_specific = Some(TypeStats::String {
                        lengths,
                        ascii_count: Some(7),
                    });
                },
                "that is not 0 is 0",
            ),
            (
                |f| {
                    let lengths = LengthStats::default();
                    f.type_specific = Some(TypeStats::String {
                        lengths,
                        ascii_count: Some(7),
                    });
                },
                "ascii_count 7 exceeds",
            ),
            (
                |f| {
                    f.type_specific = Some(TypeStats::Boolean {
                        true_count: 1,
                        false_count: 4,
                    })
                },
                "and 6 are not null",
            ),
            (
                |f| {
                    let cardinality = f.cardinality.as_mut().unwrap();
                    cardinality.is_estimate = false;
                    cardinality.count = Some(11);
                },
                "distinct values, 11 exceeds",
            ),
            (
                |f| f.cardinality.as_mut().unwrap().count = Some(0),
                "no value is distinct",
            ),
            (
                |f| f.bloom_filter.as_mut().unwrap().num_values = 11,
                "in the filter, 11 exceeds",
            ),
            (
                |f| {
                    f.constant_value = Some(1.0.into());
                    f.cardinality.as_mut().unwrap().is_estimate = false;
                    f.cardinality.as_mut().unwrap().count = Some(2);
                },
                "a constant, and 2 values are distinct",
            ),
            (
                |f| {
                    f.cardinality.as_mut().unwrap().is_estimate = false;
                    f.bloom_filter.as_mut().unwrap().num_values = 2;
                },
                "in the filter, 2 exceeds distinct values, 1",
            ),
            (
                |f| {
                    let range = f.range_stats.as_mut().unwrap();
                    range.min_value = Some("".into());
                    range.max_value = Some("four".into());
                    let lengths = LengthStats {
                        min: 0,
                        min_non_empty: Some(3),
                        max: 3,
                    };
                    f.type_specific = Some(TypeStats::String {
                        lengths,
                        ascii_count: None,
                    });
                },
                "the length of a bound, 4 exceeds the longest 3",
            ),
            (
                |f| {
                    let data = &mut f.bloom_filter.as_mut().unwrap().data;
                    *data = [&[0xff], &data[1..]].concat().into();
                },
                "set bits, 16 exceeds 8 per value, 8",
            ),
        ];
        for (change, text) in cases {
            let mut field = sound();
            change(&mut field);
            let found = contradictions(&field);
            if text.is_empty() {
                assert_eq!(found, [""; 0]);
            } else {
                assert!(found.iter().any(|f| f.contains(text)), "{text}: {found:?}");
            }
        }
        let mut field = sound();
        if let Some(Sketch::Hll(hll)) = &mut field.cardinality.as_mut().unwrap().sketch {
            hll.counters[0] = 62;
        }
        assert!(contradictions(&field)[0].contains("62 exceeds the bits of a hash, 61"));
    }
}
