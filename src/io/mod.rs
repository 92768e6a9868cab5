//! Bytes in and out: positioned reads, appending writes, and where artifacts may live.

mod folder;
#[cfg(not(target_family = "wasm"))]
mod local_file;
#[cfg(not(target_family = "wasm"))]
mod local_folder;
#[cfg(not(target_family = "wasm"))]
mod local_sink;
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
mod mapped_file;
mod range;
mod read_at;
mod sink;
#[cfg(test)]
mod tests;
mod url;

pub use folder::{Container, MemoryFolder, NoContainer, SinkFactory};
#[cfg(not(target_family = "wasm"))]
pub use local_file::LocalFile;
#[cfg(not(target_family = "wasm"))]
pub use local_folder::LocalFolder;
#[cfg(not(target_family = "wasm"))]
pub use local_sink::LocalSink;
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
pub use mapped_file::MappedFile;
pub use range::ByteRange;
pub use read_at::ReadAt;
pub(crate) use read_at::{read_all, read_one};
pub use sink::{Sink, WriteSink};
pub use url::{Reference, RelativeUrl, resolve, stripe_file_name};
