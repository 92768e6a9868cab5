//! Spec: Chapter 6, "Split-Block Bloom Filters"; docs/format.md, "Hashes of values".
//!
//! Bloom filters and cardinality sketches hash the same bytes of a value that a value dictionary would store:
//!
//! | type | bytes |
//! |-|-|
//! | String | UTF-8 |
//! | Binary, FixedSizeBinary, Guid | as they are stored |
//! | Int8 to Int64, DateTime | little-endian, as wide as the type |
//! | Float32, Float64 | the bits, little-endian, so that the zeros differ |
//!
//! A wire has a seed for each of the two. `Wire::Spec` uses 0 for both, so each value is hashed only once.
//!
//! Writers use XXH3. The Bloom filters of Parquet files, which `ops::attach` takes over, use XXH64.

use crate::format::{BasicType, DataType, decimal128};
use twox_hash::XxHash64;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Name of the hash function of sketches and written filters.
pub(crate) const HASH_ALGORITHM: &str = "xxh3_64";

/// A hash function of the values in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HashFunction {
    Xxh3,
    Xxh64,
}

impl HashFunction {
    /// Returns the function with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Xxh3, Self::Xxh64]
            .into_iter()
            .find(|function| function.name() == name)
    }

    /// Returns the name of the function in filters.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Xxh3 => HASH_ALGORITHM,
            Self::Xxh64 => "xxh64",
        }
    }

    /// Returns the hash of a value's bytes.
    pub(super) fn hash(self, value: &[u8], seed: u64) -> u64 {
        match self {
            Self::Xxh3 => hash_value(value, seed),
            Self::Xxh64 => XxHash64::oneshot(seed, value),
        }
    }
}

/// Returns the hash of a value's bytes.
#[inline]
pub(crate) fn hash_value(value: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(value, seed)
}

/// Returns whether values of the node are hashed. This requires that two values are equal if and only if their bytes
/// are. Decimals in the native form of Amudai are not hashed, because equal values can have different bytes.
pub(crate) fn is_hashed(node: &DataType) -> bool {
    use BasicType as T;
    match node.basic_type {
        T::Int8
        | T::Int16
        | T::Int32
        | T::Int64
        | T::Float32
        | T::Float64
        | T::DateTime
        | T::String
        | T::Binary
        | T::Guid => true,
        T::FixedSizeBinary => node.label() != decimal128::LABEL,
        T::Unit | T::Boolean | T::List | T::FixedSizeList | T::Struct | T::Map | T::Union => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_names() {
        for function in [HashFunction::Xxh3, HashFunction::Xxh64] {
            assert_eq!(HashFunction::named(function.name()), Some(function));
        }
        assert_eq!(HashFunction::named("murmur"), None);
        // The published hash of no bytes.
        assert_eq!(HashFunction::Xxh64.hash(b"", 0), 0xEF46_DB37_51D8_E999);
    }

    #[test]
    fn hashes_are_those_of_the_reference() {
        let filter = 0x4D75_6461_6942_4646;
        assert_eq!(hash_value(b"hello", filter), 0x88FD_D15D_4E2D_36CF);
        assert_eq!(hash_value(b"", filter), 0x0D1C_3BBD_29DF_B497);
        let sketch = 0x416D_7564_484C_4C31;
        assert_eq!(hash_value(b"hello", sketch), 0xF212_18EA_1C62_0426);
        assert_eq!(hash_value(b"", sketch), 0x3143_3EF5_389C_7D79);
    }
}
