//! What the writer weighs when it chooses encodings, for people to look at.

use super::choose::Weighed;
use super::options::{Layout, WriterOptions};
use super::shard::ShardWriter;
use crate::error::Result;
use arrow_array::RecordBatch;
use std::fmt::Display;

/// Rows that are looked at: no more than a window, which is when encodings are chosen.
const ROWS: usize = 16_384;
/// Bytes of a column that are looked at.
const BYTES: usize = 2 << 20;

/// One way to store the values of a field, with what the writer expects of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    name: String,
    bytes: f64,
    nanoseconds: f64,
    cost: f64,
}

impl<P: Display> From<Weighed<P>> for Candidate {
    fn from(weighed: Weighed<P>) -> Self {
        Self {
            name: weighed.plan.to_string(),
            bytes: weighed.bytes,
            nanoseconds: weighed.nanoseconds,
            cost: weighed.cost,
        }
    }
}

impl Candidate {
    /// The tree of encodings, or the value dictionary with its number of entries.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes per value that the writer expects.
    pub fn bytes_per_value(&self) -> f64 {
        self.bytes
    }

    /// Nanoseconds to decode a value that the writer expects.
    pub fn decode_nanoseconds(&self) -> f64 {
        self.nanoseconds
    }

    /// Bytes per value, plus the decoding time in bytes at the exchange rate of the profile; infinite
    /// if the profile rules out an encoding so slow.
    pub fn cost(&self) -> f64 {
        self.cost
    }
}

/// How the values of a leaf field might be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldCandidates {
    path: String,
    candidates: Vec<Candidate>,
}

impl FieldCandidates {
    pub(super) fn new(path: String, mut candidates: Vec<Candidate>) -> Self {
        candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Self { path, candidates }
    }

    /// Names from the column down to the field, joined by dots.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The candidates, cheapest first. The writer takes the first. It judges dictionaries differently:
    /// by all values of 65,536 rows, and by whether they still pay over several times as many.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }
}

/// The encodings that a writer with these options weighs for the first rows of a batch, 16,384 at
/// most: for every leaf field and the offsets of every list, in the order of the schema. Fields
/// without a choice, such as Booleans and Arrow dictionaries, are left out.
///
/// # Errors
/// Those of [`ShardWriter::try_new`] and [`ShardWriter::write`].
pub fn explain(batch: &RecordBatch, options: &WriterOptions) -> Result<Vec<FieldCandidates>> {
    let largest = batch.columns().iter().map(|c| c.get_array_memory_size());
    let per_row = largest.max().unwrap_or(0) / batch.num_rows().max(1);
    let rows = ROWS
        .min(batch.num_rows())
        .min(BYTES / per_row.max(1))
        .max(1);
    let options = options
        .clone()
        .with_layout(Layout::SingleFile)
        .with_threads(1)
        .with_stripe_rows(u64::MAX)
        .with_stripe_bytes(u64::MAX)
        .with_memory_limit(u64::MAX);
    let mut writer = ShardWriter::try_new(Vec::new(), batch.schema(), options)?;
    writer.write(&batch.slice(0, rows.min(batch.num_rows())))?;
    writer.into_candidates()
}
