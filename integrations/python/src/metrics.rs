//! The Python class of the metrics of a scan.

use arrow_shard::read::ScanMetrics;
use pyo3::prelude::*;

/// Counters of a scan with a filter: what it has read, tested and skipped so far.
///
/// >>> scan = sh.open(path).scan(filter=sh.col("id") == 2)
/// >>> _ = pa.table(scan)
/// >>> print(scan.metrics())  # doctest: +ELLIPSIS
/// 2 rows in 1 stripes
///   skipped by statistics ...
#[pyclass(module = "arrow_shard", name = "ScanMetrics", frozen)]
#[derive(Debug)]
pub(crate) struct Metrics(pub(crate) ScanMetrics);

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $($path:ident).+;)*) => {
        #[pymethods]
        impl Metrics {
            $($(#[$doc])* #[getter] fn $name(&self) -> u64 { self.0.$($path).+ })*

            fn __str__(&self) -> String {
                self.0.to_string()
            }

            fn __repr__(&self) -> String {
                let counters = [$((stringify!($name), self.0.$($path).+)),*];
                let shown: Vec<String> = counters
                    .iter()
                    .filter(|(_, count)| *count > 0)
                    .map(|(name, count)| format!("{name}={count}"))
                    .collect();
                format!("<ScanMetrics {}>", shown.join(" "))
            }
        }
    };
}

counters! {
    /// Rows that the scan has passed.
    rows: rows;
    /// Stripes that the scan has passed.
    stripes: stripes;
    /// Rows that null counts, constants and bounds ruled out.
    skipped_by_statistics: skipped_by_statistics.rows;
    /// Stripes that null counts, constants and bounds ruled out as a whole.
    stripes_skipped_by_statistics: skipped_by_statistics.stripes;
    /// Rows that Bloom filters ruled out.
    skipped_by_bloom_filters: skipped_by_bloom_filters.rows;
    /// Rows that range indexes ruled out.
    skipped_by_range_indexes: skipped_by_range_indexes.rows;
    /// Rows that the entries of dictionaries ruled out.
    skipped_by_dictionaries: skipped_by_dictionaries.rows;
    /// Rows of stripes in which every row matches according to statistics.
    rows_known_to_match: rows_known_to_match;
    /// Values of the filter's columns that were tested; a run of equal ones counts once.
    values_tested: values_tested;
    /// Rows that match.
    rows_matched: rows_matched;
    /// Rows for which columns beyond the filter's were read.
    rows_read: rows_read;
}
