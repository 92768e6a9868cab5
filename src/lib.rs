//! Arrow-native columnar files in the Amudai shard format.

#[cfg(target_endian = "big")]
compile_error!(
    "arrow-shard writes Arrow's little-endian buffers as they are: big-endian hosts are not supported"
);

pub mod buffer;
pub mod column;
pub mod encoding;
pub mod error;
pub mod format;
pub mod io;
pub(crate) mod kernels;
pub mod limits;
pub mod read;
mod settings;
mod sorting;
pub(crate) mod stats;
pub mod write;

pub use error::{Error, ErrorKind, Result};
pub use limits::Limits;
pub use read::{Projection, Shard, ShardOptions};
pub use write::{ShardWriter, WriterOptions};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
