//! Reading and writing the bytes of shards.
//!
//! Readers use a [`ReadAt`] for ranges of a file, and a [`Container`] for the other files of a shard. Writers append to
//! a [`Sink`], and use a [`SinkFactory`] to create stripe files. All four traits are implemented for local files and
//! for memory; implement them for other stores. Their asynchronous counterparts are [`AsyncReadAt`],
//! [`AsyncContainer`], [`AsyncSink`] and [`AsyncSinkFactory`]: object stores implement these, local files and memory
//! the blocking ones. A [`Store`] is where shards are, for the operations of [`ops`](crate::ops): local files, an
//! object store, or memory.

mod async_read_at;
mod async_sink;
#[cfg(feature = "experimental")]
pub mod conformance;
#[cfg(not(target_family = "wasm"))]
mod descriptors;
mod external_files;
mod file_count;
mod folder;
#[cfg(not(target_family = "wasm"))]
mod local_file;
#[cfg(not(target_family = "wasm"))]
mod local_folder;
#[cfg(not(target_family = "wasm"))]
mod local_sink;
#[cfg(not(target_family = "wasm"))]
mod local_target;
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
mod mapped_file;
#[cfg(feature = "object_store")]
mod multipart;
mod names;
#[cfg(feature = "object_store")]
mod object_folder;
#[cfg(feature = "object_store")]
mod object_reader;
#[cfg(feature = "object_store")]
mod object_sink;
mod place;
#[cfg(not(target_family = "wasm"))]
mod pooled_file;
mod range;
mod read_at;
#[cfg(not(target_family = "wasm"))]
mod recycled_memory;
mod sink;
mod store;
#[cfg(not(target_family = "wasm"))]
mod temporary_files;
#[cfg(test)]
mod tests;
#[cfg(not(target_family = "wasm"))]
mod uncommitted_files;
mod url;

pub use async_read_at::{AsyncContainer, AsyncReadAt, BoxFuture};
pub(crate) use async_read_at::{InMemory, read_all_async, read_tail_async};
pub use async_sink::{AsyncSink, AsyncSinkFactory};
pub use external_files::ExternalFiles;
pub(crate) use external_files::with_advice;
pub use file_count::FileCount;
pub use folder::{Container, MemoryFolder, NoContainer, SinkFactory};
#[cfg(not(target_family = "wasm"))]
pub use local_file::LocalFile;
#[cfg(not(target_family = "wasm"))]
pub use local_folder::LocalFolder;
#[cfg(not(target_family = "wasm"))]
pub use local_sink::LocalSink;
#[cfg(not(target_family = "wasm"))]
pub use local_target::LocalTarget;
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
pub use mapped_file::{MappedFile, MappedFolder};
pub use names::{STRIPE_FILE_SUFFIX, random_stripe_file_name};
pub(crate) use names::{check_output_name, is_own_stripe_file};
#[cfg(feature = "object_store")]
pub use object_folder::ObjectFolder;
#[cfg(feature = "object_store")]
pub use object_reader::ObjectReader;
#[cfg(feature = "object_store")]
pub use object_sink::ObjectSink;
pub use place::SHARD_FILE_SUFFIX;
pub(crate) use place::{FileRole, Place};
#[cfg(not(target_family = "wasm"))]
pub use pooled_file::PooledFile;
pub use range::ByteRange;
pub use read_at::ReadAt;
pub(crate) use read_at::{read_all, read_one};
pub(crate) use sink::ExistingFile;
pub use sink::{Sink, WriteSink};
#[cfg(all(feature = "object_store", not(target_family = "wasm")))]
pub use store::UrlStores;
pub(crate) use store::{
    DescriptorUse, FileContainer, FileToKeep, Home, ListedFile, NewFiles, NotWritten, OpenedFile,
    SecondNames, ShardSinks, Sinks, VersionedFile,
};
pub use store::{Location, Store};
#[cfg(not(target_family = "wasm"))]
pub(crate) use uncommitted_files::commit_together;
#[cfg(not(target_family = "wasm"))]
pub use uncommitted_files::{Discarded, discard_uncommitted};
pub(crate) use url::{Reference, is_absolute, resolve};
pub use url::{RelativeUrl, is_url};
