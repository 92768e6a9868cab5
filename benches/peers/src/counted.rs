//! Files that count their reads.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of reads from the operating system or from a store.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    requests: AtomicU64,
    bytes: AtomicU64,
    /// The longest chain of requests that each began after the previous one had ended.
    rounds: AtomicU64,
}

/// A request that has begun: its position in its chain, counted from 1.
#[derive(Debug)]
pub(crate) struct Request(u64);

impl Reads {
    pub(crate) fn count(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Begins a request to a store.
    pub(crate) fn begin(&self) -> Request {
        Request(self.rounds() + 1)
    }

    /// Ends a request, with the number of bytes that it returned.
    pub(crate) fn end(&self, request: Request, bytes: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.rounds.fetch_max(request.0, Ordering::Relaxed);
    }

    /// Sets all counters to 0.
    pub(crate) fn reset(&self) {
        for counter in [&self.requests, &self.bytes, &self.rounds] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// A file for positioned reads.
#[derive(Debug, Clone)]
pub(crate) struct CountedFile {
    file: Arc<File>,
    size: u64,
    reads: Arc<Reads>,
}

impl CountedFile {
    pub(crate) fn open(path: &Path, reads: &Arc<Reads>) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self {
            size: file.metadata()?.len(),
            file: Arc::new(file),
            reads: reads.clone(),
        })
    }

    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Reads `len` bytes from `start`.
    pub(crate) fn read_exact_at(&self, start: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, start)?;
        self.reads.count(len);
        Ok(bytes)
    }

    /// Returns a cursor that reads from `start`.
    pub(crate) fn cursor(&self, start: u64) -> Cursor {
        Cursor {
            file: self.clone(),
            position: start,
        }
    }
}

/// A position in a file.
#[derive(Debug)]
pub(crate) struct Cursor {
    file: CountedFile,
    position: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.file.read_at(buffer, self.position)?;
        self.file.reads.count(len);
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        let position = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.file.size.checked_add_signed(by),
        };
        self.position = position.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "a position before the file")
        })?;
        Ok(self.position)
    }
}
