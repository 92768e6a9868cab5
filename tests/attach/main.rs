//! Shards over Parquet files.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "../support/allocations.rs"]
mod allocations;
mod checksums;
mod contradictions;
#[cfg(feature = "experimental")]
#[path = "../support/covered.rs"]
mod covered;
mod crafted_pages;
#[cfg(feature = "experimental")]
#[path = "../support/descriptors.rs"]
mod descriptors;
mod files;
mod files_elsewhere;
#[cfg(feature = "experimental")]
mod footers;
#[cfg(feature = "experimental")]
mod hostile;
mod inspected;
mod missing_files;
mod page_checksums;
mod random_files;
#[cfg(feature = "object_store")]
mod stores;
mod unusual_files;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
