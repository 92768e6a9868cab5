//! Spec: Chapter 6, "Split-Block Bloom Filters".
//!
//! ```text
//! hash   high 32 bits: block = high * num_blocks >> 32
//!        low 32 bits:  bit of word j = low * SALTS[j] >> 27
//! block  8 words of 32 bits, little-endian
//! ```

use super::hash::{HASH_ALGORITHM, HashFunction};
use crate::format::SplitBlockBloomFilter;

/// Bytes of a block.
const BLOCK: usize = 32;

/// The multiplier for each word of a block, as in Apache Parquet.
const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Returns the bit that a hash sets in a word of its block.
fn mask(hash: u64, salt: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half of the hash")]
    let low = hash as u32;
    1 << (low.wrapping_mul(salt) >> 27)
}

/// Returns the position of the first byte of the hash's block.
fn block_start(hash: u64, num_blocks: u64) -> Option<usize> {
    let block = (u128::from(hash >> 32) * u128::from(num_blocks)) >> 32;
    usize::try_from(block).ok()?.checked_mul(BLOCK)
}

/// The rule for the number of blocks of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterSizing {
    /// The smallest power of two, starting at the formula of Chapter 6, that keeps the false-positive rate.
    PowerOfTwo,
    /// The number of blocks that hold the bits of an ordinary Bloom filter, as in the reference implementation.
    Fitting,
}

impl FilterSizing {
    /// Returns the number of blocks for `values` distinct values and a false-positive rate.
    pub(crate) fn num_blocks(self, values: u64, fpp: f64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and conversions to integers saturate"
        )]
        let ceil = |v: f64| v.ceil() as u64;
        let n = values.max(1) as f64;
        let block_bits = 8 * BLOCK as u64;
        match self {
            Self::PowerOfTwo => {
                let bits = -8.0 * n / (-fpp.powf(0.125)).ln_1p();
                let blocks = ceil(bits / block_bits as f64).max(1);
                let Some(mut blocks) = blocks.checked_next_power_of_two() else {
                    return u64::MAX;
                };
                // The formula assumes that all blocks are equally full. They are not, so the rate may be higher.
                while expected_fpp(values, blocks) > fpp {
                    let Some(more) = blocks.checked_mul(2) else {
                        return u64::MAX;
                    };
                    blocks = more;
                }
                blocks
            }
            Self::Fitting => {
                let bits = (-n * fpp.ln() / std::f64::consts::LN_2.powi(2)).ceil();
                let bytes = ceil(bits / n).saturating_mul(values) / 8;
                bytes.div_ceil(BLOCK as u64).max(1)
            }
        }
    }
}

/// Returns the expected false-positive rate: the sum over all `k` of the probability that a block has `k` values, times
/// the probability that `k` values have set a given bit in each of its words.
fn expected_fpp(values: u64, num_blocks: u64) -> f64 {
    let all_set = |k: f64| -(k * (-1.0f64 / 32.0).ln_1p()).exp_m1();
    let (n, blocks) = (values as f64, num_blocks as f64);
    if num_blocks <= 1 {
        return all_set(n).powi(8);
    }
    let load = n / blocks;
    // Values are binomially distributed over blocks. Hardly any block has more than `most`.
    let mut probability = (n * (-1.0 / blocks).ln_1p()).exp();
    if probability == 0.0 {
        return 1.0;
    }
    let most = n.min(load + 20.0 * load.sqrt() + 60.0);
    let (mut k, mut sum) = (1.0, 0.0);
    while k <= most {
        probability *= (n - k + 1.0) / (k * (blocks - 1.0));
        sum += probability * all_set(k).powi(8);
        k += 1.0;
    }
    sum
}

/// Builds a filter from distinct hashes of values. Ascending hashes are fastest, because they set bits in ascending
/// blocks. Returns `None` if the filter's size exceeds the address space.
pub(crate) fn build_filter(
    hashes: &[u64],
    hash_seed: u64,
    target_fpp: f64,
    sizing: FilterSizing,
) -> Option<SplitBlockBloomFilter> {
    let num_values = hashes.len() as u64;
    let num_blocks = sizing.num_blocks(num_values, target_fpp);
    let mut data = vec![0; usize::try_from(num_blocks).ok()?.checked_mul(BLOCK)?];
    for &hash in hashes {
        let start = block_start(hash, num_blocks)?;
        let block = data.get_mut(start..start + BLOCK)?;
        for (word, salt) in block.as_chunks_mut::<4>().0.iter_mut().zip(SALTS) {
            *word = (u32::from_le_bytes(*word) | mask(hash, salt)).to_le_bytes();
        }
    }
    Some(SplitBlockBloomFilter {
        num_blocks,
        target_fpp,
        num_values,
        hash_algorithm: HASH_ALGORITHM.to_owned(),
        hash_seed,
        data: data.into(),
    })
}

/// A filter to look values up in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BloomFilter<'a> {
    stored: &'a SplitBlockBloomFilter,
    function: HashFunction,
}

impl<'a> BloomFilter<'a> {
    /// Returns the filter for lookups, or `None` if its hash algorithm is unknown or it has no blocks.
    pub(crate) fn new(filter: &'a SplitBlockBloomFilter) -> Option<Self> {
        let function = HashFunction::named(&filter.hash_algorithm)?;
        (filter.num_blocks > 0).then_some(Self {
            stored: filter,
            function,
        })
    }

    /// Returns whether a value with this hash may be in the filter.
    fn contains(&self, hash: u64) -> bool {
        let block = block_start(hash, self.stored.num_blocks)
            .and_then(|start| self.stored.data.get(start..start.checked_add(BLOCK)?));
        // A truncated filter that lacks the block cannot rule out the value.
        block.is_none_or(|block| {
            let words = block.as_chunks::<4>().0.iter().zip(SALTS);
            words
                .map(|(&word, salt)| u32::from_le_bytes(word) & mask(hash, salt))
                .all(|bit| bit != 0)
        })
    }

    /// Returns whether the value with these bytes may be in the filter; the bytes are as for
    /// [`hash_value`](super::hash::hash_value).
    pub(crate) fn contains_value(&self, value: &[u8]) -> bool {
        self.contains(self.function.hash(value, self.stored.hash_seed))
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::hash_value;
    use super::*;

    const SEED: u64 = 0x4D75_6461_6942_4646;

    fn hashes(values: std::ops::Range<u64>, seed: u64) -> Vec<u64> {
        values.map(|v| hash_value(&v.to_le_bytes(), seed)).collect()
    }

    #[test]
    fn one_value_sets_the_bits_that_the_reference_sets() {
        let hash = hash_value(b"hello", SEED);
        let bits: Vec<u32> = SALTS
            .iter()
            .map(|&s| mask(hash, s).trailing_zeros())
            .collect();
        assert_eq!(bits, [9, 6, 0, 5, 20, 17, 9, 18]);
        let filter = build_filter(&[hash], SEED, 0.01, FilterSizing::Fitting).unwrap();
        let text: String = filter.data.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            text,
            "0002000040000000010000002000000000001000000002000002000000000400"
        );
        assert_eq!(block_start(hash, 40), Some(21 * BLOCK));
        assert_eq!(block_start(hash_value(b"", SEED), 40), Some(2 * BLOCK));
        let filter = BloomFilter::new(&filter).unwrap();
        assert!(filter.contains_value(b"hello"));
        assert!(!filter.contains_value(b"hallo"));
    }

    #[test]
    fn filters_are_as_large_as_their_wire_wants_them() {
        let spec = |n| FilterSizing::PowerOfTwo.num_blocks(n, 0.01);
        assert_eq!([0, 1, 26, 27, 1000].map(spec), [1, 1, 1, 2, 64]);
        let fitting = |n| FilterSizing::Fitting.num_blocks(n, 0.01);
        assert_eq!([0, 1, 60, 1024].map(fitting), [1, 1, 3, 40]);
        // A probability near 1 or 0 neither overflows nor leads to zero blocks.
        assert_eq!(FilterSizing::PowerOfTwo.num_blocks(5, 0.999_999_999), 1);
        assert!(FilterSizing::PowerOfTwo.num_blocks(u64::MAX, 1e-300) >= 1 << 60);
    }

    #[test]
    fn no_value_is_missed_and_false_positives_are_as_rare_as_they_can_be() {
        for fpp in [0.1, 0.01, 0.001] {
            for sizing in [FilterSizing::PowerOfTwo, FilterSizing::Fitting] {
                for n in [1, 50, 3_333, 20_000, 54_000, 100_000] {
                    let inside = hashes(0..n, 0);
                    let filter = build_filter(&inside, 0, fpp, sizing).unwrap();
                    let expected = expected_fpp(n, filter.num_blocks);
                    let filter = BloomFilter::new(&filter).unwrap();
                    assert!(inside.iter().all(|&h| filter.contains(h)));
                    let tries = 400_000;
                    let hits = hashes(1 << 40..(1 << 40) + tries, 0)
                        .into_iter()
                        .filter(|&h| filter.contains(h))
                        .count();
                    let measured = hits as f64 / tries as f64;
                    let noise = 4.0 * (expected / tries as f64).sqrt();
                    assert!(
                        measured <= 1.2 * expected + noise,
                        "{n} values, {sizing:?}: {measured}, expected {expected}"
                    );
                    if sizing == FilterSizing::PowerOfTwo {
                        assert!(measured <= 1.2 * fpp, "{n} values: {measured} for {fpp}");
                    }
                }
            }
        }
    }

    /// Returns the most values for which a filter has at most that number of blocks.
    fn most_values(num_blocks: u64, fpp: f64) -> u64 {
        let (mut fits, mut exceeds) = (1, 256 * num_blocks);
        while exceeds - fits > 1 {
            let values = fits.midpoint(exceeds);
            match FilterSizing::PowerOfTwo.num_blocks(values, fpp) <= num_blocks {
                true => fits = values,
                false => exceeds = values,
            }
        }
        fits
    }

    #[test]
    fn full_filters_have_as_few_false_positives_as_asked_for() {
        for fpp in [0.2, 0.1, 0.01, 0.001] {
            for num_blocks in [1, 2, 4, 16, 256, 2048] {
                let n = most_values(num_blocks, fpp);
                // Small filters vary, so the mean of several is tested.
                let filters = (2048 / num_blocks).min(200);
                let tries = 600_000 / filters;
                let mut hits = 0;
                for i in 0..filters {
                    let inside = hashes(i << 32..(i << 32) + n, 0);
                    let filter = build_filter(&inside, 0, fpp, FilterSizing::PowerOfTwo).unwrap();
                    assert_eq!(filter.num_blocks, num_blocks, "{n} values, {fpp}");
                    let filter = BloomFilter::new(&filter).unwrap();
                    let outside = hashes(1 << 60..(1 << 60) + tries, 0);
                    hits += outside.iter().filter(|&&h| filter.contains(h)).count();
                }
                let measured = hits as f64 / (filters * tries) as f64;
                let place = format!("{n} values in {num_blocks} blocks: {measured} for {fpp}");
                assert!(measured <= 1.2 * fpp, "{place}");
                assert!(measured >= 0.5 * fpp, "{place}: larger than need be");
            }
        }
    }

    #[test]
    fn a_filter_with_unknown_hashes_is_none() {
        let mut filter = build_filter(&[1], 0, 0.01, FilterSizing::PowerOfTwo).unwrap();
        assert!(BloomFilter::new(&filter).is_some());
        filter.hash_algorithm = "xxh64".to_owned();
        assert!(BloomFilter::new(&filter).is_some());
        filter.hash_algorithm = "murmur".to_owned();
        assert!(BloomFilter::new(&filter).is_none());
        assert!(BloomFilter::new(&SplitBlockBloomFilter::default()).is_none());
    }

    #[test]
    fn a_filter_without_its_data_excludes_nothing() {
        let mut filter = build_filter(&[1], 0, 0.01, FilterSizing::PowerOfTwo).unwrap();
        filter.data.clear();
        assert!(BloomFilter::new(&filter).unwrap().contains(2));
    }
}
