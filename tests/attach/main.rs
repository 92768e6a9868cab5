//! Shards over Parquet files.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod alike_types;
#[path = "../support/allocations.rs"]
mod allocations;
mod bloom_filters;
#[cfg(feature = "experimental")]
mod both_encodings;
mod checksums;
mod contradictions;
#[cfg(feature = "experimental")]
#[path = "../support/covered.rs"]
mod covered;
mod crafted_pages;
#[cfg(feature = "experimental")]
#[path = "../support/descriptors.rs"]
mod descriptors;
mod dictionary_pages;
mod distinct_counts;
mod files;
mod files_elsewhere;
#[cfg(feature = "experimental")]
mod footers;
#[cfg(feature = "experimental")]
mod hostile;
mod inspected;
#[cfg(feature = "object_store")]
mod measured;
mod missing_files;
mod page_checksums;
mod page_indexes;
#[cfg(feature = "object_store")]
#[path = "../support/polls.rs"]
mod polls;
mod random_files;
mod scanned;
mod sort_order;
#[cfg(feature = "object_store")]
mod stores;
/// The helpers that `watched` needs.
#[cfg(feature = "object_store")]
mod support {
    pub(crate) use super::polls;
}
mod undeclared_text;
mod unusual_files;
#[cfg(feature = "object_store")]
#[path = "../support/watched.rs"]
mod watched;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
