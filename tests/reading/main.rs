//! Tests of readers: all types, filters, threads, and errors.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

#[cfg(feature = "experimental")]
#[path = "../support/cases.rs"]
mod cases;
#[cfg(unix)]
#[path = "../support/child.rs"]
mod child;
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "experimental")]
#[path = "../support/crafted.rs"]
mod crafted;
#[path = "../support/logged.rs"]
mod logged;
#[cfg(feature = "experimental")]
#[path = "../support/predicates.rs"]
mod random_predicates;
#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "experimental")]
mod byte_ranges;
mod decimals;
#[cfg(feature = "experimental")]
mod dictionaries;
mod dynamic_filters;
#[cfg(feature = "experimental")]
mod errors;
mod fetching;
mod filter_schemas;
#[cfg(feature = "experimental")]
mod filters;
mod generator;
#[cfg(feature = "experimental")]
mod golden_statistics;
mod limits;
#[cfg(feature = "experimental")]
mod native_types;
mod predicate_edges;
mod predicates;
mod real_data;
mod requested_types;
mod sort_orders;
#[cfg(feature = "experimental")]
mod statistics;
mod surface;
#[cfg(feature = "experimental")]
mod threads;
mod two_level;
#[cfg(feature = "experimental")]
mod widened_forms;
mod widened_pairs;
mod widened_tables;
mod zero_copy;
