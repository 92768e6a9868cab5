//! Shards over Parquet files.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "../support/allocations.rs"]
mod allocations;
#[cfg(feature = "experimental")]
mod both_encodings;
#[cfg(feature = "experimental")]
#[path = "../support/covered.rs"]
mod covered;
mod crafted_pages;
#[cfg(feature = "experimental")]
#[path = "../support/descriptors.rs"]
mod descriptors;
mod dictionary_pages;
mod files;
#[cfg(feature = "experimental")]
mod hostile;
mod inspected;
mod page_checksums;
mod random_files;
#[cfg(feature = "object_store")]
mod stores;
mod undeclared_text;
mod unusual_files;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
