//! Spec: Chapter 6, "(Shard) Field Descriptor" and "Stripe Field Descriptor".

use super::{AnyValue, DataEncoding, IndexDescriptor, NameValuePair};
use crate::error::Result;
use bytes::Bytes;

/// Properties and statistics of a field, over a shard or a stripe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldDescriptor {
    /// Number of logical positions of the field.
    pub position_count: u64,
    /// Number of null positions.
    pub null_count: Option<u64>,
    /// The value of every position, if all are equal.
    pub constant_value: Option<AnyValue>,
    /// Number of entries of the dictionary, including the null entry.
    pub dictionary_size: Option<u64>,
    /// Smallest and largest value.
    pub range_stats: Option<RangeStats>,
    /// Number of distinct values.
    pub cardinality: Option<CardinalityInfo>,
    /// Bloom filter, at stripe level only.
    pub bloom_filter: Option<SplitBlockBloomFilter>,
    /// Indexes over this field.
    pub indexes: Vec<IndexDescriptor>,
    /// Properties that the format defines.
    pub standard_properties: Vec<NameValuePair>,
    /// Statistics of the field's type.
    pub type_specific: Option<TypeStats>,
    /// Properties of the user and of this crate.
    pub custom_properties: Vec<NameValuePair>,
    /// Size of the values before encoding, in bytes.
    pub raw_data_size: Option<u64>,
}

/// Smallest and largest value of a field.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RangeStats {
    /// Lower bound.
    pub min_value: Option<AnyValue>,
    /// Whether the lower bound is itself a value.
    pub min_inclusive: bool,
    /// Upper bound.
    pub max_value: Option<AnyValue>,
    /// Whether the upper bound is itself a value.
    pub max_inclusive: bool,
}

/// Statistics that depend on the type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeStats {
    /// Statistics of strings. Lengths are in bytes.
    String {
        /// The lengths.
        lengths: LengthStats,
        /// Number of values that are ASCII.
        ascii_count: Option<u64>,
    },
    /// Lengths of lists and maps, in elements.
    List(LengthStats),
    /// Statistics of booleans.
    Boolean {
        /// Number of true values.
        true_count: u64,
        /// Number of false values.
        false_count: u64,
    },
    /// Statistics of decimals.
    Decimal(SignStats),
    /// Statistics of floating-point numbers.
    Floating {
        /// Counts by sign.
        signs: SignStats,
        /// Number of values that are positive infinity.
        positive_infinity_count: u64,
        /// Number of values that are negative infinity.
        negative_infinity_count: u64,
    },
    /// Lengths of binary values, in bytes.
    Binary(LengthStats),
}

/// Lengths of the shortest and the longest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LengthStats {
    /// Shortest length.
    pub min: u64,
    /// Shortest length above 0.
    pub min_non_empty: Option<u64>,
    /// Longest length.
    pub max: u64,
}

/// Counts of numbers by sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SignStats {
    /// Number of zeros, of either sign.
    pub zero_count: u64,
    /// Number of values above zero.
    pub positive_count: u64,
    /// Number of values below zero.
    pub negative_count: u64,
    /// Number of values that are NaN.
    pub nan_count: u64,
}

/// Number of distinct values.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CardinalityInfo {
    /// Number of distinct values.
    pub count: Option<u64>,
    /// Whether the number is an estimate.
    pub is_estimate: bool,
    /// Sketch for estimates and merges.
    pub sketch: Option<Sketch>,
}

/// A cardinality sketch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Sketch {
    /// HyperLogLog counters.
    Hll(HllSketch),
    /// A sketch of a kind that this reader does not know.
    Other(AnyValue),
}

/// HyperLogLog counters, one byte each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HllSketch {
    /// Name of the hash function, `xxh3_64`.
    pub hash_algorithm: String,
    /// Seed of the hash function.
    pub hash_seed: u64,
    /// Bits of the hash that select a counter.
    pub bits_per_index: u32,
    /// The counters. Their number is `2^bits_per_index`.
    pub counters: Vec<u8>,
}

/// A Bloom filter. Spec: Chapter 6, "Split-Block Bloom Filters".
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SplitBlockBloomFilter {
    /// Number of 256-bit blocks.
    pub num_blocks: u64,
    /// Probability of a false positive that the filter was sized for.
    pub target_fpp: f64,
    /// Number of distinct values in the filter.
    pub num_values: u64,
    /// Name of the hash function, `xxh3_64`.
    pub hash_algorithm: String,
    /// Seed of the hash function, 0 if the wire does not store it.
    pub hash_seed: u64,
    /// The blocks, 32 bytes each.
    pub data: Bytes,
}

impl SplitBlockBloomFilter {
    /// Returns the number of bits that are set.
    pub fn bits_set(&self) -> u64 {
        self.data
            .iter()
            .map(|byte| u64::from(byte.count_ones()))
            .sum()
    }
}

/// A field of a stripe: its properties and statistics, and references to its data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StripeFieldDescriptor {
    /// Properties and statistics.
    pub field: FieldDescriptor,
    /// Equivalent representations of the values, the preferred one first.
    pub encodings: Vec<DataEncoding>,
}

impl StripeFieldDescriptor {
    /// Calls `visit` with the URL of every reference to bytes.
    ///
    /// # Errors
    /// Returns the errors of `visit`.
    pub(crate) fn for_each_url(
        &mut self,
        visit: &mut dyn FnMut(&mut String) -> Result<()>,
    ) -> Result<()> {
        for encoding in &mut self.encodings {
            encoding.for_each_url(visit)?;
        }
        let indexes = self.field.indexes.iter_mut();
        let artifacts = indexes.flat_map(|index| &mut index.artifacts);
        for reference in artifacts.filter_map(|artifact| artifact.data_ref.as_mut()) {
            visit(&mut reference.url)?;
        }
        Ok(())
    }
}
