//! Reuses the memory of finished reads for later ones.
//!
//! The operating system provides fresh memory page by page, which takes longer than copying a page from its file cache.
//! Allocators return large blocks to the system, some of them immediately.

use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::sync::{Mutex, PoisonError};

/// Shorter reads use the allocator, which keeps small blocks itself.
const MIN_RECYCLED_BYTES: usize = 32 << 10;
/// Number of bytes kept for later reads of all files in the process.
const KEPT_BYTES: usize = 32 << 20;
/// Number of different block lengths between one power of two and the next. Rounding lengths allows a block to serve
/// reads of similar length.
const LENGTHS: usize = 8;

/// Unused blocks. The most recently used one is last.
static FREE: Mutex<Free> = Mutex::new(Free {
    blocks: Vec::new(),
    bytes: 0,
});

struct Free {
    blocks: Vec<Vec<u8>>,
    /// Total size of all blocks.
    bytes: usize,
}

impl Free {
    /// Takes a block of at least `len` bytes, but not much more. Prefers the most recently used one, because it is most
    /// likely in the processor's caches.
    fn take(&mut self, len: usize) -> Option<Vec<u8>> {
        let fits = |block: &Vec<u8>| block.len() >= len && block.len() / 4 <= len;
        let block = self.blocks.iter().rposition(fits)?;
        let block = self.blocks.remove(block);
        self.bytes -= block.len();
        Some(block)
    }

    /// Keeps a block. If there are too many bytes, drops the least recently used blocks.
    fn put(&mut self, block: Vec<u8>) {
        if block.len() > KEPT_BYTES {
            return;
        }
        self.bytes += block.len();
        self.blocks.push(block);
        let mut given_up = 0;
        while self.bytes > KEPT_BYTES {
            self.bytes -= self.blocks.get(given_up).map_or(0, Vec::len);
            given_up += 1;
        }
        self.blocks.drain(..given_up);
    }
}

/// Returns at least `len` bytes with arbitrary values.
///
/// # Errors
/// Returns [`LimitExceeded`](ErrorKind::LimitExceeded) if there is not enough memory.
pub(super) fn block(len: usize) -> Result<Vec<u8>> {
    if len < MIN_RECYCLED_BYTES {
        return zeroed(len);
    }
    let used = FREE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take(len);
    match used {
        Some(block) => Ok(block),
        None => zeroed(len.next_multiple_of((len / LENGTHS).next_power_of_two())),
    }
}

/// Returns `len` zero bytes. It tries to reserve them first, because `vec!` aborts without memory. `vec!` is still
/// used, because it gets zeroed pages from the system without writing to them.
fn zeroed(len: usize) -> Result<Vec<u8>> {
    Vec::<u8>::new().try_reserve_exact(len).map_err(|e| {
        let message = format!("cannot allocate {len} bytes");
        Error::new(ErrorKind::LimitExceeded, message).caused_by(e)
    })?;
    Ok(vec![0; len])
}

/// Makes the bytes immutable. When the last slice is dropped, later reads reuse the memory.
pub(super) fn freeze(bytes: Vec<u8>) -> Bytes {
    if bytes.len() < MIN_RECYCLED_BYTES {
        return Bytes::from(bytes);
    }
    Bytes::from_owner(Recycled(bytes))
}

struct Recycled(Vec<u8>);

impl AsRef<[u8]> for Recycled {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Recycled {
    fn drop(&mut self) {
        let block = std::mem::take(&mut self.0);
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .put(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free() -> Free {
        Free {
            blocks: Vec::new(),
            bytes: 0,
        }
    }

    #[test]
    fn blocks_serve_reads_of_about_their_length() {
        let mut free = free();
        free.put(vec![0; 100_000]);
        free.put(vec![0; 1_000_000]);
        assert!(free.take(2_000_000).is_none());
        assert!(free.take(20_000).is_none(), "that would waste most of it");
        assert_eq!(free.take(90_000).unwrap().len(), 100_000);
        assert_eq!(free.take(900_000).unwrap().len(), 1_000_000);
        assert_eq!(free.bytes, 0);
    }

    #[test]
    fn no_more_is_kept_than_is_said() {
        let mut free = free();
        for _ in 0..100 {
            free.put(vec![0; 1 << 20]);
            assert!(free.bytes <= KEPT_BYTES);
        }
        free.put(vec![0; KEPT_BYTES + 1]);
        let held: usize = free.blocks.iter().map(Vec::len).sum();
        assert_eq!((held, free.bytes), (KEPT_BYTES, KEPT_BYTES));
    }

    #[test]
    fn bytes_of_one_read_are_never_those_of_another() {
        let read = |byte: u8| {
            let mut bytes = block(50_000).unwrap();
            bytes.fill(byte);
            freeze(bytes)
        };
        let first = read(1).slice(100..200);
        let second = read(2);
        assert!(first.iter().all(|&b| b == 1));
        drop(first);
        let third = read(3);
        assert!(second.iter().all(|&b| b == 2) && third.iter().all(|&b| b == 3));
    }
}
