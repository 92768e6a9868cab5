//! Tests of stored values: layouts, shards of earlier versions, and shards of the reference implementation.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "experimental")]
#[path = "../support/descriptors.rs"]
mod descriptors;
#[path = "../support/logged.rs"]
mod logged;
#[path = "../support/mod.rs"]
mod support;

mod blobs;
#[cfg(feature = "experimental")]
mod compressors;
#[cfg(feature = "experimental")]
mod delimited;
mod golden;
#[cfg(feature = "experimental")]
mod golden_layouts;
mod packed_columns;
#[cfg(feature = "experimental")]
mod packed_groups;
#[cfg(feature = "experimental")]
mod separate_buffers;
#[cfg(feature = "experimental")]
mod several_encodings;
