//! Columnar files for [Apache Arrow](https://arrow.apache.org/): RecordBatches are written to *shards* and read back
//! unchanged, types and metadata included.
//!
//! A shard is a file in the Amudai shard format. Rows are divided into stripes, each column of a stripe into buffers,
//! and each buffer into blocks, and every block is encoded independently. A reader can therefore fetch just the columns
//! and rows that it needs.
//!
//! ```text
//! one file                                 or a directory file, and a file per stripe
//! ┌──────────────────────────────┐         ┌────────────────────────┐   ┌────────────────────┐
//! │ header                       │         │ header                 │   │ header             │
//! ├──────────────────────────────┤         │ metadata               │   │ buffers            │
//! │ stripe 0                     │         │ directory              ├──►│ footer             │
//! │   column a   DATA      ▒▒▒▒  │         │ footer                 │   └────────────────────┘
//! │              PRESENCE  ▒     │         └───────────┬────────────┘   ┌────────────────────┐
//! │   column b   DATA      ▒▒▒▒▒ │                     └───────────────►│ header             │
//! │              ...             │                                      │ buffers            │
//! │ stripe 1 ...                 │         ▒ a block: presence, values, │ footer             │
//! ├──────────────────────────────┤           checksum                   └────────────────────┘
//! │ metadata: stripes, fields,   │
//! │ statistics, schema           │
//! │ directory                    │         Opening reads the tail of the directory file.
//! │ footer                       │         Everything else is read when it is needed.
//! └──────────────────────────────┘
//! ```
//!
//! # Write
//!
//! A [`ShardWriter`] takes batches of one schema. The complete file appears when [`finish`](ShardWriter::finish)
//! returns; after an error, no file appears. [`WriterOptions`] choose the [`Profile`](write::Profile), which trades
//! size for speed, the [`Layout`](write::Layout), the number of threads, and more.
//!
//! ```
//! use arrow_shard::arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
//! use arrow_shard::ShardWriter;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("cities.amudai.shard");
//! let batch = RecordBatch::try_from_iter([
//!     ("id", Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef),
//!     ("name", Arc::new(StringArray::from(vec!["Oslo", "Lima", "Linz"]))),
//! ])?;
//! let mut writer = ShardWriter::create(&path, batch.schema())?;
//! writer.write(&batch)?;
//! let summary = writer.finish()?;
//! assert_eq!(summary.num_rows(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! # Scan, filter, take
//!
//! [`Shard::open`] reads the tail of the file. [`Shard::scan`] returns batches of the requested columns and rows, in
//! order, and [`Shard::take`] returns rows by number. Before a filter reads values, it skips the rows that statistics,
//! Bloom filters and range indexes rule out.
//!
//! ```
//! # use arrow_shard::arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
//! # use arrow_shard::ShardWriter;
//! # use std::sync::Arc;
//! use arrow_shard::Shard;
//! use arrow_shard::read::col;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("cities.amudai.shard");
//! # let batch = RecordBatch::try_from_iter([
//! #     ("id", Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef),
//! #     ("name", Arc::new(StringArray::from(vec!["Oslo", "Lima", "Linz"]))),
//! # ])?;
//! # let mut writer = ShardWriter::create(&path, batch.schema())?;
//! # writer.write(&batch)?;
//! # writer.finish()?;
//! let shard = Shard::open(&path)?;
//! for batch in shard.scan().with_projection(["name"]).build()? {
//!     println!("{} names", batch?.num_rows());
//! }
//!
//! let cities = col("name").starts_with("Li").and(col("id").gt(2));
//! let mut scan = shard.scan().with_filter(cities).build()?;
//! assert_eq!(scan.next().unwrap()?.num_rows(), 1);
//!
//! let rows = shard.take(&[2, 0], ["id", "name"])?;
//! assert_eq!(rows.num_rows(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! [`Shard::statistics`] provides planners with null counts, bounds and distinct counts without reading data.
//! [`Shard::inspect`] shows sizes and encodings ([`read::inspect`]), and [`Shard::verify`] checks every checksum, block
//! and column. A shard can also be in memory, in a memory map, or behind a [custom reader](io::ReadAt).
//!
//! # Parquet files
//!
//! With the feature `parquet`, `ops::attach` makes a shard over Parquet files: it reads their footers, and copies no
//! rows, except for columns of a few nested types. Scans, filters, edits and reports work on such a shard as on any
//! other. The page `docs/guide/parquet-lake.md` says when to attach files and when to convert them.
//!
//! # Errors
//!
//! An [`Error`] has a [`kind`](Error::kind) to match on, the file, stripe, field and block where it occurred, and a
//! message that says what was expected, and how to proceed.
//!
//! Iterators and streams of batches return `ArrowError`, like all readers of the Arrow crates. `Error::from` converts
//! it back to the original `Error`, with its kind and place:
//!
//! ```
//! # use arrow_shard::arrow_array::record_batch;
//! # use arrow_shard::ShardWriter;
//! use arrow_shard::arrow_schema::ArrowError;
//! use arrow_shard::read::Predicate;
//! use arrow_shard::{Error, ErrorKind, Shard};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("cities.amudai.shard");
//! # let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
//! # let mut writer = ShardWriter::create(&path, batch.schema())?;
//! # writer.write(&batch)?;
//! # writer.finish()?;
//! let shard = Shard::open(&path)?;
//! let fails = Predicate::from_fn(["id"], |_| Err(ArrowError::DivideByZero));
//! for batch in shard.scan().with_filter(fails).build()? {
//!     match batch.map_err(Error::from) {
//!         Ok(batch) => println!("{} rows", batch.num_rows()),
//!         Err(error) => assert_eq!(error.kind(), ErrorKind::External),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Conventions
//!
//! * What waits for files has two forms. Functions that read and change shards have a blocking form, for local files
//!   and memory, and an asynchronous one for any store, with a name that ends in `_async`. The twins of
//!   `ScanBuilder::build` and `Shard::from_reader` are `build_stream` and `from_async_reader`. Writers and blobs have
//!   types of their own: `AsyncShardWriter`, `AsyncBlob`. If a function that reads or changes shards has only one form,
//!   its page says why. On a shard of an asynchronous store, a blocking form is an error that names its twin.
//!   Asynchronous forms need no feature and no particular runtime.
//! * Options are passed by value, as the last argument. If there is also a form without options, the name of the form
//!   with options ends in `_with`: [`Shard::open`] and [`Shard::open_with`].
//! * The options of inspect, verify, merge, attach, delete, pack, compact and vacuum take a callback that follows their
//!   [`Progress`] and may stop them.
//!
//! # Guarantees
//!
//! * A read returns the data that were written, or an error. A flipped byte is an error, never another value: every
//!   block and every message of the metadata has a checksum. The pages of attached Parquet files are the exception:
//!   they have a checksum only if their writer added one.
//! * Reading never panics or hangs, for any input. Its memory is bounded by the [`Limits`], or by a fixed multiple of
//!   the bytes of the input.
//! * Only `finish` makes a file valid. A file is written under a temporary name in its folder, synced, and renamed.
//! * Statistics, filters and indexes change the speed of a scan, but never its rows.
//! * A reader opens no file outside of the shard's folder, except for Parquet files in folders that the caller allows.
//!
//! # Features
//!
//! | feature | by default | |
//! |-|-|-|
//! | `zstd` | yes | Zstandard blocks, through the C library |
//! | `mmap` | yes | `Shard::open_mmap`: shards through a memory map |
//! | `threads` | yes | scans and writers that use several threads, through rayon: scans in its global pool, each writer in one of its own |
//! | `decimal` | yes | decimals in the native form of Amudai, through the C library decNumber |
//! | `object_store` | no | shards in S3, Azure, Google Cloud Storage and HTTP, through the crate `object_store` |
//! | `parquet` | no | shards over Parquet files: `ops::attach`, and reading the values in them, through the crate `parquet` |
//! | `cli` | no | the command line `arrow-shard` |
//! | `cloud` | no | the command line with URLs: S3, Azure, Google Cloud Storage, HTTP |
//! | `experimental` | no | the internal layers (`buffer`, `column`, `encoding`, `format`) and functions that show them, outside of semantic versioning |
//!
//! Without the C libraries, the crate builds for `wasm32-unknown-unknown`. Public signatures use the types of Arrow 59.
//! Its crates are re-exported: [`arrow_array`], [`arrow_buffer`] and [`arrow_schema`]. With the feature `object_store`,
//! `object_store` 0.13 is re-exported as well. Use the re-exports, or the same versions: types of another version of
//! these crates are not compatible. The crate needs Rust 1.91 or later.
//!
//! # The format
//!
//! `docs/format.md`, a file of this package, describes every byte, so that a reader can be written from that page
//! alone. [`Wire`](metadata::Wire) selects how the metadata are written: `Spec` follows the specification to the
//! letter, and `Reference` is understood by microsoft/amudai, the reference implementation.

#![cfg_attr(
    not(feature = "experimental"),
    allow(
        unreachable_pub,
        reason = "modules are reachable with the feature, and the lint holds there"
    )
)]

#[cfg(target_endian = "big")]
compile_error!(
    "arrow-shard writes Arrow's little-endian buffers as they are: big-endian hosts are not supported"
);

mod arrow;
// The modules below are not part of the stable API. The feature makes them public for tools, benches and tests.
#[cfg(not(feature = "experimental"))]
mod buffer;
#[cfg(feature = "experimental")]
pub mod buffer;
#[cfg(not(feature = "experimental"))]
mod column;
#[cfg(feature = "experimental")]
pub mod column;
#[cfg(not(feature = "experimental"))]
mod encoding;
#[cfg(feature = "experimental")]
pub mod encoding;
pub mod error;
mod external;
#[cfg(not(feature = "experimental"))]
mod format;
#[cfg(feature = "experimental")]
pub mod format;
pub mod interop;
pub mod io;
pub(crate) mod kernels;
pub mod limits;
pub mod metadata;
pub mod ops;
mod progress;
pub mod read;
mod settings;
mod sorting;
pub(crate) mod stats;
pub mod write;

pub use arrow_array;
pub use arrow_buffer;
pub use arrow_schema;
pub use bytes;
#[cfg(feature = "object_store")]
pub use object_store;

pub use error::{Error, ErrorKind, Result};
pub use limits::Limits;
pub use progress::Progress;
pub use read::{Projection, Shard, ShardOptions};
pub use write::{ShardWriter, WriterOptions};

/// Compiles the examples of the README as they are shown.
#[cfg(all(doctest, feature = "object_store"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the guide, likewise.
#[cfg(all(doctest, feature = "object_store"))]
#[doc = include_str!("../docs/guide/reading.md")]
#[doc = include_str!("../docs/guide/object-stores.md")]
#[doc = include_str!("../docs/guide/life.md")]
#[doc = include_str!("../docs/guide/cookbook.md")]
#[doc = include_str!("../docs/guide/writing.md")]
#[doc = include_str!("../docs/guide/profiles.md")]
#[doc = include_str!("../docs/guide/types.md")]
#[doc = include_str!("../docs/guide/from-parquet.md")]
struct Guide;

/// The page of the guide that needs the feature `parquet`.
#[cfg(all(doctest, feature = "parquet"))]
#[doc = include_str!("../docs/guide/parquet-lake.md")]
struct ParquetGuide;
