//! [Lance](https://lance.org) files and datasets as Arrow batches, and their conversion to and from Amudai shards.
//!
//! [`LanceReader`] reads a file or a dataset, [`LanceWriter`] writes a file, and [`convert`] converts whole files
//! between Lance and shards. The program `arrow-shard-lance` is [`convert`] for the command line.
//!
//! The Lance crates use another version of Arrow than `arrow-shard`. Batches are exchanged through the Arrow C Data
//! Interface, without a copy; only batches and schemas of [`arrow_shard::arrow_array`] appear in the API of this crate.
//!
//! All calls block. They may be made from asynchronous code, where they block the thread like any other I/O.

mod convert;
mod engine;
mod failure;
mod ffi;
mod reader;
mod version;
mod writer;

pub use convert::{ConvertOptions, convert};
pub use reader::{LanceReadOptions, LanceReader};
pub use version::LanceVersion;
pub use writer::{LanceWriteOptions, LanceWriter};

/// Compiles the example of the README as it is shown.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
