//! Blocking readers of objects: the thread that reads waits for the store.

use super::wait;
use arrow_shard::io::{
    AsyncContainer, AsyncReadAt, ByteRange, Container, ObjectFolder, ReadAt, RelativeUrl,
};
use arrow_shard::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::sync::Arc;

/// Number of bytes that the first request reads from the end of an object.
const TAIL_BYTES: u64 = 64 << 10;

/// A blocking reader over an asynchronous one.
#[derive(Debug)]
pub(super) struct BlockingReader {
    reader: Arc<dyn AsyncReadAt>,
    name: Option<String>,
    size: u64,
    /// The end of the object, and its position.
    tail: Bytes,
    tail_start: u64,
}

impl BlockingReader {
    pub(super) fn open(reader: Arc<dyn AsyncReadAt>, name: Option<String>) -> Result<Self> {
        let (tail, size) = wait(reader.read_tail(TAIL_BYTES))?;
        let tail_start = size.saturating_sub(TAIL_BYTES);
        if tail.len() as u64 != size - tail_start {
            return Err(no_answer(format!(
                "the store was asked for the last {TAIL_BYTES} of {size} bytes, and gave {}",
                tail.len()
            )));
        }
        Ok(Self {
            reader,
            name,
            size,
            tail,
            tail_start,
        })
    }
}

fn no_answer(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Io, why)
}

impl ReadAt for BlockingReader {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        range.within_size(self.size)?;
        if let Some(start) = range.start().checked_sub(self.tail_start) {
            let inside = ByteRange::with_len(start, range.len())?.to_usize()?;
            return Ok(self.tail.slice(inside));
        }
        let mut read = self.read_ranges(&[range])?;
        read.pop()
            .ok_or_else(|| no_answer("the store gave no answer"))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        for range in ranges {
            range.within_size(self.size)?;
        }
        wait(self.reader.read_ranges(ranges.to_vec()))
    }

    fn name(&self) -> Option<String> {
        self.name.clone().or_else(|| self.reader.name())
    }

    fn version(&self) -> Option<String> {
        self.reader.version()
    }
}

/// The folder of an object.
#[derive(Debug)]
pub(super) struct BlockingFolder(pub(super) ObjectFolder);

impl Container for BlockingFolder {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(BlockingReader::open(self.0.open(url)?, None)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_shard::io::BoxFuture;

    /// A store that omits this many bytes of a tail.
    #[derive(Debug)]
    struct Remote(Bytes, usize);

    impl AsyncReadAt for Remote {
        fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>> {
            let size = self.0.len();
            let start = size - size.min(usize::try_from(len).unwrap());
            let tail = self.0.slice(start..size - self.1);
            Box::pin(async move { Ok((tail, size as u64)) })
        }

        fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
            // Beyond its end, this store fails with an error of its own.
            let read = |range: &ByteRange| {
                if range.end() <= self.0.len() as u64 {
                    self.0.read_at(*range)
                } else {
                    Err(no_answer("416"))
                }
            };
            Box::pin(async move { ranges.iter().map(read).collect() })
        }

        fn known_size(&self) -> Option<u64> {
            Some(self.0.len() as u64)
        }
    }

    #[cfg(feature = "experimental")]
    #[test]
    fn it_does_what_readers_must_do() {
        use arrow_shard::io::conformance;
        for size in [0, 1, 1000, 65_536, 65_537, 300_000] {
            let content = conformance::content(size);
            let remote = Arc::new(Remote(content.clone().into(), 0));
            let reader = BlockingReader::open(remote, None).unwrap();
            conformance::check_reader(&reader, &content).unwrap();
        }
    }

    #[test]
    fn a_tail_of_another_length_is_an_error_of_the_store() {
        for size in [10, 100_000] {
            let content = Bytes::from(vec![7; size]);
            let error = BlockingReader::open(Arc::new(Remote(content, 3)), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        }
    }
}
