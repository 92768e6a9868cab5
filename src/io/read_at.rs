//! Positioned reads of one artifact.

use super::ByteRange;
use crate::error::Result;
use bytes::Bytes;
use std::fmt::Debug;
use std::sync::Arc;

/// One artifact of a shard, readable at any position from any thread.
///
/// The content and its size never change while the artifact is open. Bytes that were handed out
/// stay valid for as long as they are kept, also after the artifact itself is dropped.
pub trait ReadAt: Send + Sync + Debug {
    /// Size in bytes.
    ///
    /// # Errors
    /// Of the store.
    fn size(&self) -> Result<u64>;

    /// Exactly the bytes of `range`, counted from the start of the artifact.
    ///
    /// Files are read into memory with the alignment of the position in the file: the byte at a
    /// multiple of 64 has an address that is one, so that Arrow buffers inside stay aligned.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if `range` ends beyond the artifact, before anything
    /// is allocated; else those of the store.
    fn read_at(&self, range: ByteRange) -> Result<Bytes>;

    /// The bytes of each of `ranges`, in their order; stores that answer many requests at once
    /// override it.
    ///
    /// # Errors
    /// Those of [`read_at`](Self::read_at) for the first range that fails.
    fn read_ranges(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.read_at(*range)).collect()
    }

    /// The whole content, if it is in memory anyway; a slice of it then costs nothing.
    fn resident(&self) -> Option<Bytes> {
        None
    }

    /// What tells this content from another one under the same name, if it is known: of a file its
    /// number and the time of its last change, of an object its tag. Whoever opens an artifact again
    /// compares it and the size.
    fn version(&self) -> Option<String> {
        None
    }

    /// Whether a read costs hardly more than a copy of its bytes, so that many small reads are as
    /// good as a few large ones; so it is of memory and of local files.
    fn is_near(&self) -> bool {
        self.resident().is_some()
    }
}

/// Reads are slices without a copy, with whatever alignment the memory has.
impl ReadAt for Bytes {
    fn size(&self) -> Result<u64> {
        Ok(size_of(self))
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        Ok(self.slice(range.within_size(size_of(self))?.to_usize()?))
    }

    fn resident(&self) -> Option<Bytes> {
        Some(self.clone())
    }
}

/// Length of bytes in memory, which 64 bits always hold.
pub(super) fn size_of(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<R: ReadAt + ?Sized> ReadAt for $pointer {
            fn size(&self) -> Result<u64> {
                (**self).size()
            }

            fn read_at(&self, range: ByteRange) -> Result<Bytes> {
                (**self).read_at(range)
            }

            fn read_ranges(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
                (**self).read_ranges(ranges)
            }

            fn resident(&self) -> Option<Bytes> {
                (**self).resident()
            }

            fn version(&self) -> Option<String> {
                (**self).version()
            }

            fn is_near(&self) -> bool {
                (**self).is_near()
            }
        }
    )*};
}

forward!(&R, Box<R>, Arc<R>);
