//! Tests of shards in stores, and of asynchronous reading and writing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

#[cfg(feature = "object_store")]
#[path = "../support/azurite.rs"]
mod azurite;
#[path = "../common/mod.rs"]
mod common;
#[path = "../support/later.rs"]
mod later;
#[cfg(feature = "object_store")]
#[path = "../support/moto.rs"]
mod moto;
#[cfg(feature = "object_store")]
#[path = "../support/process.rs"]
mod process;
#[path = "../support/predicates.rs"]
mod random_predicates;
#[cfg(feature = "object_store")]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(feature = "object_store")]
#[path = "../support/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "object_store")]
#[path = "../support/watched.rs"]
mod watched;

mod async_report;
#[cfg(all(feature = "object_store", feature = "parquet"))]
mod attached;
mod blobs;
#[cfg(feature = "object_store")]
mod cloud_stores;
#[cfg(all(feature = "experimental", feature = "object_store"))]
mod conformance;
#[cfg(feature = "object_store")]
mod every_store;
#[cfg(feature = "object_store")]
mod few_rows;
#[cfg(feature = "object_store")]
mod http;
#[cfg(feature = "object_store")]
mod objects;
mod streams;
#[cfg(feature = "object_store")]
mod uploads;
