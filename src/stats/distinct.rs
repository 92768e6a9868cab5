//! Spec: Chapter 6, "(Shard) Field Descriptor" (`cardinality`) and "Split-Block Bloom Filters".

use super::bloom::{FilterSizing, build_filter};
use super::hash::hash_value;
use super::hll::{Hll, INDEX_BITS};
use crate::format::{CardinalityInfo, Sketch, SplitBlockBloomFilter};
use crate::kernels::{Word, hash_words};

/// Parameters of the Bloom filter of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FilterPlan {
    pub(crate) seed: u64,
    /// False-positive rate.
    pub(crate) fpp: f64,
    pub(crate) sizing: FilterSizing,
    /// Most distinct values for a filter; a field with more gets none.
    pub(crate) most_values: usize,
}

/// Hashes of values for a Bloom filter. Duplicates are removed from time to time, and at the end.
#[derive(Debug)]
struct FilterHashes {
    plan: FilterPlan,
    hashes: Vec<u64>,
    /// Number of hashes at which duplicates are removed.
    crowded: usize,
}

/// Number of hashes at which duplicates are removed first, if the number of values is limited.
const CROWD: usize = 1 << 14;

impl FilterHashes {
    /// Adds a hash. Returns whether the filter is still possible.
    #[inline]
    fn add(&mut self, hash: u64) -> bool {
        if self.hashes.last() == Some(&hash) {
            return true;
        }
        self.hashes.push(hash);
        if self.hashes.len() < self.crowded {
            return true;
        }
        self.sort();
        self.crowded = CROWD.max(2 * self.hashes.len());
        self.hashes.len() <= self.plan.most_values
    }

    fn sort(&mut self) {
        sort_hashes(&mut self.hashes);
        self.hashes.dedup();
    }
}

/// Most hashes to sort without buckets: 32 KiB, which fit the first-level cache.
const FEW: usize = 1 << 12;
/// Number of the highest bits of a hash that select its bucket.
const BUCKET_BITS: u32 = 8;

/// Sorts evenly distributed hashes: copies them into buckets by their highest bits, in one pass, and then sorts each
/// bucket.
fn sort_hashes(hashes: &mut Vec<u64>) {
    if hashes.len() <= FEW {
        hashes.sort_unstable();
        return;
    }
    let bucket = |hash: u64| (hash >> (u64::BITS - BUCKET_BITS)) as usize;
    let mut next = [0; 1 << BUCKET_BITS];
    for &hash in hashes.iter() {
        next[bucket(hash)] += 1;
    }
    let mut start = 0;
    for count in &mut next {
        start += std::mem::replace(count, start);
    }
    let mut sorted = vec![0; hashes.len()];
    for &hash in hashes.iter() {
        let place = &mut next[bucket(hash)];
        sorted[*place] = hash;
        *place += 1;
    }
    let mut start = 0;
    for end in next {
        sorted[start..end].sort_unstable();
        start = end;
    }
    *hashes = sorted;
}

/// Statistics of the distinct values of a field.
#[derive(Debug)]
pub(crate) struct DistinctStats {
    sketch: Hll,
    seed: u64,
    filter: Option<FilterHashes>,
    /// Whether each number of 1 or 2 bytes has occurred, so that each is hashed only once.
    small: Vec<bool>,
}

/// Number of values hashed at a time.
const BATCH: usize = 64;

impl DistinctStats {
    /// Returns statistics with a sketch of hashes with this seed, and with a filter if there is a plan for one.
    pub(crate) fn new(seed: u64, filter: Option<FilterPlan>) -> Self {
        Self {
            sketch: Hll::default(),
            small: Vec::new(),
            seed,
            filter: filter.map(|plan| FilterHashes {
                plan,
                hashes: Vec::new(),
                crowded: match plan.most_values {
                    usize::MAX => usize::MAX,
                    _ => CROWD,
                },
            }),
        }
    }

    /// Adds a value that is not null, as the bytes for [`hash_value`].
    #[inline]
    pub(crate) fn add(&mut self, value: &[u8]) {
        let hash = hash_value(value, self.seed);
        self.sketch.add(hash);
        let Some(filter) = &mut self.filter else {
            return;
        };
        let filter_seed = filter.plan.seed;
        let filter_hash = if filter_seed == self.seed {
            hash
        } else {
            hash_value(value, filter_seed)
        };
        if !filter.add(filter_hash) {
            self.filter = None;
        }
    }

    /// Adds numbers that are not null.
    pub(crate) fn add_numbers<W: Word>(&mut self, values: &[W]) {
        if W::BYTES <= 2 {
            self.small.resize(1 << W::BITS, false);
            for &value in values {
                self.small[value.as_usize()] = true;
            }
            return;
        }
        let mut hashes = [0; BATCH];
        for batch in values.chunks(BATCH) {
            let hashes = &mut hashes[..batch.len()];
            let least = hash_words(batch, self.seed, INDEX_BITS, hashes);
            self.sketch.add_all(hashes, least);
            if let Some(filter) = &mut self.filter {
                if filter.plan.seed != self.seed {
                    hash_words(batch, filter.plan.seed, INDEX_BITS, hashes);
                }
                if !hashes
                    .iter()
                    .fold(true, |all, &hash| all & filter.add(hash))
                {
                    self.filter = None;
                }
            }
        }
    }

    /// Adds the numbers of 1 or 2 bytes that occurred to the sketch and the filter. Returns their count, if there were
    /// any.
    pub(crate) fn complete_small<W: Word>(&mut self) -> Option<u64> {
        let small = std::mem::take(&mut self.small);
        let mut count = 0;
        for (value, _) in (0u64..).zip(&small).filter(|(_, seen)| **seen) {
            self.add(W::truncate(value).to_le().as_ref());
            count += 1;
        }
        Some(count).filter(|count| *count > 0)
    }

    /// Estimates the number of distinct values.
    pub(crate) fn estimate(&self) -> u64 {
        self.sketch.estimate()
    }

    /// Returns the cardinality for `count` distinct values, with the sketch.
    pub(crate) fn cardinality(&self, count: u64, is_estimate: bool) -> CardinalityInfo {
        CardinalityInfo {
            count: Some(count),
            is_estimate,
            sketch: Some(Sketch::Hll(self.sketch.clone().into_sketch(self.seed))),
        }
    }

    /// Returns the memory size in bytes.
    pub(crate) fn memory_size(&self) -> usize {
        let hashes = self.filter.as_ref().map_or(0, |f| f.hashes.capacity() * 8);
        size_of::<Self>() + hashes + self.small.len()
    }

    /// Returns the filter, if there is one, and if `pays` returns true for its number of values and its size in bytes.
    pub(crate) fn filter(self, pays: impl Fn(u64, u64) -> bool) -> Option<SplitBlockBloomFilter> {
        let estimate = self.estimate();
        let mut filter = self.filter?;
        let FilterPlan {
            seed,
            fpp,
            sizing,
            most_values,
        } = filter.plan;
        let would_pay = |values| pays(values, sizing.num_blocks(values, fpp).saturating_mul(32));
        // Sorting is expensive, and the estimate usually shows whether the filter would pay.
        if filter.hashes.is_empty() || !would_pay(estimate) {
            return None;
        }
        filter.sort();
        let values = filter.hashes.len();
        let built = values <= most_values && would_pay(values as u64);
        built.then(|| build_filter(&filter.hashes, seed, fpp, sizing))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::BloomFilter;
    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    fn plan(most_values: usize) -> FilterPlan {
        FilterPlan {
            seed: 7,
            fpp: 0.01,
            sizing: FilterSizing::PowerOfTwo,
            most_values,
        }
    }

    fn stats_of(values: u32, most_values: usize) -> DistinctStats {
        let mut stats = DistinctStats::new(0, Some(plan(most_values)));
        for round in 0..3 {
            (7..7 + values).for_each(|v| stats.add(&v.to_le_bytes()));
            assert!(stats.memory_size() < 1 << 21, "round {round}");
        }
        stats
    }

    proptest! {
        #[test]
        fn hashes_are_sorted(seed: u64, len in FEW - 2..3 * FEW, shift in 0u32..64) {
            // With some shifts, all hashes have the same highest bits.
            let hash = |i: usize| xxh3_64_with_seed(&i.to_le_bytes(), seed) >> shift;
            let mut hashes: Vec<u64> = (0..len).map(hash).collect();
            let mut expected = hashes.clone();
            expected.sort_unstable();
            sort_hashes(&mut hashes);
            prop_assert_eq!(hashes, expected);
        }
    }

    #[test]
    fn every_value_is_counted_once_and_found_in_the_filter() {
        let stats = stats_of(20_000, usize::MAX);
        let estimate = stats.estimate() as f64;
        assert!((estimate / 20_000.0 - 1.0).abs() < 0.4, "{estimate}");
        let filter = stats.filter(|_, _| true).unwrap();
        assert_eq!((filter.num_values, filter.hash_seed), (20_000, 7));
        let filter = BloomFilter::new(&filter).unwrap();
        assert!((7..20_007u32).all(|v| filter.contains_value(&v.to_le_bytes())));
    }

    #[test]
    fn there_is_no_filter_of_too_many_values_or_where_it_does_not_pay() {
        assert!(stats_of(1024, 1024).filter(|_, _| true).is_some());
        assert!(stats_of(1025, 1024).filter(|_, _| true).is_none());
        assert!(stats_of(40_000, 1024).filter.is_none(), "given up early");
        assert!(stats_of(1000, 1024).filter(|_, _| false).is_none());
        let exact = |values, bytes| values == 1000 && bytes == 64 * 32;
        assert!(stats_of(1000, 1024).filter(exact).is_none(), "the estimate");
        assert!(DistinctStats::new(0, None).filter(|_, _| true).is_none());
        let none = DistinctStats::new(0, Some(plan(9)));
        assert!(none.filter(|_, _| true).is_none());
    }
}
