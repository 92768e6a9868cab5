//! Changes of shards after they are written.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

#[cfg(unix)]
#[path = "../support/child.rs"]
mod child;
#[cfg(feature = "object_store")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "experimental")]
#[path = "../support/crafted.rs"]
mod crafted;
#[cfg(all(feature = "experimental", feature = "object_store"))]
#[path = "../support/descriptors.rs"]
mod descriptors;
#[cfg(feature = "object_store")]
#[path = "../support/moto.rs"]
mod moto;
#[path = "../support/numbers.rs"]
mod numbers;
#[cfg(feature = "object_store")]
#[path = "../support/process.rs"]
mod process;
#[cfg(feature = "object_store")]
#[path = "../support/rounds.rs"]
mod rounds;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "object_store")]
#[path = "../support/watched.rs"]
mod watched;
#[cfg(feature = "object_store")]
#[path = "../support/worlds.rs"]
mod worlds;

mod added_columns;
mod checked_edits;
mod damaged_folders;
#[cfg(feature = "object_store")]
mod histories;
mod internal_fields;
#[cfg(unix)]
mod many_files;
#[cfg(feature = "object_store")]
mod many_objects;
#[cfg(feature = "object_store")]
mod object_ops;
mod ops;
#[cfg(feature = "experimental")]
mod ops_edges;
mod overlaps;
mod packs;
mod properties;
mod two_wires;
mod vacuums;
mod wrong_files;
