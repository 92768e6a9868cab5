//! Counters of a scan with a predicate.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Work that a scan has done and skipped so far; shows why a scan is fast or slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScanMetrics {
    /// Rows of the shard, or of the range of rows, that the scan has passed.
    pub rows: u64,
    /// Stripes that the scan has passed.
    pub stripes: u64,
    /// Rows ruled out by null counts, constants and bounds.
    pub skipped_by_statistics: Skipped,
    /// Rows ruled out by Bloom filters.
    pub skipped_by_bloom_filters: Skipped,
    /// Rows ruled out by range indexes: whole stripes, and some rows of others.
    pub skipped_by_range_indexes: Skipped,
    /// Rows ruled out by the entries of value dictionaries.
    pub skipped_by_dictionaries: Skipped,
    /// Rows of stripes in which every row matches according to their metadata: statistics or dictionaries.
    pub rows_known_to_match: u64,
    /// Values of the predicate's columns that were tested, not counting dictionary entries. A run of
    /// equal values counts once.
    pub values_tested: u64,
    /// Rows that match.
    pub rows_matched: u64,
    /// Rows for which the other columns were read: the matching rows, and their neighbors where most rows match.
    pub rows_read: u64,
}

/// Rows that a scan could skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Skipped {
    /// Number of rows.
    pub rows: u64,
    /// Stripes that were skipped as a whole.
    pub stripes: u64,
}

impl fmt::Display for ScanMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} rows in {} stripes", self.rows, self.stripes)?;
        for (level, skipped) in [
            ("statistics", self.skipped_by_statistics),
            ("Bloom filters", self.skipped_by_bloom_filters),
            ("range indexes", self.skipped_by_range_indexes),
            ("dictionaries", self.skipped_by_dictionaries),
        ] {
            writeln!(
                f,
                "  skipped by {level:<20} {:>14} rows, {} whole stripes",
                skipped.rows, skipped.stripes
            )?;
        }
        for (what, count, unit) in [
            ("known to match", self.rows_known_to_match, "rows"),
            ("tested", self.values_tested, "values"),
            ("matched", self.rows_matched, "rows"),
        ] {
            writeln!(f, "  {what:<31} {count:>14} {unit}")?;
        }
        write!(f, "  {:<31} {:>14} rows", "read", self.rows_read)
    }
}

/// The level of metadata that rules out a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PruningLevel {
    Statistics,
    MembershipFilters,
    RangeIndexes,
    Dictionaries,
}

#[derive(Debug, Default)]
pub(super) struct SkipCounters {
    pub(super) rows: AtomicU64,
    pub(super) stripes: AtomicU64,
}

/// The counters for [`ScanMetrics`], shared by the threads of a scan.
#[derive(Debug, Default)]
pub(in crate::read) struct Counters {
    pub(super) rows: AtomicU64,
    pub(super) stripes: AtomicU64,
    /// Ordinals of the stripes that have been counted, because a stripe may be planned more than once.
    counted: Mutex<HashSet<u64>>,
    pub(super) rows_known_to_match: AtomicU64,
    pub(super) values_tested: AtomicU64,
    pub(super) rows_matched: AtomicU64,
    pub(super) rows_read: AtomicU64,
    skipped: [SkipCounters; 4],
}

/// Adds to a counter.
pub(super) fn count(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// Subtracts from a counter.
pub(super) fn discount(counter: &AtomicU64, n: u64) {
    counter.fetch_sub(n, Ordering::Relaxed);
}

impl Counters {
    /// Counts a stripe, and its skip as a whole, unless the stripe has been counted before.
    pub(super) fn count_stripe(&self, ordinal: u64, skipped: Option<PruningLevel>) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.insert(ordinal) {
            count(&self.stripes, 1);
            if let Some(level) = skipped {
                count(&self.skipped_by(level).stripes, 1);
            }
        }
    }

    /// Returns the counters of one level.
    pub(super) fn skipped_by(&self, level: PruningLevel) -> &SkipCounters {
        let [statistics, filters, indexes, dictionaries] = &self.skipped;
        match level {
            PruningLevel::Statistics => statistics,
            PruningLevel::MembershipFilters => filters,
            PruningLevel::RangeIndexes => indexes,
            PruningLevel::Dictionaries => dictionaries,
        }
    }

    pub(in crate::read) fn metrics(&self) -> ScanMetrics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let skipped = |level| {
            let counters = self.skipped_by(level);
            Skipped {
                rows: get(&counters.rows),
                stripes: get(&counters.stripes),
            }
        };
        ScanMetrics {
            rows: get(&self.rows),
            stripes: get(&self.stripes),
            skipped_by_statistics: skipped(PruningLevel::Statistics),
            skipped_by_bloom_filters: skipped(PruningLevel::MembershipFilters),
            skipped_by_range_indexes: skipped(PruningLevel::RangeIndexes),
            skipped_by_dictionaries: skipped(PruningLevel::Dictionaries),
            rows_known_to_match: get(&self.rows_known_to_match),
            values_tested: get(&self.values_tested),
            rows_matched: get(&self.rows_matched),
            rows_read: get(&self.rows_read),
        }
    }
}
