//! Statistics of values for estimates.

use super::{NumberKind, Word};
use crate::kernels::{count_runs, key_range, step_range};
use arrow_buffer::ArrowNativeType;
use hashbrown::HashMap;

/// Most values of a sample, in stretches spread over all values.
const MAX_SAMPLE: usize = 2048;
/// Number of values per stretch.
const STRETCH: usize = 128;
/// Number of values that are sampled in any case.
const MIN_SAMPLE: usize = 512;
/// Number of values that are compared with each other.
const COMPARED: usize = 256;

/// Number of repetitions among 256 sampled values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alike {
    /// Repeated single values.
    pub values: usize,
    /// Repeated pairs of a value and its successor.
    pub pairs: usize,
}

impl Alike {
    /// Counts for samples that are too small to compare.
    const ALL: Self = Self {
        values: COMPARED,
        pairs: COMPARED,
    };

    fn count<W: Word>(sample: &[W]) -> Self {
        let step = sample.len() / COMPARED;
        if step == 0 {
            return Self::ALL;
        }
        let pairs = || sample.windows(2).step_by(step).take(COMPARED);
        let key = |value: W| value.to_u64().wrapping_add(1).wrapping_mul(SCATTER);
        let values = alike(pairs().map(|pair| key(pair[0])));
        // A pair repeats only if its first value repeats.
        let pairs = match values {
            0 => 0,
            _ => alike(pairs().map(|pair| key(pair[0]).rotate_left(20) ^ key(pair[1]))),
        };
        Self { values, pairs }
    }
}

/// An odd number with random-looking bits, so that the highest bits of its product with a key look random.
const SCATTER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the number of repetitions among up to [`COMPARED`] keys. Their highest bits must look random.
fn alike(keys: impl Iterator<Item = u64>) -> usize {
    const SLOTS: usize = 2 * COMPARED;
    let mut slots = [0; SLOTS];
    let mut alike = 0;
    for key in keys {
        // An empty slot holds 0.
        let key = key | 1;
        let mut slot = (key >> (64 - SLOTS.ilog2())).as_usize();
        while slots[slot] != 0 && slots[slot] != key {
            slot = (slot + 1) % SLOTS;
        }
        alike += usize::from(slots[slot] == key);
        slots[slot] = key;
    }
    alike
}

/// Properties of the values of one or several blocks, from which encodings are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats<W> {
    /// Number of values.
    pub n: usize,
    /// Meaning of the words.
    pub kind: NumberKind,
    /// Smallest value, in the order of `kind`; 0 without values.
    pub min: W,
    /// Largest value, in the order of `kind`; 0 without values.
    pub max: W,
    /// Number of maximal runs of equal values.
    pub runs: usize,
    /// Smallest difference of neighbors, modulo 2^bits and in the order of `kind`.
    pub min_delta: W,
    /// Largest difference of neighbors.
    pub max_delta: W,
    alike: Alike,
    /// Sampled values: all, or stretches of `STRETCH` neighbors.
    sample: Vec<W>,
    /// Lengths of the stretches.
    stretches: Vec<usize>,
}

impl<W: Word> Stats<W> {
    /// Collects statistics in one pass over all values.
    pub fn collect(values: &[W], kind: NumberKind) -> Self {
        let (mut sample, mut stretches) = (Vec::new(), Vec::new());
        // Collecting statistics of few values must not take longer than encoding them.
        let most = (values.len() / 2).clamp(MIN_SAMPLE, MAX_SAMPLE);
        if values.len() <= most {
            sample.extend_from_slice(values);
            stretches.push(values.len());
        } else {
            let count = most / STRETCH;
            for i in 0..count {
                let start = (values.len() - STRETCH) * i / (count - 1);
                let stretch = values.get(start..start + STRETCH).unwrap_or_default();
                sample.extend_from_slice(stretch);
                stretches.push(stretch.len());
            }
        }
        let mut stats = Self::measure(values, kind);
        stats.alike = Alike::count(&sample);
        stats.sample = sample;
        stats.stretches = stretches;
        stats
    }

    fn measure(values: &[W], kind: NumberKind) -> Self {
        let range = |(min, max)| {
            if min > max {
                (W::ZERO, W::ZERO)
            } else {
                (W::from_order_key(min, kind), W::from_order_key(max, kind))
            }
        };
        let (min, max) = range(key_range(values, kind));
        let (min_delta, max_delta) = range(step_range(values, kind));
        Self {
            n: values.len(),
            kind,
            min,
            max,
            runs: count_runs(values),
            min_delta,
            max_delta,
            alike: Alike::ALL,
            sample: Vec::new(),
            stretches: Vec::new(),
        }
    }

    /// Returns whether all values have the same bits.
    pub fn all_equal(&self) -> bool {
        self.runs == 1
    }

    /// Returns the sampled values.
    pub fn sample(&self) -> &[W] {
        &self.sample
    }

    /// Returns the sample as stretches of neighbors.
    pub(super) fn stretches(&self) -> impl Iterator<Item = &[W]> {
        let mut rest = self.sample.as_slice();
        self.stretches.iter().filter_map(move |&len| {
            let (now, later) = rest.split_at_checked(len)?;
            rest = later;
            Some(now)
        })
    }

    /// Returns the numbers of repetitions in the sample.
    pub(super) fn alike(&self) -> Alike {
        self.alike
    }

    /// Returns a likely lower bound of the number of distinct values. It is half of the number for which 256
    /// values, drawn at random, would have this many repetitions.
    pub(super) fn least_distinct(&self) -> usize {
        let likely = COMPARED * COMPARED / 2 / self.alike.values.max(1);
        (likely / 2).min(self.n / 2)
    }

    /// Guesses the number of distinct values from the values that the sample holds once and more often.
    pub fn distinct(&self) -> usize {
        let mut counts: HashMap<W, u32> = HashMap::with_capacity(self.sample.len());
        for &v in &self.sample {
            *counts.entry(v).or_default() += 1;
        }
        let once = counts.values().filter(|c| **c == 1).count();
        let scale = (self.n as f64 / self.sample.len().max(1) as f64).sqrt();
        let guess = scaled(once, scale) + (counts.len() - once);
        guess.min(self.n)
    }

    /// Returns statistics of `n` values that `f` derives from these, value by value.
    pub(super) fn derive<V: Word>(
        &self,
        kind: NumberKind,
        n: usize,
        f: impl FnOnce(&[W]) -> Vec<V>,
    ) -> Stats<V> {
        Stats::from_sample(f(&self.sample), self.stretches.clone(), kind, n)
    }

    /// Returns statistics of `n` values that `f` derives from these, a stretch of neighbors at a time.
    pub(super) fn derive_stretches<V: Word>(
        &self,
        kind: NumberKind,
        n: usize,
        mut f: impl FnMut(&[W], &mut Vec<V>),
    ) -> Stats<V> {
        let (mut sample, mut stretches) = (Vec::new(), Vec::new());
        for stretch in self.stretches() {
            let before = sample.len();
            f(stretch, &mut sample);
            stretches.push(sample.len() - before);
        }
        Stats::from_sample(sample, stretches, kind, n)
    }

    /// Returns statistics of the values of the runs of equal values.
    pub fn run_heads(&self) -> Self {
        let heads = self.derive_stretches(self.kind, self.runs, |stretch, out| {
            let runs = stretch.chunk_by(|a, b| a == b);
            out.extend(runs.filter_map(|run| run.first()));
        });
        heads.with_range(self.min, self.max)
    }

    /// Returns statistics of the lengths of the runs of equal values.
    pub fn run_lengths(&self) -> Stats<u32> {
        self.derive_stretches(NumberKind::Unsigned, self.runs, |stretch, out| {
            let runs = stretch.chunk_by(|a, b| a == b);
            out.extend(runs.map(|run| u32::try_from(run.len()).unwrap_or(0)));
        })
    }

    /// Returns statistics of the positions of the values that are not 0, and of these values.
    pub fn listed(&self) -> (Stats<u32>, Self) {
        let all = (0u32..).zip(&self.sample);
        let listed = all.filter(|(_, value)| **value != W::ZERO);
        let (positions, values): (Vec<u32>, Vec<W>) = listed.unzip();
        let scale = self.n as f64 / self.sample.len().max(1) as f64;
        let count = scaled(values.len(), scale);
        (
            Stats::of_sample(positions, NumberKind::Unsigned, count),
            Self::of_sample(values, self.kind, count),
        )
    }

    /// Returns statistics of the differences to a value, which are numbers of this kind.
    pub fn minus(&self, value: W, kind: NumberKind) -> Self {
        self.derive(kind, self.n, |sample| {
            sample.iter().map(|v| v.minus(value)).collect()
        })
    }

    /// Returns statistics of the quotients of the differences to the least value by their greatest common divisor;
    /// `None` if that is 1, or if all values are equal. The sample may have a greater divisor than all values.
    pub fn quotients(&self) -> Option<Self> {
        if self.kind == NumberKind::Float || W::BYTES == 1 {
            return None;
        }
        let offset = |value: W| value.minus(self.min).to_u64();
        let extended = |step: W| {
            let unused = 64 - W::BITS;
            (step.to_u64() << unused).cast_signed() >> unused
        };
        let steps = [self.min_delta, self.max_delta].map(extended);
        let known = steps
            .map(i64::unsigned_abs)
            .into_iter()
            .chain([offset(self.max)]);
        let mut divisor = known.fold(0, gcd);
        for value in &self.sample {
            if divisor == 1 {
                return None;
            }
            divisor = gcd(divisor, offset(*value));
        }
        if divisor <= 1 {
            return None;
        }
        let quotient = |offset: u64| W::truncate(offset / divisor);
        let quotients = self.derive(self.kind, self.n, |sample| {
            sample.iter().map(|v| quotient(offset(*v))).collect()
        });
        // A step of 2^63 has the same bits with either sign.
        let divided = steps.map(|step| {
            let size = (step.unsigned_abs() / divisor).cast_signed();
            W::truncate(if step < 0 { -size } else { size }.cast_unsigned())
        });
        Some(Self {
            runs: self.runs,
            min_delta: divided[0],
            max_delta: divided[1],
            ..quotients.with_range(W::ZERO, quotient(offset(self.max)))
        })
    }

    /// Returns the value that more than half of the sampled values are equal to, if there is one, and the share of the
    /// others.
    pub fn majority(&self) -> Option<(W, f32)> {
        let value = majority(&self.sample);
        let others = self.sample.iter().filter(|v| **v != value).count();
        let share = ratio(others, self.sample.len());
        (share < 0.5).then_some((value, share))
    }

    fn from_sample(sample: Vec<W>, stretches: Vec<usize>, kind: NumberKind, n: usize) -> Self {
        let mut stats = Self::measure(&sample, kind);
        let scale = n as f64 / sample.len().max(1) as f64;
        stats.n = n;
        if stats.runs > 1 {
            stats.runs = scaled(stats.runs, scale).max(2);
        }
        stats.sample = sample;
        stats.stretches = stretches;
        stats
    }

    /// Returns statistics of `n` values from a single stretch of them.
    pub(in super::super) fn of_sample(sample: Vec<W>, kind: NumberKind, n: usize) -> Self {
        let stretches = vec![sample.len()];
        Self::from_sample(sample, stretches, kind, n)
    }

    /// Sets the range, where it is known better than from the sample.
    pub(in super::super) fn with_range(mut self, min: W, max: W) -> Self {
        self.min = min;
        self.max = max;
        if min != max {
            self.runs = self.runs.max(2);
        }
        self
    }

    /// Extrapolates a size in bytes from the sample to all values.
    pub(super) fn scale_up(&self, bytes: usize) -> usize {
        scaled(bytes, self.n as f64 / self.sample.len().max(1) as f64)
    }
}

/// Returns the greatest common divisor.
pub(super) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the value that more than half of the values are equal to, or any value if there is none.
pub(super) fn majority<W: Word>(values: &[W]) -> W {
    let (mut value, mut lead) = (W::ZERO, 0usize);
    for &next in values {
        if lead == 0 {
            value = next;
        }
        if next == value {
            lead += 1;
        } else {
            lead -= 1;
        }
    }
    value
}

/// Returns `count` times `scale`, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess; the cast saturates"
)]
pub(in super::super) fn scaled(count: usize, scale: f64) -> usize {
    (count as f64 * scale) as usize
}

/// Returns `part / whole`, roughly.
#[expect(
    clippy::cast_possible_truncation,
    reason = "precision does not matter to an estimate"
)]
pub(in super::super) fn ratio(part: usize, whole: usize) -> f32 {
    (part as f64 / whole.max(1) as f64) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_follow_the_kind_of_number() {
        let values: Vec<u32> = [5i32, -3, 7, -3]
            .iter()
            .map(|v| v.cast_unsigned())
            .collect();
        let signed = Stats::collect(&values, NumberKind::Signed);
        assert_eq!(
            (signed.min.cast_signed(), signed.max.cast_signed()),
            (-3, 7)
        );
        assert_eq!(
            (
                signed.min_delta.cast_signed(),
                signed.max_delta.cast_signed()
            ),
            (-10, 10)
        );
        let unsigned = Stats::collect(&values, NumberKind::Unsigned);
        assert_eq!((unsigned.min, unsigned.max), (5, (-3i32).cast_unsigned()));
        assert_eq!(unsigned.runs, 4);
    }

    #[test]
    fn distinct_values_are_guessed_within_a_factor_of_ten() {
        for distinct in [1u32, 10, 300, 50_000] {
            let values: Vec<u32> = (0..50_000u32)
                .map(|i| i.wrapping_mul(0x9e37_79b1) % distinct)
                .collect();
            let real = values
                .iter()
                .collect::<std::collections::HashSet<_>>()
                .len();
            let guess = Stats::collect(&values, NumberKind::Unsigned).distinct();
            assert!(
                guess * 10 >= real && guess <= real * 10,
                "{guess} for {real}"
            );
        }
    }
}
