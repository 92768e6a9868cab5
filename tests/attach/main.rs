//! Shards over Parquet files.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod files;
mod inspected;
mod random_files;
#[cfg(feature = "object_store")]
mod stores;
