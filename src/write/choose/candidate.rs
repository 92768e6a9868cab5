//! The candidate encodings of a field and their estimated costs.

use super::Weighed;
use std::fmt::Display;

/// One way to store the values of a field, with the writer's estimates.
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
    /// Returns the tree of encodings, or the value dictionary with its number of entries.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the estimated bytes per value.
    pub fn bytes_per_value(&self) -> f64 {
        self.bytes
    }

    /// Returns the estimated nanoseconds to decode a value.
    pub fn decode_nanoseconds(&self) -> f64 {
        self.nanoseconds
    }

    /// Returns the bytes per value, plus the decoding time converted to bytes at the rate of the profile; infinite if
    /// the encoding is too slow for the profile.
    pub fn cost(&self) -> f64 {
        self.cost
    }
}

/// The candidate encodings of a leaf field, or of the offsets of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldCandidates {
    path: String,
    candidates: Vec<Candidate>,
}

impl FieldCandidates {
    pub(in crate::write) fn new(path: String, mut candidates: Vec<Candidate>) -> Self {
        candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Self { path, candidates }
    }

    /// Returns the names from the column down to the field, joined by dots.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the candidates, cheapest first. For these rows alone, a writer would use the first. It chooses again for
    /// each window of up to 65,536 rows, and uses a value dictionary only if it pays over several windows.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }
}
