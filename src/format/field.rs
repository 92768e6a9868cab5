//! Spec: Chapter 6, "(Shard) Field Descriptor" and "Stripe Field Descriptor".

use super::{AnyValue, DataEncoding, IndexDescriptor, NameValuePair};
use crate::error::Result;
use bytes::Bytes;

/// What is known of a field over a shard or a stripe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldDescriptor {
    /// Logical positions of the field.
    pub position_count: u64,
    /// Positions that are null.
    pub null_count: Option<u64>,
    /// The value of every position, if they all hold the same.
    pub constant_value: Option<AnyValue>,
    /// Entries of the dictionary, the null entry included.
    pub dictionary_size: Option<u64>,
    /// Least and greatest value.
    pub range_stats: Option<RangeStats>,
    /// Number of distinct values.
    pub cardinality: Option<CardinalityInfo>,
    /// Membership filter, at stripe level only.
    pub membership_filter: Option<SplitBlockBloomFilter>,
    /// Indexes over this field.
    pub indexes: Vec<IndexDescriptor>,
    /// Properties that the format defines.
    pub standard_properties: Vec<NameValuePair>,
    /// Statistics of the field's type.
    pub type_specific: Option<TypeStats>,
    /// Properties of the user and of this crate.
    pub custom_properties: Vec<NameValuePair>,
    /// Bytes of the values before encoding.
    pub raw_data_size: Option<u64>,
}

/// Least and greatest value of a field.
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
    /// Of strings, in bytes.
    String {
        /// The lengths.
        lengths: LengthStats,
        /// Values that are ASCII.
        ascii_count: Option<u64>,
    },
    /// Of lists and maps, in elements.
    List(LengthStats),
    /// Of booleans.
    Boolean {
        /// Values that are true.
        true_count: u64,
        /// Values that are false.
        false_count: u64,
    },
    /// Of decimals.
    Decimal(SignStats),
    /// Of floating-point numbers.
    Floating {
        /// Counts by sign.
        signs: SignStats,
        /// Values that are positive infinity.
        positive_infinity_count: u64,
        /// Values that are negative infinity.
        negative_infinity_count: u64,
    },
    /// Of binary values, in bytes.
    Binary(LengthStats),
}

/// Shortest and longest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LengthStats {
    /// Shortest.
    pub min: u64,
    /// Shortest that is not empty.
    pub min_non_empty: Option<u64>,
    /// Longest.
    pub max: u64,
}

/// Counts of numbers by sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SignStats {
    /// Zeros, of either sign.
    pub zero_count: u64,
    /// Numbers above zero.
    pub positive_count: u64,
    /// Numbers below zero.
    pub negative_count: u64,
    /// Not numbers.
    pub nan_count: u64,
}

/// How many distinct values there are.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CardinalityInfo {
    /// Number of distinct values.
    pub count: Option<u64>,
    /// Whether the number is an estimate.
    pub is_estimate: bool,
    /// Sketch to estimate from and to merge.
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
    /// The counters, `2^bits_per_index` of them.
    pub counters: Vec<u8>,
}

/// Spec: Chapter 6, "Split-Block Bloom Filters".
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SplitBlockBloomFilter {
    /// Number of 256-bit blocks.
    pub num_blocks: u64,
    /// Probability of a false positive that the filter was sized for.
    pub target_fpp: f64,
    /// Distinct values in the filter.
    pub num_values: u64,
    /// Name of the hash function, `xxh3_64`.
    pub hash_algorithm: String,
    /// Seed of the hash function, 0 where the wire has no place for it.
    pub hash_seed: u64,
    /// The blocks, 32 bytes each.
    pub data: Bytes,
}

impl SplitBlockBloomFilter {
    /// Number of bits that are set.
    pub fn bits_set(&self) -> u64 {
        self.data
            .iter()
            .map(|byte| u64::from(byte.count_ones()))
            .sum()
    }
}

/// A field of a stripe: what is known of it, and where its data are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StripeFieldDescriptor {
    /// What is known of the field.
    pub field: FieldDescriptor,
    /// Equal representations of the values, the preferred one first.
    pub encodings: Vec<DataEncoding>,
}

impl StripeFieldDescriptor {
    /// Calls `visit` with the URL of every reference to bytes.
    ///
    /// # Errors
    /// Those of `visit`.
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
