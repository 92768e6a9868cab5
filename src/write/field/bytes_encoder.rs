//! Spec: Chapter 6, "Primitive Variable-Sized Encoding": strings and binary values, raw or in blocks.

use super::finished_leaf::FinishedBytes;
use super::plan::FieldPlan;
use super::raw::RawBytes;
use super::strings::BlockBytes;
use crate::column::ByteValues;
use crate::encoding::bytes;
use crate::error::Result;
use crate::write::choose::Weighed;
use crate::write::choose::candidate::Candidate;
use arrow_buffer::NullBuffer;

/// Encodes the byte values of one stripe field.
#[derive(Debug)]
pub(super) enum BytesEncoder {
    /// Stored as they are.
    Raw(Box<RawBytes>),
    /// Stored in encoded blocks.
    Blocks(Box<BlockBytes>),
}

impl BytesEncoder {
    /// Returns an encoder for the values of a field.
    pub(super) fn new(plan: &FieldPlan) -> Self {
        if plan.settings.is_raw() && !plan.settings.delimited {
            Self::Raw(Box::new(RawBytes::new(plan)))
        } else {
            Self::Blocks(Box::new(BlockBytes::new(plan)))
        }
    }

    /// Appends values of one size.
    pub(super) fn push_fixed(
        &mut self,
        data: &[u8],
        len: usize,
        nulls: Option<&NullBuffer>,
    ) -> Result<()> {
        match self {
            Self::Raw(encoder) => {
                encoder.push_fixed(data, len, nulls);
                Ok(())
            }
            Self::Blocks(encoder) => encoder.push_fixed(data, len, nulls),
        }
    }

    /// Appends values of any size.
    ///
    /// # Errors
    /// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange) for a value above 4 GiB.
    pub(super) fn push(
        &mut self,
        values: &ByteValues,
        len: usize,
        nulls: Option<&NullBuffer>,
    ) -> Result<()> {
        match self {
            Self::Raw(encoder) => encoder.push(values, len, nulls),
            Self::Blocks(encoder) => encoder.push(values, len, nulls),
        }
    }

    /// Returns the bytes of all values so far, including null positions of fixed-size types.
    pub(super) fn total_bytes(&self) -> u64 {
        match self {
            Self::Raw(encoder) => encoder.total_bytes(),
            Self::Blocks(encoder) => encoder.total_bytes(),
        }
    }

    /// Returns the candidate encodings of the staged values.
    pub(super) fn into_candidates(self) -> Result<Vec<Candidate>> {
        match self {
            Self::Raw(encoder) => {
                let plain = Weighed::plain(bytes::Plan::Plain, encoder.average_length());
                Ok(vec![plain.into()])
            }
            Self::Blocks(encoder) => encoder.into_candidates(),
        }
    }

    /// Returns the bytes held in memory.
    pub(super) fn memory_size(&self) -> usize {
        match self {
            Self::Raw(encoder) => encoder.memory_size(),
            Self::Blocks(encoder) => encoder.memory_size(),
        }
    }

    /// Returns the finished buffers: DATA, OFFSETS of raw values of any size, a dictionary if that saves bytes.
    pub(super) fn finish(self) -> Result<FinishedBytes> {
        match self {
            Self::Raw(encoder) => Ok(encoder.finish()),
            Self::Blocks(encoder) => encoder.finish(),
        }
    }
}
