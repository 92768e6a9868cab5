//! Inputs of decoders other than the bytes of a block.

use super::dictionaries::Dictionaries;
use crate::error::Result;
use crate::kernels::{Pools, Word};
use crate::limits::{Limits, exceeded};
use arrow_buffer::MutableBuffer;

/// Inputs of decoders other than the bytes of a block.
#[derive(Debug)]
pub struct Context<'a> {
    /// Limits on the resources that a block may take.
    pub limits: &'a Limits,
    /// Memory that is reused from block to block.
    pub scratch: &'a mut Scratch,
    /// Compressor dictionaries that the blocks of the field share.
    pub dictionaries: &'a Dictionaries,
}

/// Memory that decoders reuse from block to block, one per thread.
#[derive(Default)]
pub struct Scratch {
    words: Pools,
    bytes: MutableBuffer,
    /// Bytes of the words that are currently lent.
    lent: u64,
    /// Nesting depth of the encodings that are being decoded.
    depth: u32,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::zstd_safe::DCtx<'static>>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// Vectors kept per word type: the most that one decoder holds at once, times the usual depth.
const MAX_KEPT: usize = 8;
/// Largest vector or buffer that is kept, in bytes: several times the size for a usual block. The memory for an
/// exceptionally large block is freed after it.
const MAX_KEPT_BYTES: usize = 4 << 20;

impl<'a> Context<'a> {
    /// Creates a context with these limits, for blocks without shared dictionaries.
    pub fn new(limits: &'a Limits, scratch: &'a mut Scratch) -> Self {
        Self {
            limits,
            scratch,
            dictionaries: Dictionaries::none(),
        }
    }

    /// Runs `f` one nesting level of encodings deeper.
    pub(super) fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.scratch.depth >= self.limits.max_encoding_depth() {
            return Err(exceeded(
                "max_encoding_depth",
                self.limits.max_encoding_depth().into(),
                "encodings nest more levels deep",
            ));
        }
        self.scratch.depth += 1;
        let result = f(self);
        self.scratch.depth -= 1;
        result
    }

    /// Runs `f` with `n` words of arbitrary content. They count towards the block's limit together with the words of
    /// all outer encodings, because few bytes can request many words at each level.
    pub(super) fn with_words<W: Word, T>(
        &mut self,
        n: usize,
        f: impl FnOnce(&mut Self, &mut [W]) -> Result<T>,
    ) -> Result<T> {
        let before = self.scratch.lent;
        let lent = before.saturating_add(n.saturating_mul(W::BYTES) as u64);
        self.check_bytes(lent)?;
        self.scratch.lent = lent;
        let mut words = W::pool(&mut self.scratch.words).pop().unwrap_or_default();
        if words.len() < n {
            words.resize(n, W::ZERO);
        }
        let result = f(self, words.get_mut(..n).unwrap_or_default());
        self.scratch.lent = before;
        let pool = W::pool(&mut self.scratch.words);
        if pool.len() < MAX_KEPT && words.capacity() * W::BYTES <= MAX_KEPT_BYTES {
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
        if buffer.capacity() <= MAX_KEPT_BYTES {
            self.scratch.bytes = buffer;
        }
        result
    }

    /// Checks that a block may decode to `bytes` bytes.
    pub(super) fn check_bytes(&self, bytes: u64) -> Result<()> {
        self.limits.check_block_bytes(bytes)
    }

    /// Returns the Zstandard decompressor.
    #[cfg(feature = "zstd")]
    pub(super) fn zstd(&mut self) -> &mut zstd::zstd_safe::DCtx<'static> {
        self.scratch
            .zstd
            .get_or_insert_with(zstd::zstd_safe::DCtx::create)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn words_that_are_lent_are_held_to_the_limit_together() {
        let limits = Limits::default().with_max_block_bytes(100);
        let mut scratch = Scratch::default();
        let cx = &mut Context::new(&limits, &mut scratch);
        let mut lend = |outer: usize, inner: usize| {
            cx.with_words(outer, |cx, _: &mut [u64]| {
                // Words that were returned do not count.
                cx.with_words(inner, |_, words: &mut [u16]| Ok(words.len()))?;
                cx.with_words(inner, |_, words: &mut [u32]| Ok(words.len()))
            })
        };
        assert_eq!(lend(8, 9).unwrap(), 9);
        let error = lend(8, 10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert_eq!(lend(8, 9).unwrap(), 9);
    }

    #[test]
    fn large_vectors_are_not_kept() {
        let limits = Limits::default();
        let mut scratch = Scratch::default();
        let cx = &mut Context::new(&limits, &mut scratch);
        cx.with_words(1 << 20, |_, _: &mut [u64]| Ok(())).unwrap();
        assert!(u64::pool(&mut cx.scratch.words).is_empty());
        cx.with_words(1 << 16, |_, _: &mut [u64]| Ok(())).unwrap();
        assert_eq!(u64::pool(&mut cx.scratch.words).len(), 1);
        let fill = |_: &mut Context<'_>, buffer: &mut MutableBuffer| {
            buffer.resize(1 << 23, 0);
            Ok(())
        };
        cx.with_buffer(fill).unwrap();
        assert_eq!(cx.scratch.bytes.capacity(), 0);
    }
}
