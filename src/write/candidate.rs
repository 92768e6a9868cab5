//! The ways to store the values of a field that were weighed.

use super::choose::Weighed;
use std::fmt::Display;

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
