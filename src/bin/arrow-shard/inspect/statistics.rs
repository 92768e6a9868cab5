//! Shows statistics and sketches of a field as text and as JSON.

use crate::text;
use arrow_shard::read::inspect::{
    CardinalityInfo, FieldInfo, LengthStats, SignStats, Sketch, SplitBlockBloomFilter, TypeStats,
};
use serde_json::{Value, json};

/// Returns a line for each statistic of the field, except for its range and filter.
pub(super) fn lines(field: &FieldInfo) -> Vec<String> {
    let stats = field.type_specific.as_ref().map(type_line);
    let cardinality = field.cardinality.as_ref().map(cardinality_line);
    stats.into_iter().chain(cardinality).collect()
}

fn type_line(stats: &TypeStats) -> String {
    match stats {
        TypeStats::String {
            lengths,
            ascii_count,
        } => match ascii_count {
            Some(count) => format!("{}, {count} of them ASCII", length_line(lengths, "bytes")),
            None => length_line(lengths, "bytes"),
        },
        TypeStats::Binary(lengths) => length_line(lengths, "bytes"),
        TypeStats::List(lengths) => length_line(lengths, "elements"),
        TypeStats::Boolean {
            true_count,
            false_count,
        } => format!("{true_count} true, {false_count} false"),
        TypeStats::Decimal(signs) => sign_line(signs),
        TypeStats::Floating {
            signs,
            positive_infinity_count,
            negative_infinity_count,
        } => format!(
            "{}, {positive_infinity_count} infinity, {negative_infinity_count} minus infinity",
            sign_line(signs)
        ),
        other => format!("{other:?}"),
    }
}

fn length_line(lengths: &LengthStats, unit: &str) -> String {
    let least = match lengths.min_non_empty {
        Some(least) if least != lengths.min => format!(", at least {least} if not empty"),
        _ => String::new(),
    };
    format!("lengths: {} to {} {unit}{least}", lengths.min, lengths.max)
}

fn sign_line(signs: &SignStats) -> String {
    format!(
        "{} zero, {} positive, {} negative, {} not numbers",
        signs.zero_count, signs.positive_count, signs.negative_count, signs.nan_count
    )
}

fn cardinality_line(cardinality: &CardinalityInfo) -> String {
    let count = match (cardinality.count, cardinality.is_estimate) {
        (Some(count), true) => format!("about {count} distinct"),
        (Some(count), false) => format!("{count} distinct"),
        (None, _) => "distinct values not counted".to_owned(),
    };
    match &cardinality.sketch {
        None => count,
        Some(Sketch::Hll(hll)) => format!(
            "{count}, HLL: {} of {} counters set, {} bits per index, {} with seed {:#x}",
            hll.counters.iter().filter(|rank| **rank > 0).count(),
            hll.counters.len(),
            hll.bits_per_index,
            hll.hash_algorithm,
            hll.hash_seed
        ),
        Some(Sketch::Other(value)) => format!("{count}, sketch: {}", text::value(value)),
        Some(other) => format!("{count}, sketch: {other:?}"),
    }
}

/// Returns the size and fill level of a Bloom filter.
pub(super) fn filter_line(filter: &SplitBlockBloomFilter) -> String {
    format!(
        "Bloom filter (SBBF): {}, {}, {} at a false positive rate of {}, {} of {} bits set, {} with \
         seed {:#x}",
        text::bytes(filter.data.len() as u64),
        text::count(filter.num_blocks, "block"),
        text::count(filter.num_values, "value"),
        filter.target_fpp,
        filter.bits_set(),
        filter.data.len() * 8,
        filter.hash_algorithm,
        filter.hash_seed
    )
}

/// Returns the statistics of the field's type.
pub(super) fn type_json(stats: &TypeStats) -> Value {
    match stats {
        TypeStats::String {
            lengths,
            ascii_count,
        } => json!({ "kind": "string", "lengths": length_json(lengths), "ascii": ascii_count }),
        TypeStats::Binary(lengths) => {
            json!({ "kind": "binary", "lengths": length_json(lengths) })
        }
        TypeStats::List(lengths) => json!({ "kind": "list", "lengths": length_json(lengths) }),
        TypeStats::Boolean {
            true_count,
            false_count,
        } => json!({ "kind": "boolean", "true": true_count, "false": false_count }),
        TypeStats::Decimal(signs) => json!({ "kind": "decimal", "signs": sign_json(signs) }),
        TypeStats::Floating {
            signs,
            positive_infinity_count,
            negative_infinity_count,
        } => json!({
            "kind": "floating",
            "signs": sign_json(signs),
            "positive_infinity": positive_infinity_count,
            "negative_infinity": negative_infinity_count,
        }),
        other => json!({ "kind": "unknown", "value": format!("{other:?}") }),
    }
}

fn length_json(lengths: &LengthStats) -> Value {
    json!({
        "min": lengths.min,
        "min_non_empty": lengths.min_non_empty,
        "max": lengths.max,
    })
}

fn sign_json(signs: &SignStats) -> Value {
    json!({
        "zero": signs.zero_count,
        "positive": signs.positive_count,
        "negative": signs.negative_count,
        "nan": signs.nan_count,
    })
}

/// Returns the number of distinct values, and the parameters of the sketch.
pub(super) fn cardinality_json(cardinality: &CardinalityInfo) -> Value {
    let sketch = cardinality.sketch.as_ref().map(|sketch| match sketch {
        Sketch::Hll(hll) => json!({
            "kind": "hll",
            "bits_per_index": hll.bits_per_index,
            "counters": hll.counters.len(),
            "counters_set": hll.counters.iter().filter(|rank| **rank > 0).count(),
            "hash_algorithm": hll.hash_algorithm,
            "hash_seed": hll.hash_seed,
        }),
        Sketch::Other(value) => json!({ "kind": "unknown", "value": text::value(value) }),
        other => json!({ "kind": "unknown", "value": format!("{other:?}") }),
    });
    json!({
        "count": cardinality.count,
        "is_estimate": cardinality.is_estimate,
        "sketch": sketch,
    })
}

/// Returns the parameters of the Bloom filter.
pub(super) fn filter_json(filter: &SplitBlockBloomFilter) -> Value {
    json!({
        "blocks": filter.num_blocks,
        "bytes": filter.data.len(),
        "values": filter.num_values,
        "target_fpp": filter.target_fpp,
        "bits_set": filter.bits_set(),
        "hash_algorithm": filter.hash_algorithm,
        "hash_seed": filter.hash_seed,
    })
}
