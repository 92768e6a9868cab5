//! The code of the fuzz targets, one module for each. A test of the library, `tests/fuzz_corpus.rs`, runs the same
//! functions on the corpus, and creates the seeds with the builders here.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed check is a finding, and each user needs a part of this"
)]

pub mod block_maps;
pub mod bytes_blocks;
pub mod cole_files;
pub mod dictionaries;
pub mod mended_shards;
pub mod number_blocks;
pub mod parquet_chunks;
pub mod parquet_files;
pub mod ranges;
pub mod shards;

#[path = "../../tests/support/covered.rs"]
mod covered;

use arrow_shard::Limits;

/// A target: its name, which is also the name of its folder in the corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 9] = [
    ("number_blocks", number_blocks::run),
    ("bytes_blocks", bytes_blocks::run),
    ("block_maps", block_maps::run),
    ("dictionaries", dictionaries::run),
    ("shards", shards::run),
    ("mended_shards", mended_shards::run),
    ("cole_files", cole_files::run),
    ("parquet_chunks", parquet_chunks::run),
    ("parquet_files", parquet_files::run),
];

/// Returns limits that bound the time and memory of each case.
fn limits() -> Limits {
    Limits::default()
        .with_max_message_bytes(1 << 20)
        .with_max_schema_nodes(1000)
        .with_max_stripes(1000)
        .with_max_block_values(1 << 16)
        .with_max_block_bytes(1 << 22)
        .with_max_dictionary_bytes(1 << 22)
        .with_max_batch_bytes(1 << 24)
}
