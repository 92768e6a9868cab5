//! Scans with a predicate or a selection of rows: from what is known of the shard to single rows.
//!
//! Statistics of the shard rule out all of it; those of a stripe, its membership filters and its
//! dictionaries the stripe, and its range indexes some of its rows, before any value is read. The
//! columns of the predicate are then read one after the other, each where the ones before leave a
//! row, and the other columns where the predicate does. Values that are stored as runs of equal
//! ones are tested run by run.

mod alike;
mod candidates;
mod dynamic;
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

pub use dynamic::DynamicPredicate;
pub use metrics::{ScanMetrics, Skipped};

pub(super) use dynamic::Conditions;
pub(super) use metrics::Counters;
pub(super) use plan::Filter;
pub(super) use range_index::Bounds;
pub(super) use reader::FilteredReader;
pub(super) use statistics::{absent, facts};
