//! Spec: Chapter 6, "Split-Block Bloom Filters": filters that another format has computed.

use crate::format::SplitBlockBloomFilter;
use crate::stats::HashFunction;

/// Bytes of a block.
const BLOCK: usize = 32;
/// Blocks are combined as long as the filter has at most this rate of false positives, as for new filters.
const TARGET_FPP: f64 = 0.01;
/// The greatest rate of false positives of a filter that is kept. With more, a filter rarely saves its own bytes.
const MAX_FPP: f64 = 0.25;

/// Returns a filter of the values in any of some filters of Apache Parquet, given their blocks. It has no more blocks
/// than it needs. `most` is the number of values that they can have. `None` if the filters have sizes that do not fit
/// each other, have no value, or would rule out few values.
pub(crate) fn united_filter(filters: &[&[u8]], most: u64) -> Option<SplitBlockBloomFilter> {
    let len = filters.iter().map(|filter| filter.len()).max()?;
    let mut blocks = vec![[0; BLOCK]; len / BLOCK];
    for filter in filters {
        let (from, rest) = filter.as_chunks::<BLOCK>();
        if from.is_empty() || !rest.is_empty() || !blocks.len().is_multiple_of(from.len()) {
            return None;
        }
        // The hashes of a block are divided among the same number of blocks of a larger filter.
        let times = blocks.len() / from.len();
        for (i, block) in blocks.iter_mut().enumerate() {
            add(block, from.get(i / times)?);
        }
    }
    while blocks.len().is_multiple_of(2) {
        let halved = halved(&blocks);
        if fpp(&halved) > TARGET_FPP {
            break;
        }
        blocks = halved;
    }
    // Enough digits for readers.
    let target_fpp = (fpp(&blocks) * 10_000.0).ceil() / 10_000.0;
    let num_values = values_of(&blocks, most)?;
    (target_fpp <= MAX_FPP).then(|| SplitBlockBloomFilter {
        num_blocks: blocks.len() as u64,
        target_fpp,
        num_values,
        hash_algorithm: HashFunction::Xxh64.name().to_owned(),
        hash_seed: 0,
        data: blocks.concat().into(),
    })
}

fn add(block: &mut [u8; BLOCK], more: &[u8; BLOCK]) {
    for (byte, more) in block.iter_mut().zip(more) {
        *byte |= more;
    }
}

/// Returns a filter of half as many blocks with the same values.
fn halved(blocks: &[[u8; BLOCK]]) -> Vec<[u8; BLOCK]> {
    let pairs = blocks.as_chunks::<2>().0.iter();
    let both = pairs.map(|[first, second]| {
        let mut both = *first;
        add(&mut both, second);
        both
    });
    both.collect()
}

fn bits_set(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(byte.count_ones())).sum()
}

/// Returns the rate of false positives: the mean, over all blocks, of the probability that a bit in each of its words
/// is set.
fn fpp(blocks: &[[u8; BLOCK]]) -> f64 {
    let of_block = |block: &[u8; BLOCK]| {
        let words = block.as_chunks::<4>().0.iter();
        words
            .map(|word| bits_set(word) as f64 / 32.0)
            .product::<f64>()
    };
    blocks.iter().map(of_block).sum::<f64>() / blocks.len() as f64
}

/// Estimates the number of values in a filter. `None` if it has no value, or more than `most`.
fn values_of(blocks: &[[u8; BLOCK]], most: u64) -> Option<u64> {
    let bits: u64 = blocks.iter().map(|block| bits_set(block)).sum();
    // A value sets up to 8 bits.
    let least = bits.div_ceil(8);
    let words = 8.0 * blocks.len() as f64;
    let share = bits as f64 / (32.0 * words);
    let per_block = (-share).ln_1p() / (-1.0f64 / 32.0).ln_1p();
    let estimate = (per_block * blocks.len() as f64).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and conversions to integers saturate"
    )]
    let estimate = estimate as u64;
    (1..=most)
        .contains(&least)
        .then(|| estimate.clamp(least, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::BloomFilter;
    use parquet::bloom_filter::Sbbf;
    use std::ops::Range;

    fn filter(values: Range<u64>, bytes: usize) -> Vec<u8> {
        let mut filter = Sbbf::new(&vec![0; bytes]);
        values.for_each(|value| filter.insert(&value.to_le_bytes()[..]));
        let mut blocks = Vec::new();
        filter.write_bitset(&mut blocks).unwrap();
        blocks
    }

    fn false_positives(filter: &SplitBlockBloomFilter) -> f64 {
        let filter = BloomFilter::new(filter).unwrap();
        let others = (1 << 40)..(1 << 40) + 20_000u64;
        let found = others.filter(|value| filter.contains_value(&value.to_le_bytes()));
        found.count() as f64 / 20_000.0
    }

    #[test]
    fn a_united_filter_has_all_values_in_few_blocks() {
        for (first, second) in [(32 << 10, 32 << 10), (4 << 10, 32 << 10), (96, 32 * 15)] {
            let values = (first / 16) as u64;
            let filters = [filter(0..values, first), filter(values..2 * values, second)];
            let filters: Vec<&[u8]> = filters.iter().map(Vec::as_slice).collect();
            let united = united_filter(&filters, 1 << 20).unwrap();
            let found = BloomFilter::new(&united).unwrap();
            assert!((0..2 * values).all(|value| found.contains_value(&value.to_le_bytes())));
            let measured = false_positives(&united);
            assert!(measured < 0.03, "{measured} with {first} and {second}");
            // Blocks that cannot be combined have some values several times.
            if united.num_blocks.is_power_of_two() {
                let off = united.num_values.abs_diff(2 * values);
                assert!(off <= values / 10, "{} values", united.num_values);
            }
        }
    }

    #[test]
    fn blocks_are_combined_while_the_filter_rules_out_enough() {
        let large = filter(0..100, 1 << 20);
        let united = united_filter(&[&large], 100).unwrap();
        // A new filter of 100 values has 8 blocks.
        assert!((4..=16).contains(&united.num_blocks), "{united:?}");
        assert!(united.target_fpp <= TARGET_FPP);
        let measured = false_positives(&united);
        assert!((measured - united.target_fpp).abs() < 0.005, "{measured}");
    }

    #[test]
    fn filters_that_do_not_help_are_left_out() {
        let some = filter(0..10, 320);
        assert!(united_filter(&[&some], 10).is_some());
        assert_eq!(
            united_filter(&[&some], 2),
            None,
            "more values than there are"
        );
        assert_eq!(united_filter(&[], 10), None);
        assert_eq!(united_filter(&[&some, &[]], 10), None);
        assert_eq!(united_filter(&[&filter(0..0, 320)], 10), None, "no value");
        assert_eq!(united_filter(&[&filter(0..1000, 320)], 1000), None, "full");
        let other = filter(0..10, 320 - 32);
        assert_eq!(united_filter(&[&some, &other], 10), None, "10 and 9 blocks");
        assert_eq!(united_filter(&[&some[..319]], 10), None, "half a block");
    }
}
