//! Scans with a predicate or a selection of rows.
//!
//! Statistics of the shard may rule out all rows. Statistics, Bloom filters and dictionaries of a stripe may rule out
//! the stripe, and range indexes some of its rows, before any value is read. Then the columns of the predicate are read
//! one after the other, each only where the previous ones leave a row, and the other columns only where the predicate
//! matches. Runs of equal values are tested run by run, and dictionaries of Parquet files entry by entry.

mod candidates;
mod conjunct_test;
mod dynamic;
mod entry_test;
mod metrics;
mod output;
mod plan;
pub(in crate::read) mod predicate;
mod probe;
pub(in crate::read) mod prune;
mod range_index;
mod reader;
mod runs;
mod statistics;
mod stripe_plan;
mod uniform_columns;

pub use dynamic::DynamicPredicate;
pub use metrics::{ScanMetrics, Skipped};

pub(super) use dynamic::Conditions;
pub(super) use metrics::Counters;
pub(super) use plan::Filter;
pub(super) use range_index::Bounds;
pub(super) use reader::FilteredReader;
pub(super) use statistics::{FactsScope, absent, facts};
