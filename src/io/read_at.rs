//! Positioned reads of one artifact.

use super::ByteRange;
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::fmt::Debug;
use std::sync::Arc;

/// One artifact of a shard, readable at any position from any thread.
///
/// The content and its size must not change while the artifact is open. Returned bytes stay valid as long as the caller
/// keeps them, even after the artifact itself is dropped.
///
/// A reader must implement only [`size`](Self::size) and [`read_at`](Self::read_at). The defaults of the other methods
/// are correct for any store, but some stores can do better:
///
/// | method | default | override it |
/// |-|-|-|
/// | [`read_ranges`](Self::read_ranges) | `read_at` for one range after the other, on this thread | if the store can answer requests concurrently |
/// | [`resident`](Self::resident) | `None` | if all bytes are in memory, so that slices share them |
/// | [`is_near`](Self::is_near) | whether the bytes are resident | if a request takes at most a few microseconds |
/// | [`name`](Self::name) | `None` | always, so that errors name the file |
/// | [`version`](Self::version) | `None` | if the store can distinguish a file from another one that replaced it |
///
/// # Remote stores
///
/// A scan requests all bytes for a window of rows in one call of `read_ranges`. If the store sends these requests
/// concurrently, the scan waits only for the slowest. Keep the defaults of `resident` and `is_near`, so that a scan
/// fetches its bytes only once. In [`ShardOptions`](crate::read::ShardOptions), raise
/// [`coalesce_gap`](crate::read::ShardOptions::with_coalesce_gap) to the number of bytes that the store transfers in
/// the time of a request (1 MiB, for example), and [`fetch_bytes`](crate::read::ShardOptions::with_fetch_bytes) to the
/// size of a stripe if there is enough memory. A stripe is then read in two or three calls, with a single request each
/// if its columns are adjacent. A scan ends with the first error, so the reader must retry if its store fails
/// occasionally.
pub trait ReadAt: Send + Sync + Debug {
    /// Returns the size in bytes.
    ///
    /// # Errors
    /// Returns the errors of the store.
    fn size(&self) -> Result<u64>;

    /// Returns exactly the bytes of `range`, counted from the start of the artifact. If the result has another length,
    /// the caller reports that as an error of the reader ([`Io`](crate::ErrorKind::Io)), not of the shard.
    ///
    /// Local files preserve alignment: a byte at a multiple of 64 in the file has an address that is a multiple of 64,
    /// so that Arrow buffers inside stay aligned.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if `range` ends beyond the artifact, before allocating memory, or
    /// the errors of the store.
    fn read_at(&self, range: ByteRange) -> Result<Bytes>;

    /// Returns the bytes of each of `ranges`, in order, or an error. By default, this reads one range after the other;
    /// override it for stores that answer several requests concurrently.
    ///
    /// # Errors
    /// Returns the errors of [`read_at`](Self::read_at) for the first range that fails.
    fn read_ranges(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.read_at(*range)).collect()
    }

    /// Returns the whole content, if it is in memory. Slicing it costs nothing, so `read_at` is rarely called then.
    /// `None` by default.
    fn resident(&self) -> Option<Bytes> {
        None
    }

    /// Returns the name of the artifact for errors: a path or a URL. `None` by default.
    fn name(&self) -> Option<String> {
        None
    }

    /// Returns the identity of this content, if it is known: a file's number and time of last change, or an object's
    /// e-tag. Together with the size, it shows whether an artifact that is opened again has been replaced.
    fn version(&self) -> Option<String> {
        None
    }

    /// Returns whether a read costs little more than copying its bytes, as in memory and in local files: many small
    /// reads are then as fast as a few large ones. By default, this is whether the bytes are
    /// [`resident`](Self::resident).
    fn is_near(&self) -> bool {
        self.resident().is_some()
    }
}

/// Returns the bytes of a range.
///
/// # Errors
/// Returns the errors of the reader, and [`Io`](ErrorKind::Io) if the answer has the wrong number of bytes.
pub(crate) fn read_one(reader: &dyn ReadAt, range: ByteRange) -> Result<Bytes> {
    let bytes = reader.read_at(range)?;
    check_length(range, &bytes)?;
    Ok(bytes)
}

/// Returns the bytes of several ranges.
///
/// # Errors
/// Returns the errors of the reader, and [`Io`](ErrorKind::Io) if the answer has the wrong number of ranges or bytes.
pub(crate) fn read_all(reader: &dyn ReadAt, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
    let all = reader.read_ranges(ranges)?;
    check_answer(ranges, &all)?;
    Ok(all)
}

/// Checks that an answer has the bytes of all ranges.
///
/// # Errors
/// Returns [`Io`](ErrorKind::Io) if it does not.
pub(super) fn check_answer(ranges: &[ByteRange], all: &[Bytes]) -> Result<()> {
    if all.len() != ranges.len() {
        return Err(Error::new(
            ErrorKind::Io,
            format!(
                "the reader was asked for {} ranges, and gave {}",
                ranges.len(),
                all.len()
            ),
        ));
    }
    for (range, bytes) in ranges.iter().zip(all) {
        check_length(*range, bytes)?;
    }
    Ok(())
}

fn check_length(range: ByteRange, bytes: &[u8]) -> Result<()> {
    match size_of(bytes) {
        len if len == range.len() => Ok(()),
        found => Err(Error::new(
            ErrorKind::Io,
            format!(
                "the reader was asked for bytes {range}: expected {}, got {found}",
                range.len()
            ),
        )),
    }
}

/// Reads are slices of the memory without a copy. Their alignment depends on the memory.
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

/// Returns the length of bytes in memory, which always fits 64 bits.
pub(super) fn size_of(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        #[deny(
            clippy::missing_trait_methods,
            reason = "a method that is not forwarded would answer with its default"
        )]
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

            fn name(&self) -> Option<String> {
                (**self).name()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that overrides every default with another result.
    #[derive(Debug)]
    struct Told;

    impl ReadAt for Told {
        fn size(&self) -> Result<u64> {
            Ok(77)
        }

        fn read_at(&self, _: ByteRange) -> Result<Bytes> {
            Ok(Bytes::from_static(b"one"))
        }

        fn read_ranges(&self, _: &[ByteRange]) -> Result<Vec<Bytes>> {
            Ok(vec![Bytes::from_static(b"several")])
        }

        fn resident(&self) -> Option<Bytes> {
            Some(Bytes::from_static(b"resident"))
        }

        fn name(&self) -> Option<String> {
            Some("my://bucket/f.shard".to_owned())
        }

        fn version(&self) -> Option<String> {
            Some("7".to_owned())
        }

        fn is_near(&self) -> bool {
            false
        }
    }

    #[test]
    fn pointers_to_readers_answer_as_the_readers_do() {
        fn answers(reader: impl ReadAt) -> String {
            let range = ByteRange::try_new(0, 1).unwrap();
            let all = (
                reader.size().unwrap(),
                reader.read_at(range).unwrap(),
                reader.read_ranges(&[range]).unwrap(),
                reader.resident(),
                reader.name(),
                reader.version(),
                reader.is_near(),
            );
            format!("{all:?}")
        }
        // The result differs from the trait's default in every method.
        assert_eq!(answers(&Told), answers(Told));
        assert_eq!(answers(Box::new(Told)), answers(Told));
        assert_eq!(answers(Arc::new(Told)), answers(Told));
        assert_eq!(answers(Arc::new(Told) as Arc<dyn ReadAt>), answers(Told));
        assert_eq!(answers(Box::new(Told) as Box<dyn ReadAt>), answers(Told));
    }
}
