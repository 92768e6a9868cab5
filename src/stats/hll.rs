//! Spec: docs/format.md, "Cardinality": HyperLogLog sketches, and the estimates made of them.
//!
//! The top bits of a hash select a counter. The counter keeps the greatest rank of the remaining bits: the position of
//! their first 1, counted from 1. Estimates follow HyperLogLog++, with its bias table for 2^7 counters, interpolated
//! between neighbors.

use super::hash::HASH_ALGORITHM;
use crate::format::HllSketch;

/// Bits of a hash that select a counter.
pub(super) const INDEX_BITS: u32 = 7;
/// Counters of a sketch.
const COUNTERS: usize = 1 << INDEX_BITS;
/// Linear counting is more accurate up to this estimate. It estimates from the number of counters that are 0.
const LINEAR_COUNTING: f64 = 80.0;

/// The counters of a sketch while values are added.
#[derive(Debug, Clone)]
pub(crate) struct Hll {
    counters: [u8; COUNTERS],
    /// A hash can change a counter only if its bits below the index are at most this.
    limit: u64,
}

impl Default for Hll {
    fn default() -> Self {
        Self {
            counters: [0; COUNTERS],
            limit: u64::MAX,
        }
    }
}

impl Hll {
    /// Adds a value by its hash.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        // A 1 below the remaining bits of the hash ends the count if they are all 0.
        let rest = hash << INDEX_BITS | 1 << (INDEX_BITS - 1);
        #[expect(clippy::cast_possible_truncation, reason = "7 bits, and at most 58")]
        let (index, rank) = (
            (hash >> (64 - INDEX_BITS)) as usize,
            rest.leading_zeros() as u8 + 1,
        );
        let counter = &mut self.counters[index];
        *counter = rank.max(*counter);
    }

    /// Adds values by their hashes. `least` is the smallest hash without its [`INDEX_BITS`] highest bits. Once many
    /// values have been added, few change a counter, so a batch is skipped if `least` is too large to change any.
    pub(crate) fn add_all(&mut self, hashes: &[u64], least: u64) {
        if least > self.limit {
            return;
        }
        hashes.iter().for_each(|&hash| self.add(hash));
        let least = self.counters.iter().copied().fold(u8::MAX, u8::min);
        self.limit = u64::MAX.checked_shr(u32::from(least)).unwrap_or(0);
    }

    /// Estimates the number of distinct values.
    pub(crate) fn estimate(&self) -> u64 {
        estimate(&self.counters)
    }

    /// Returns the sketch of values hashed with this seed.
    pub(crate) fn into_sketch(self, hash_seed: u64) -> HllSketch {
        HllSketch {
            hash_algorithm: HASH_ALGORITHM.to_owned(),
            hash_seed,
            bits_per_index: INDEX_BITS,
            counters: self.counters.to_vec(),
        }
    }
}

/// Estimates the number of distinct values of a sketch. Returns `None` if its number of counters differs from the
/// sketches of this crate.
pub(crate) fn estimate_sketch(sketch: &HllSketch) -> Option<u64> {
    let counters: &[u8; COUNTERS] = sketch.counters.as_slice().try_into().ok()?;
    (sketch.bits_per_index == INDEX_BITS).then(|| estimate(counters))
}

/// Merges two sketches. Returns `None` if their parameters differ.
pub(crate) fn merge_sketches(mut a: HllSketch, b: &HllSketch) -> Option<HllSketch> {
    let same = a.hash_algorithm == b.hash_algorithm
        && a.hash_seed == b.hash_seed
        && a.bits_per_index == b.bits_per_index
        && a.counters.len() == b.counters.len();
    for (counter, other) in a.counters.iter_mut().zip(&b.counters) {
        *counter = (*counter).max(*other);
    }
    same.then_some(a)
}

fn estimate(counters: &[u8; COUNTERS]) -> u64 {
    let m = COUNTERS as f64;
    // 2 to the power of -c, as the bits of a double.
    let power = |&c: &u8| f64::from_bits((1023 - u64::from(c)) << 52);
    let sum: f64 = counters.iter().map(power).sum();
    let alpha = 0.7213 / (1.0 + 1.079 / m);
    let mut estimate = alpha * m * m / sum;
    if estimate <= 5.0 * m {
        estimate = (estimate - bias(estimate)).max(0.0);
    }
    let zeros = counters.iter().filter(|&&c| c == 0).count();
    if zeros > 0 {
        let linear = m * (m / zeros as f64).ln();
        if linear <= LINEAR_COUNTING {
            estimate = linear;
        }
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and conversions to integers saturate"
    )]
    let rounded = estimate.round() as u64;
    rounded
}

/// Returns by how much a raw estimate of this size exceeds the true number.
fn bias(estimate: f64) -> f64 {
    let above = RAW_ESTIMATES.partition_point(|&raw| raw < estimate);
    let (Some(&high), Some(&high_bias)) = (RAW_ESTIMATES.get(above), BIASES.get(above)) else {
        return BIASES[BIASES.len() - 1];
    };
    let Some(below) = above.checked_sub(1) else {
        return high_bias;
    };
    let (low, low_bias) = (RAW_ESTIMATES[below], BIASES[below]);
    low_bias + (estimate - low) / (high - low) * (high_bias - low_bias)
}

/// Raw estimates, ascending.
#[rustfmt::skip]
const RAW_ESTIMATES: [f64; 200] = [
    92.0, 93.4934, 94.9758, 96.4574, 97.9718, 99.4954, 101.5302, 103.0756, 104.6374, 106.1782,
    107.7888, 109.9522, 111.592, 113.2532, 114.9086, 116.5938, 118.9474, 120.6796, 122.4394, 124.2176,
    125.9768, 128.4214, 130.2528, 132.0102, 133.8658, 135.7278, 138.3044, 140.1316, 142.093, 144.0032,
    145.9092, 148.6306, 150.5294, 152.5756, 154.6508, 156.662, 159.552, 161.3724, 163.617, 165.5754,
    167.7872, 169.8444, 172.7988, 174.8606, 177.2118, 179.3566, 181.4476, 184.5882, 186.6816, 189.0824,
    191.0258, 193.6048, 196.4436, 198.7274, 200.957, 203.147, 205.4364, 208.7592, 211.3386, 213.781,
    215.8028, 218.656, 221.6544, 223.996, 226.4718, 229.1544, 231.6098, 234.5956, 237.0616, 239.5758,
    242.4878, 244.5244, 248.2146, 250.724, 252.8722, 255.5198, 258.0414, 261.941, 264.9048, 266.87,
    269.4304, 272.028, 274.4708, 278.37, 281.0624, 283.4668, 286.5532, 289.4352, 293.2564, 295.2744,
    298.2118, 300.7472, 304.1456, 307.2928, 309.7504, 312.5528, 315.979, 318.2102, 322.1834, 324.3494,
    327.325, 330.6614, 332.903, 337.2544, 339.9042, 343.215, 345.2864, 348.0814, 352.6764, 355.301,
    357.139, 360.658, 363.1732, 366.5902, 369.9538, 373.0828, 375.922, 378.9902, 382.7328, 386.4538,
    388.1136, 391.2234, 394.0878, 396.708, 401.1556, 404.1852, 406.6372, 409.6822, 412.7796, 416.6078,
    418.4916, 422.131, 424.5376, 428.1988, 432.211, 434.4502, 438.5282, 440.912, 444.0448, 447.7432,
    450.8524, 453.7988, 456.7858, 458.8868, 463.9886, 466.5064, 468.9124, 472.6616, 475.4682, 478.582,
    481.304, 485.2738, 488.6894, 490.329, 496.106, 497.6908, 501.1374, 504.5322, 506.8848, 510.3324,
    513.4512, 516.179, 520.4412, 522.6066, 526.167, 528.7794, 533.379, 536.067, 538.46, 542.9116,
    545.692, 547.9546, 552.493, 555.2722, 557.335, 562.449, 564.2014, 569.0738, 571.0974, 574.8564,
    578.2996, 581.409, 583.9704, 585.8098, 589.6528, 594.5998, 595.958, 600.068, 603.3278, 608.2016,
    609.9632, 612.864, 615.43, 620.7794, 621.272, 625.8644, 629.206, 633.219, 634.5154, 638.6102,
];

/// By how much each of the [`RAW_ESTIMATES`] exceeds the true number.
#[rustfmt::skip]
const BIASES: [f64; 200] = [
    91.0, 89.4934, 87.9758, 86.4574, 84.9718, 83.4954, 81.5302, 80.0756, 78.6374, 77.1782,
    75.7888, 73.9522, 72.592, 71.2532, 69.9086, 68.5938, 66.9474, 65.6796, 64.4394, 63.2176,
    61.9768, 60.4214, 59.2528, 58.0102, 56.8658, 55.7278, 54.3044, 53.1316, 52.093, 51.0032,
    49.9092, 48.6306, 47.5294, 46.5756, 45.6508, 44.662, 43.552, 42.3724, 41.617, 40.5754,
    39.7872, 38.8444, 37.7988, 36.8606, 36.2118, 35.3566, 34.4476, 33.5882, 32.6816, 32.0824,
    31.0258, 30.6048, 29.4436, 28.7274, 27.957, 27.147, 26.4364, 25.7592, 25.3386, 24.781,
    23.8028, 23.656, 22.6544, 21.996, 21.4718, 21.1544, 20.6098, 19.5956, 19.0616, 18.5758,
    18.4878, 17.5244, 17.2146, 16.724, 15.8722, 15.5198, 15.0414, 14.941, 14.9048, 13.87,
    13.4304, 13.028, 12.4708, 12.37, 12.0624, 11.4668, 11.5532, 11.4352, 11.2564, 10.2744,
    10.2118, 9.7472, 10.1456, 9.2928, 8.7504, 8.5528, 8.979, 8.2102, 8.1834, 7.3494,
    7.325, 7.6614, 6.903, 7.2544, 6.9042, 7.215, 6.2864, 6.0814, 6.6764, 6.301,
    5.139, 5.658, 5.1732, 4.5902, 4.9538, 5.0828, 4.922, 4.9902, 4.7328, 5.4538,
    4.1136, 4.2234, 4.0878, 3.708, 4.1556, 4.1852, 3.6372, 3.6822, 3.7796, 3.6078,
    2.4916, 3.131, 2.5376, 3.1988, 3.211, 2.4502, 3.5282, 2.912, 3.0448, 2.7432,
    2.8524, 2.7988, 2.7858, 1.8868, 2.9886, 2.5064, 1.9124, 2.6616, 2.4682, 1.582,
    1.304, 2.2738, 2.6894, 1.329, 3.106, 1.6908, 2.1374, 2.5322, 1.8848, 1.3324,
    1.4512, 1.179, 2.4412, 1.6066, 2.167, 0.7794, 2.379, 2.067, 1.46, 2.9116,
    1.692, 0.9546, 2.493, 2.2722, 1.335, 2.449, 1.2014, 3.0738, 2.0974, 2.8564,
    2.2996, 2.409, 1.9704, 0.8098, 1.6528, 2.5998, 0.958, 2.068, 2.3278, 4.2016,
    1.9632, 1.864, 1.43, 3.7794, 1.272, 1.8644, 2.206, 3.219, 1.5154, 2.6102,
];

#[cfg(test)]
mod tests {
    use super::super::hash::hash_value;
    use super::*;

    #[test]
    fn a_hash_falls_where_the_reference_puts_it() {
        let seed = 0x416D_7564_484C_4C31;
        for (value, index, rank) in [(&b"hello"[..], 121, 5), (b"", 24, 1)] {
            let mut sketch = Hll::default();
            sketch.add(hash_value(value, seed));
            assert_eq!(sketch.counters[index], rank);
            assert_eq!(sketch.counters.iter().filter(|&&c| c > 0).count(), 1);
            assert_eq!(sketch.estimate(), 1);
        }
        let mut sketch = Hll::default();
        sketch.add(0);
        assert_eq!(sketch.counters[0], 58);
        assert_eq!(Hll::default().estimate(), 0);
    }

    fn sketch_of(values: std::ops::Range<u64>) -> Hll {
        let mut sketch = Hll::default();
        values.for_each(|v| sketch.add(hash_value(&v.to_le_bytes(), 0)));
        sketch
    }

    #[test]
    fn estimates_are_as_good_as_the_theory_says() {
        // 128 counters have a standard error of 1.04 / sqrt(128).
        let sigma = 1.04 / 128f64.sqrt();
        for (n, sets) in [
            (10, 400),
            (100, 400),
            (1_000, 400),
            (10_000, 100),
            (100_000, 20),
            (1_000_000, 4),
            (10_000_000, 1),
        ] {
            let errors = (0..sets).map(|set| {
                let estimate = sketch_of(set << 40..(set << 40) + n).estimate() as f64;
                estimate / n as f64 - 1.0
            });
            let errors: Vec<f64> = errors.collect();
            let worst = errors.iter().fold(0.0, |worst: f64, e| worst.max(e.abs()));
            assert!(worst < 4.0 * sigma, "{n} values: off by {worst}");
            let square = errors.iter().map(|e| e * e).sum::<f64>() / sets as f64;
            let most = sigma * (1.0 + 2.0 / (sets as f64).sqrt());
            assert!(square.sqrt() < most, "{n} values: {} off", square.sqrt());
            let mean = errors.iter().sum::<f64>() / sets as f64;
            // Rounding to whole numbers biases small ones.
            let most = 4.0 * sigma / (sets as f64).sqrt() + 0.5 / n as f64;
            assert!(mean.abs() < most, "{n} values: biased by {mean}");
        }
    }

    /// The figures that `Shard::statistics` and docs/format.md state.
    #[test]
    fn two_of_three_estimates_are_off_by_less_than_a_tenth() {
        for (n, sets) in [(10, 1000), (100, 1000), (1_000, 1000), (10_000, 200)] {
            let mut errors: Vec<f64> = (0..sets)
                .map(|set| {
                    let values = set << 40..(set << 40) + n;
                    (sketch_of(values).estimate() as f64 / n as f64 - 1.0).abs()
                })
                .collect();
            errors.sort_unstable_by(f64::total_cmp);
            let below = |error: f64| errors.iter().filter(|e| **e <= error).count() as f64;
            let share = |error: f64| below(error) / errors.len() as f64;
            assert!(share(0.1) > 0.67, "{n}: {}", share(0.1));
            assert!(share(0.2) > 0.95, "{n}: {}", share(0.2));
            assert!(share(0.4) == 1.0, "{n}: {:?}", errors.last());
        }
    }

    #[test]
    fn many_hashes_at_once_come_to_the_same() {
        let hashes: Vec<u64> = (0..100_000u64)
            .map(|v| hash_value(&v.to_le_bytes(), 0))
            .collect();
        let mut sketch = Hll::default();
        let add_all = |sketch: &mut Hll, hashes: &[u64]| {
            let least = hashes.iter().map(|h| h << INDEX_BITS).min().unwrap();
            sketch.add_all(hashes, least);
        };
        for part in hashes.chunks(50) {
            add_all(&mut sketch, part);
        }
        assert!(sketch.limit < u64::MAX >> 4, "some are left out");
        assert_eq!(sketch.counters, sketch_of(0..100_000).counters);
        // The smallest rank that is too small, and the next one.
        let mut sketch = Hll::default();
        let of = |index: u64, rank: u32| index << 57 | 1u64 << 57 >> rank;
        let all: Vec<u64> = (0..128).map(|index| of(index, 3)).collect();
        add_all(&mut sketch, &all);
        add_all(&mut sketch, &[of(5, 3)]);
        add_all(&mut sketch, &[of(6, 4)]);
        assert_eq!((sketch.counters[5], sketch.counters[6]), (3, 4));
    }

    #[test]
    fn sketches_merge_as_if_one_had_seen_everything() {
        let whole = sketch_of(0..3_000).into_sketch(0);
        let (a, b) = (sketch_of(0..2_000), sketch_of(1_000..3_000));
        let merged = merge_sketches(a.into_sketch(0), &b.clone().into_sketch(0)).unwrap();
        assert_eq!(merged, whole);
        assert_eq!(
            estimate_sketch(&merged),
            Some(sketch_of(0..3_000).estimate())
        );
        assert_eq!(merge_sketches(whole, &b.into_sketch(1)), None);
    }

    #[test]
    fn a_sketch_of_another_size_has_no_estimate() {
        let sketch = HllSketch {
            bits_per_index: 4,
            counters: vec![0; 16],
            ..HllSketch::default()
        };
        assert_eq!(estimate_sketch(&sketch), None);
    }
}
