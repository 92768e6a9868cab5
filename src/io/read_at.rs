//! Positioned reads of one artifact.

use super::ByteRange;
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::fmt::Debug;
use std::sync::Arc;

/// One artifact of a shard, readable at any position from any thread.
///
/// The content and its size never change while the artifact is open. Bytes that were handed out
/// stay valid for as long as they are kept, also after the artifact itself is dropped.
///
/// A reader must implement only [`size`](Self::size) and [`read_at`](Self::read_at). The defaults of
/// the other methods are right for any store, but slow or silent for some:
///
/// | method | default | override it |
/// |-|-|-|
/// | [`read_ranges`](Self::read_ranges) | `read_at` for one range after the other, on this thread | if the store can answer several requests at a time |
/// | [`resident`](Self::resident) | `None` | if all bytes are in memory, so that slices share them |
/// | [`is_near`](Self::is_near) | whether there are resident bytes | if a request costs no more than a few microseconds |
/// | [`name`](Self::name) | `None` | always, so that errors name the file |
/// | [`version`](Self::version) | `None` | if the store tells a file from another one that replaced it |
///
/// # Remote stores
///
/// A scan asks for all the bytes that it needs of a window of rows in one call of `read_ranges`: a
/// store that sends these requests at the same time waits for one of them, not for all. Keep the
/// defaults of `resident` and `is_near`; the bytes of a scan are then fetched once. In
/// [`ShardOptions`](crate::read::ShardOptions), raise the
/// [`coalesce_gap`](crate::read::ShardOptions::with_coalesce_gap) to what the store transfers in the
/// time of a request (1 MiB, say), and [`fetch_bytes`](crate::read::ShardOptions::with_fetch_bytes)
/// to the bytes of a stripe if there is memory for them: such a stripe is read in two or three
/// calls, of one request each where its columns are neighbours. A scan ends with the first error, so
/// the reader must retry if its store fails now and then.
pub trait ReadAt: Send + Sync + Debug {
    /// Size in bytes.
    ///
    /// # Errors
    /// Those of the store.
    fn size(&self) -> Result<u64>;

    /// Exactly the bytes of `range`, counted from the start of the artifact. An answer of another
    /// length is reported as an error of the reader, [`Io`](crate::ErrorKind::Io), not of the shard.
    ///
    /// Files are read into memory with the alignment of the position in the file: the byte at a
    /// multiple of 64 has an address that is one, so that Arrow buffers inside stay aligned.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if `range` ends beyond the artifact, before anything
    /// is allocated; else those of the store.
    fn read_at(&self, range: ByteRange) -> Result<Bytes>;

    /// The bytes of each of `ranges`, in their order, all or none. By default they are read one
    /// after the other; stores that answer several requests at a time override it.
    ///
    /// # Errors
    /// Those of [`read_at`](Self::read_at) for the first range that fails.
    fn read_ranges(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.read_at(*range)).collect()
    }

    /// The whole content, if it is in memory; slices of it then cost nothing, and `read_at` is
    /// rarely called. `None` by default.
    fn resident(&self) -> Option<Bytes> {
        None
    }

    /// The name of the artifact in errors: a path or a URL. `None` by default.
    fn name(&self) -> Option<String> {
        None
    }

    /// The identity of this content, if one is known: a file's number and time of last change, an
    /// object's e-tag. Together with the size it shows whether an artifact that is opened again has
    /// been replaced under its name.
    fn version(&self) -> Option<String> {
        None
    }

    /// Whether a read costs little more than copying its bytes, as it does in memory and in local
    /// files: many small reads are then as good as a few large ones. By default, whether the bytes
    /// are [`resident`](Self::resident).
    fn is_near(&self) -> bool {
        self.resident().is_some()
    }
}

/// The bytes of a range.
///
/// # Errors
/// Those of the reader, and [`Io`](ErrorKind::Io) if it gives more bytes than these, or fewer.
pub(crate) fn read_one(reader: &dyn ReadAt, range: ByteRange) -> Result<Bytes> {
    let bytes = reader.read_at(range)?;
    check_length(range, &bytes)?;
    Ok(bytes)
}

/// The bytes of each of several ranges.
///
/// # Errors
/// Those of the reader, and [`Io`](ErrorKind::Io) if it gives other bytes than these.
pub(crate) fn read_all(reader: &dyn ReadAt, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
    let all = reader.read_ranges(ranges)?;
    check_answer(ranges, &all)?;
    Ok(all)
}

/// Whether an answer has the bytes of all ranges.
///
/// # Errors
/// [`Io`](ErrorKind::Io) if it has not.
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

    /// A reader that answers every method in its own way.
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
        // What the trait answers by itself is different in each.
        assert_eq!(answers(&Told), answers(Told));
        assert_eq!(answers(Box::new(Told)), answers(Told));
        assert_eq!(answers(Arc::new(Told)), answers(Told));
        assert_eq!(answers(Arc::new(Told) as Arc<dyn ReadAt>), answers(Told));
        assert_eq!(answers(Box::new(Told) as Box<dyn ReadAt>), answers(Told));
    }
}
