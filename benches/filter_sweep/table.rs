//! The table: columns to filter by, and columns to return.

use crate::keys::Key;
use crate::texts::{address, random_word};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{Field, Schema};
use arrow_shard::Shard;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// How the matching rows lie in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// In one range.
    Clustered,
    /// In ranges of 100 rows. If more than half of the rows match, the others lie in such ranges.
    Runs,
    /// Anywhere.
    Random,
    /// All values are equal.
    Constant,
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clustered => "clustered",
            Self::Runs => "runs",
            Self::Random => "random",
            Self::Constant => "constant",
        })
    }
}

/// A share of the rows, in ten thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share(pub(crate) usize);

impl Share {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const WHOLE: Self = Self(10_000);

    /// Returns this share of the rows; at least one row, unless the share is 0.
    fn of(self, rows: usize) -> usize {
        (rows * self.0 / Self::WHOLE.0).max(usize::from(self.0 > 0))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 as f64 * 100.0 / Self::WHOLE.0 as f64)
    }
}

/// A column to filter by, and the share of the rows that match.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyColumn {
    pub(crate) key: &'static Key,
    pub(crate) arrangement: Arrangement,
    pub(crate) share: Share,
}

impl KeyColumn {
    pub(crate) fn name(&self) -> String {
        let (key, arrangement, share) = (self.key.name, self.arrangement, self.share.0);
        format!("{key}_{arrangement}_{share}")
    }

    /// Returns the path of the values to test.
    pub(crate) fn path(&self) -> String {
        match self.key.member {
            Some(member) => format!("{}.{member}", self.name()),
            None => self.name(),
        }
    }

    /// Returns for each row whether it matches.
    fn matches(&self, rows: usize) -> Vec<bool> {
        let matches = self.share.of(rows);
        match self.arrangement {
            Arrangement::Clustered | Arrangement::Constant => {
                let start = (rows - matches) / 3;
                let range = start..start + matches;
                (0..rows).map(|row| range.contains(&row)).collect()
            }
            Arrangement::Runs => self.scattered(rows, matches, 100),
            Arrangement::Random => self.scattered(rows, matches, 1),
        }
    }

    /// Scatters the rows that match, or the others if these are fewer, in runs of this length.
    fn scattered(&self, rows: usize, matches: usize, run: usize) -> Vec<bool> {
        let mut random = random(&self.name());
        let mut few = matches.min(rows - matches);
        let are_matches = few == matches;
        let mut bits = vec![!are_matches; rows];
        for start in (0..rows).step_by(run) {
            let (needed, left) = (few.div_ceil(run), (rows - start).div_ceil(run));
            if random.random_range(0..left) < needed {
                let end = rows.min(start + run.min(few));
                bits[start..end].fill(are_matches);
                few -= end - start;
            }
        }
        bits
    }
}

/// Returns the values of the given rows; the number of columns of this type before makes a difference.
type Values = fn(usize, Range<usize>, &mut SmallRng) -> ArrayRef;

/// The types of the columns to return.
const OUTPUTS: [(&str, Values); 7] = [
    ("count", |before, rows, random| {
        let most = [1_000_000, 100_000, 10_000, 1000, 100][before % 5];
        let values = rows.map(|_| random.random_range(0..most));
        Arc::new(Int64Array::from_iter_values(values))
    }),
    ("city", |_, rows, random| {
        let values = rows.map(|_| random_word(random));
        Arc::new(StringViewArray::from_iter_values(values))
    }),
    ("price", |_, rows, random| {
        let values = rows.map(|_| f64::from(random.random_range(0..1_000_000)) / 100.0);
        Arc::new(Float64Array::from_iter_values(values))
    }),
    ("url", |_, rows, random| {
        let values = rows.map(|_| address("https", random));
        Arc::new(StringArray::from_iter_values(values))
    }),
    ("time", |_, rows, random| {
        let second = |row| i64::try_from(row).expect("few rows") * 1_000_000;
        let values = rows.map(|row| second(row) + random.random_range(0..5_000_000));
        Arc::new(TimestampMicrosecondArray::from_iter_values(values))
    }),
    ("age", |_, rows, random| {
        let values =
            rows.map(|_| (!random.random_ratio(1, 10)).then(|| random.random_range(0..100)));
        Arc::new(values.collect::<Int64Array>())
    }),
    ("flag", |_, rows, random| {
        let values: Vec<bool> = rows.map(|_| random.random_ratio(1, 3)).collect();
        Arc::new(BooleanArray::from(values))
    }),
];

/// Returns the name of a column to return.
pub(crate) fn output_name(ordinal: usize) -> String {
    format!("{}_{ordinal}", OUTPUTS[ordinal % OUTPUTS.len()].0)
}

/// Rows that are generated at a time.
const BATCH: usize = 1 << 16;

/// Writes the table with the given columns to filter by and number of columns to return.
pub(crate) fn shard(profile: Profile, rows: usize, keys: &[KeyColumn], outputs: usize) -> Shard {
    let keys: Vec<(KeyColumn, Vec<bool>)> =
        keys.iter().map(|key| (*key, key.matches(rows))).collect();
    let batch = |rows: Range<usize>| {
        let random_of = |name: &str| random(&format!("{name} {}", rows.start));
        let output = |ordinal: usize| {
            let (name, values) = (output_name(ordinal), OUTPUTS[ordinal % OUTPUTS.len()].1);
            let values = values(ordinal / OUTPUTS.len(), rows.clone(), &mut random_of(&name));
            (name, values)
        };
        let key = |(key, matches): &(KeyColumn, Vec<bool>)| {
            let (name, values) = (key.name(), key.key.values);
            let values = values(&matches[rows.clone()], &mut random_of(&name));
            (name, values)
        };
        let columns = (0..outputs).map(output).chain(keys.iter().map(key));
        let (fields, arrays): (Vec<_>, Vec<_>) = columns
            .map(|(name, values)| (Field::new(name, values.data_type().clone(), true), values))
            .unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a batch")
    };
    // Stripes have as many rows as if the table had few columns.
    let options = WriterOptions::default()
        .with_profile(profile)
        .with_stripe_bytes(1 << 40)
        .with_memory_limit(1 << 40)
        .with_threads(2);
    let (mut file, schema) = (Vec::new(), batch(0..1).schema());
    let mut writer = ShardWriter::try_new(&mut file, schema, options).expect("a schema");
    for start in (0..rows).step_by(BATCH) {
        let end = rows.min(start + BATCH);
        writer.write(&batch(start..end)).expect("a batch");
    }
    writer.finish().expect("a shard");
    Shard::from_bytes(file.into()).expect("a shard")
}

/// Returns random numbers that are the same in every run.
fn random(seed: &str) -> SmallRng {
    SmallRng::seed_from_u64(xxh3_64(seed.as_bytes()))
}
