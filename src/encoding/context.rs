//! What decoders need beside the bytes.

use crate::error::{Error, ErrorKind, Result};
use crate::kernels::{Pools, Word};
use crate::limits::Limits;
use arrow_buffer::MutableBuffer;

/// What decoders need beside the bytes of a block.
#[derive(Debug)]
pub struct Context<'a> {
    /// How much a block may ask for.
    pub limits: &'a Limits,
    /// Memory that is reused from block to block.
    pub scratch: &'a mut Scratch,
}

/// Memory that decoders reuse from block to block, one per thread.
#[derive(Default)]
pub struct Scratch {
    words: Pools,
    bytes: MutableBuffer,
    /// Nesting of the encodings that are being decoded.
    depth: u32,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// Vectors kept per word type: as many as one decoder holds at once, times the usual depth.
const KEPT: usize = 8;

impl<'a> Context<'a> {
    /// A context with these limits.
    pub fn new(limits: &'a Limits, scratch: &'a mut Scratch) -> Self {
        Self { limits, scratch }
    }

    /// Runs `f` one level of encodings deeper.
    pub(super) fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.scratch.depth >= self.limits.max_encoding_depth() {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "encodings nest deeper than {} levels",
                    self.limits.max_encoding_depth()
                ),
            ));
        }
        self.scratch.depth += 1;
        let result = f(self);
        self.scratch.depth -= 1;
        result
    }

    /// Runs `f` with `n` words of unknown content, for which the block must account.
    pub(super) fn with_words<W: Word, T>(
        &mut self,
        n: usize,
        f: impl FnOnce(&mut Self, &mut [W]) -> Result<T>,
    ) -> Result<T> {
        self.check_bytes(n.saturating_mul(W::BYTES) as u64)?;
        let mut words = W::pool(&mut self.scratch.words).pop().unwrap_or_default();
        if words.len() < n {
            words.resize(n, W::ZERO);
        }
        let result = match words.get_mut(..n) {
            Some(slice) => f(self, slice),
            None => Ok(f(self, &mut [])?),
        };
        let pool = W::pool(&mut self.scratch.words);
        if pool.len() < KEPT {
            pool.push(words);
        }
        result
    }

    /// Runs `f` with an empty buffer.
    pub(super) fn with_buffer<T>(
        &mut self,
        f: impl FnOnce(&mut Self, &mut MutableBuffer) -> Result<T>,
    ) -> Result<T> {
        let mut buffer = std::mem::take(&mut self.scratch.bytes);
        buffer.clear();
        let result = f(self, &mut buffer);
        self.scratch.bytes = buffer;
        result
    }

    /// An error if a block may not decode to that many bytes.
    pub(super) fn check_bytes(&self, bytes: u64) -> Result<()> {
        self.limits.check_block_bytes(bytes)
    }

    /// The Zstandard decompressor.
    #[cfg(feature = "zstd")]
    pub(super) fn zstd(&mut self) -> &mut zstd::bulk::Decompressor<'static> {
        self.scratch.zstd.get_or_insert_default()
    }
}
