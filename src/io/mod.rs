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
#[cfg(not(target_family = "wasm"))]
pub(crate) use local_sink::is_temporary;
#[cfg(all(feature = "mmap", not(target_family = "wasm")))]
pub use mapped_file::{MappedFile, MappedFolder};
pub use range::ByteRange;
pub use read_at::ReadAt;
pub use sink::{Sink, WriteSink};
#[cfg(not(target_family = "wasm"))]
pub(crate) use url::STRIPE_FILE_SUFFIX;
pub use url::{Reference, RelativeUrl, resolve, stripe_file_name};
