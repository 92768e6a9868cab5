//! The context of decoding: a source of bytes, limits, and reused memory.

use super::stored_buffer::{StoredBuffer, StoredRange};
use crate::encoding::{Context, Dictionaries, Scratch};
use crate::error::{Error, Result};
use crate::limits::Limits;
use bytes::Bytes;

/// A source of bytes of artifacts that have been fetched, or are always in memory.
pub trait ByteSource {
    /// Returns the bytes of a place that was requested before.
    fn bytes(&self, place: StoredRange) -> Result<Bytes>;

    /// Returns the bytes of any place if they are in memory, without a request.
    fn resident(&self, place: StoredRange) -> Result<Option<Bytes>>;

    /// Returns the name of an artifact for errors, unless they name it already.
    fn name(&self, artifact: u32) -> Option<String>;
}

/// Inputs of decoding other than the buffers.
pub struct ReadContext<'a> {
    /// The encoded bytes.
    pub source: &'a dyn ByteSource,
    /// Limits on the resources that decoding may take.
    pub limits: &'a Limits,
    /// Memory that is reused from block to block.
    pub scratch: &'a mut Scratch,
    /// Compressor dictionaries that the blocks of the field share.
    pub dictionaries: &'a Dictionaries,
    /// Whether to verify checksums that have not been verified yet.
    pub verify: bool,
    /// Whether the rest of a block is likely to be needed next, so that it is worth keeping.
    pub sequential: bool,
}

impl std::fmt::Debug for ReadContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadContext")
            .field("limits", self.limits)
            .field("verify", &self.verify)
            .field("sequential", &self.sequential)
            .finish_non_exhaustive()
    }
}

impl ReadContext<'_> {
    pub(super) fn decoding(&mut self) -> Context<'_> {
        Context {
            limits: self.limits,
            scratch: self.scratch,
            dictionaries: self.dictionaries,
        }
    }

    /// Checks that `elements` elements of `width` bytes are within the limits.
    pub(crate) fn check_batch_bytes(&self, elements: u64, width: usize) -> Result<()> {
        self.limits.check_batch_bytes(elements, width)
    }
}

/// Adds the name of a buffer's file to an error.
#[cold]
pub(super) fn in_file(error: Error, buffer: &StoredBuffer, cx: &ReadContext<'_>) -> Error {
    match cx.source.name(buffer.place.artifact) {
        Some(name) => error.within(name),
        None => error,
    }
}
