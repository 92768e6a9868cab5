//! Statistics of byte strings for estimates.

use super::Input;
use crate::encoding::NumberKind;
use crate::encoding::number::{self, scaled};
use crate::error::Result;
use hashbrown::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

/// Most values in a sample.
const SAMPLE_VALUES: usize = 2048;
/// Approximate size of the largest sample, in bytes.
const SAMPLE_BYTES: usize = 1 << 16;
/// Number of stretches of neighbors in a sample.
const STRETCHES: usize = 16;

/// Largest number of distinct values that is counted.
const MAX_DISTINCT: usize = 1 << 16;
/// Number of values from which counting stops if more than half of them differ.
const JUDGED: usize = 1024;

/// Properties of the byte strings of one or several blocks, from which encodings are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Number of values.
    pub n: usize,
    /// Number of nulls.
    pub nulls: usize,
    /// The size of each value, if it is fixed.
    pub fixed: Option<usize>,
    /// Size of all present values, in bytes. If the size is fixed, nulls count, too.
    pub total_bytes: usize,
    /// Size of the shortest present value, in bytes.
    pub min_length: usize,
    /// Size of the longest present value, in bytes.
    pub max_length: usize,
    /// Whether all present values are equal. If the size is fixed, nulls make it false.
    pub all_equal: bool,
    /// Number of distinct present values. `None` if they are too many for a dictionary to pay off.
    pub distinct: Option<usize>,
    /// Size of the distinct values, in bytes.
    pub distinct_bytes: usize,
    /// The bytes of the sampled values, one after the other. Nulls of fixed size are zeros.
    sample_bytes: Vec<u8>,
    /// The end of each sampled value, and whether it is present.
    sample: Vec<(usize, bool)>,
}

impl Stats {
    /// Collects statistics in one pass over all values.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the parts of `input` contradict
    /// each other.
    pub fn collect(input: &Input<'_>) -> Result<Self> {
        let clean = input.clean()?;
        let mut hashes = HashSet::new();
        let (mut distinct_bytes, mut seen, mut counting) = (0, 0, true);
        for value in clean.present() {
            seen += 1;
            if hashes.insert(xxh3_64(value)) {
                distinct_bytes += value.len();
                let many = seen >= JUDGED && hashes.len() > seen / 2;
                if many || hashes.len() > MAX_DISTINCT {
                    counting = false;
                    break;
                }
            }
        }
        let distinct = counting
            .then_some(hashes.len())
            .filter(|d| *d <= seen / 2 + 1);
        let zeros = vec![0; clean.fixed.unwrap_or_default()];
        let mut sample_bytes = Vec::new();
        let sample = sample_positions(clean.len, clean.values.len());
        let sample = sample
            .into_iter()
            .map(|i| {
                let is_present = clean.is_present(i);
                sample_bytes.extend_from_slice(if is_present { clean.value(i) } else { &zeros });
                (sample_bytes.len(), is_present)
            })
            .collect();
        Ok(Self {
            n: clean.len,
            nulls: clean.nulls.map_or(0, |nulls| nulls.null_count()),
            fixed: clean.fixed,
            total_bytes: clean.values.len(),
            min_length: clean.present().map(<[u8]>::len).min().unwrap_or_default(),
            max_length: clean.present().map(<[u8]>::len).max().unwrap_or_default(),
            all_equal: clean.single_value().is_some(),
            distinct,
            distinct_bytes: if distinct.is_some() {
                distinct_bytes
            } else {
                0
            },
            sample_bytes,
            sample,
        })
    }

    /// Returns the average size of a value, in bytes.
    pub(super) fn average_length(&self) -> f32 {
        number::ratio(self.total_bytes, self.n)
    }

    /// Returns the sampled values, `None` for nulls.
    pub(super) fn sample(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.sample.iter().map(move |&(end, is_present)| {
            let value = &self.sample_bytes[start..end];
            start = end;
            is_present.then_some(value)
        })
    }

    /// Returns the bytes of the sampled values.
    pub(super) fn sample_bytes(&self) -> &[u8] {
        &self.sample_bytes
    }

    /// Returns the offsets of the sampled values.
    pub(super) fn sample_offsets(&self) -> Vec<u64> {
        let ends = self.sample.iter().map(|(end, _)| *end as u64);
        std::iter::once(0).chain(ends).collect()
    }

    /// Returns statistics of the lengths of the values.
    pub(super) fn lengths(&self) -> number::Stats<u32> {
        let length = |v: Option<&[u8]>| u32::try_from(v.map_or(0, <[u8]>::len)).unwrap_or(u32::MAX);
        let sample = self.sample().map(length).collect();
        let least = if self.nulls > 0 { 0 } else { self.min_length };
        let range = [least, self.max_length].map(|l| u32::try_from(l).unwrap_or(u32::MAX));
        number::Stats::of_sample(sample, NumberKind::Unsigned, self.n)
            .with_range(range[0], range[1])
    }

    /// Returns the codes of the sampled values, and the lengths of their distinct values. The most frequent come first.
    pub(super) fn sample_codes(&self) -> (Vec<u32>, Vec<u32>) {
        let mut counts: HashMap<&[u8], u32> = HashMap::new();
        for value in self.sample().flatten() {
            *counts.entry(value).or_default() += 1;
        }
        let mut ranked: Vec<(&[u8], u32)> = counts.into_iter().collect();
        ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let lengths = ranked
            .iter()
            .filter_map(|(v, _)| u32::try_from(v.len()).ok())
            .collect();
        let ranks: HashMap<&[u8], u32> = ranked.iter().map(|(v, _)| *v).zip(1..).collect();
        let code = |value: Option<&[u8]>| value.and_then(|v| ranks.get(v)).copied();
        let codes = self.sample().map(|value| code(value).unwrap_or_default());
        (codes.collect(), lengths)
    }

    /// Extrapolates a size in bytes from the sample to all values.
    pub(super) fn scale_up(&self, bytes: usize) -> usize {
        scaled(
            bytes,
            self.total_bytes as f64 / self.sample_bytes.len().max(1) as f64,
        )
    }
}

/// Returns positions of stretches of neighbors, spread over `n` values of `bytes` bytes altogether.
fn sample_positions(n: usize, bytes: usize) -> Vec<usize> {
    let by_bytes = SAMPLE_BYTES.saturating_mul(n) / bytes.max(1);
    let wanted = SAMPLE_VALUES.min(by_bytes).max(STRETCHES);
    if n <= wanted {
        return (0..n).collect();
    }
    let stretch = wanted / STRETCHES;
    (0..STRETCHES)
        .map(|i| (n - stretch) * i / (STRETCHES - 1))
        .flat_map(|start| start..start + stretch)
        .collect()
}
