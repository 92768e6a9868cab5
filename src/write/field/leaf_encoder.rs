//! The interfaces of encoders that store the values of a leaf as they are (raw) or in encoded blocks.

use super::finished_leaf::{FinishedBytes, FinishedLeaf};
use crate::column::ByteValues;
use crate::error::Result;
use crate::format::BufferKind;
use crate::write::choose::candidate::Candidate;
use arrow_buffer::NullBuffer;
use std::fmt::Debug;

/// Encodes numbers. A batch is passed in one call, so that its values need no dispatch.
pub(super) trait NumberEncoder<W>: Debug + Send {
    /// Appends values. A null position repeats the value before it, which encodes best and hides the array's content
    /// there.
    fn push(&mut self, values: &[W], nulls: Option<&NullBuffer>) -> Result<()>;

    /// Returns the candidate encodings of the staged values.
    fn into_candidates(self: Box<Self>) -> Result<Vec<Candidate>>;

    /// Returns the memory size in bytes.
    fn memory_size(&self) -> usize;

    /// Returns the finished values: one buffer of that kind, or codes and a dictionary where that pays off.
    fn finish(self: Box<Self>, buffer: BufferKind) -> Result<FinishedLeaf>;
}

/// Encodes strings, binary values, and other values of a fixed size.
pub(super) trait BytesEncoder: Debug + Send {
    /// Appends values of one size. Null positions are filled with zeros.
    fn push_fixed(&mut self, data: &[u8], len: usize, nulls: Option<&NullBuffer>) -> Result<()>;

    /// Appends values of any size.
    ///
    /// # Errors
    /// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange) for a value above 4 GiB.
    fn push(&mut self, values: &ByteValues, len: usize, nulls: Option<&NullBuffer>) -> Result<()>;

    /// Returns the bytes of all values so far, including null positions of fixed-size types.
    fn total_bytes(&self) -> u64;

    /// Returns the candidate encodings of the staged values.
    fn into_candidates(self: Box<Self>) -> Result<Vec<Candidate>>;

    /// Returns the memory size in bytes.
    fn memory_size(&self) -> usize;

    /// Returns the finished buffers: DATA, OFFSETS of raw values of any size, a dictionary if that saves bytes.
    fn finish(self: Box<Self>) -> Result<FinishedBytes>;
}
