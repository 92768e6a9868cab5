//! Spec: Chapter 6, "Encoded Buffers": the bytes of a buffer on their way into a stripe.

use super::checksums::CHUNK_BYTES;
use crate::encoding::Word;
use crate::kernels::as_bytes;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of every piece except the last: the bytes that one checksum covers.
const PIECE_BYTES: usize = CHUNK_BYTES as usize;

/// Largest vector for encoding a block that is kept, in bytes. Longer blocks are rare.
const MAX_SCRATCH_BYTES: usize = 1 << 20;

/// Memory of written pieces, for reuse by the next stripe. Getting fresh memory from the system takes longer
/// than copying values into it.
#[derive(Debug, Default)]
pub struct PiecePool {
    pieces: Mutex<Vec<Vec<u8>>>,
    /// Memory for encoding blocks. Each thread encodes one at a time.
    scratch: Mutex<Vec<Vec<u8>>>,
}

impl PiecePool {
    fn pieces(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        lock(&self.pieces)
    }

    /// Runs `work` with an empty vector, and keeps its memory for later calls.
    pub(super) fn with_scratch<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut scratch = lock(&self.scratch).pop().unwrap_or_default();
        let done = work(&mut scratch);
        if scratch.capacity() <= MAX_SCRATCH_BYTES {
            scratch.clear();
            lock(&self.scratch).push(scratch);
        }
        done
    }

    /// Returns the bytes of memory that are kept for the next stripe.
    pub fn memory_size(&self) -> usize {
        self.pieces().len() * PIECE_BYTES
    }

    /// Returns an empty piece with room for all of its bytes.
    fn take(&self) -> Vec<u8> {
        let kept = self.pieces().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(PIECE_BYTES))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Poisoning is harmless, because the vectors hold no data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes in pieces. Each piece except the last has [`CHUNK_BYTES`].
#[derive(Debug)]
pub struct Pieces {
    pool: Arc<PiecePool>,
    full: Vec<Vec<u8>>,
    /// The last piece. It starts small, because a table may have very many columns.
    open: Vec<u8>,
}

impl Pieces {
    /// Creates an empty sequence. Its pieces come from the pool and return to it.
    pub fn new(pool: Arc<PiecePool>) -> Self {
        Self {
            pool,
            full: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.full.len() * PIECE_BYTES + self.open.len()
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Returns whether the sequence is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes held in memory, independent of earlier uses of the pool's pieces.
    pub fn memory_size(&self) -> usize {
        self.full.len() * PIECE_BYTES + self.open.capacity().min(PIECE_BYTES)
    }

    /// Returns the pieces, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let open = Some(&self.open).filter(|open| !open.is_empty());
        self.full.iter().chain(open).map(Vec::as_slice)
    }

    /// Appends a range of these bytes to `out`.
    pub(super) fn copy(&self, bytes: Range<usize>, out: &mut Vec<u8>) {
        let mut at = bytes.start;
        while at < bytes.end {
            let piece = self.full.get(at / PIECE_BYTES).unwrap_or(&self.open);
            let from = at % PIECE_BYTES;
            let to = piece.len().min(from + bytes.end - at);
            let Some(part) = piece.get(from..to).filter(|part| !part.is_empty()) else {
                return;
            };
            out.extend_from_slice(part);
            at += part.len();
        }
    }

    /// Creates an empty sequence with the same pool.
    pub(super) fn sibling(&self) -> Self {
        Self::new(self.pool.clone())
    }

    /// Appends bytes.
    pub fn extend(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(self.room(bytes.len())));
            self.open.extend_from_slice(now);
            bytes = rest;
        }
    }

    /// Appends words.
    pub fn extend_words<W: Word>(&mut self, words: &[W]) {
        self.extend(as_bytes(words));
    }

    /// Appends `count` words, which `word` returns by index. Earlier appends must have left a whole number of
    /// words.
    pub fn extend_with<W: Word>(&mut self, count: usize, word: impl Fn(usize) -> W) {
        let mut done = 0;
        while done < count {
            let room = self.room((count - done).saturating_mul(W::BYTES)) / W::BYTES;
            let now = room.min(count - done);
            let start = self.open.len();
            self.open.resize(start + now * W::BYTES, 0);
            let places = W::chunks_mut(&mut self.open[start..]);
            for (i, place) in places.iter_mut().enumerate() {
                *place = word(done + i).to_le();
            }
            done += now;
        }
    }

    /// Appends `count` zeros.
    pub fn extend_zeros(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            let now = left.min(self.room(left));
            self.open.resize(self.open.len() + now, 0);
            left -= now;
        }
    }

    /// Returns how many more bytes the open piece can take, at least one, if `wanted` bytes follow. Starts a new piece
    /// if the open one is full.
    fn room(&mut self, wanted: usize) -> usize {
        if self.open.len() == PIECE_BYTES {
            let piece = self.pool.take();
            self.full.push(std::mem::replace(&mut self.open, piece));
        }
        // A piece that will become full gets all of its memory at once.
        if self.open.capacity() < PIECE_BYTES && self.open.len() + wanted >= PIECE_BYTES {
            let mut piece = self.pool.take();
            piece.extend_from_slice(&self.open);
            self.open = piece;
        }
        PIECE_BYTES - self.open.len()
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        let mut pieces = std::mem::take(&mut self.full);
        if self.open.capacity() >= PIECE_BYTES {
            pieces.push(std::mem::take(&mut self.open));
        }
        for piece in &mut pieces {
            piece.clear();
        }
        self.pool.pieces().append(&mut pieces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_what_was_appended_and_come_back_to_the_pool() {
        let pool = Arc::new(PiecePool::default());
        let mut expected = Vec::new();
        let mut pieces = Pieces::new(pool.clone());
        assert!(pieces.is_empty() && pieces.iter().next().is_none());
        for (count, step) in [(3, 8), (9_000, 7), (5, 8), (200_000, 8), (8_191, 7), (1, 8)] {
            let words: Vec<u64> = (0..count).map(|i| i * step).collect();
            match step {
                8 => pieces.extend_words(&words),
                _ => pieces.extend_with(words.len(), |i| words[i]),
            }
            expected.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            assert_eq!(pieces.len(), expected.len());
        }
        let bytes: Vec<u8> = (0..u8::MAX).cycle().take(150_001).collect();
        pieces.extend(&bytes);
        pieces.extend_zeros(70_000);
        expected.extend(bytes.iter().copied().chain([0; 70_000]));
        assert_eq!(pieces.iter().collect::<Vec<_>>().concat(), expected);
        let sizes: Vec<usize> = pieces.iter().map(<[u8]>::len).collect();
        assert!(
            sizes[..sizes.len() - 1]
                .iter()
                .all(|&size| size == PIECE_BYTES)
        );
        let held = pieces.memory_size();
        drop(pieces);
        assert_eq!(pool.pieces().len() * PIECE_BYTES, held);

        // The next buffer reuses the memory, and starts empty.
        let mut next = Pieces::new(pool.clone());
        next.extend(&expected);
        assert!(pool.pieces().is_empty());
        assert_eq!(next.iter().collect::<Vec<_>>().concat(), expected);
    }

    #[test]
    fn few_bytes_take_little_memory() {
        let mut pieces = Pieces::new(Arc::default());
        pieces.extend(&[7; 100]);
        assert!(pieces.memory_size() < 1_000);
    }
}
