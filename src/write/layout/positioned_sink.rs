//! A sink that tracks its position.

use crate::buffer::BUFFER_ALIGNMENT;
use crate::error::Result;
use crate::format::HEADER;
use crate::io::{ByteRange, Sink};

/// A sink and its position.
pub(crate) struct PositionedSink<'a> {
    sink: &'a mut dyn Sink,
    position: &'a mut u64,
}

impl<'a> PositionedSink<'a> {
    /// Wraps a sink. `position` is the number of bytes already written to it.
    pub(crate) fn new(sink: &'a mut dyn Sink, position: &'a mut u64) -> Self {
        Self { sink, position }
    }

    /// Writes the header, unless something has been written before.
    pub(crate) fn begin(&mut self) -> Result<()> {
        match self.position() {
            0 => self.write(&HEADER),
            _ => Ok(()),
        }
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes)?;
        *self.position += bytes.len() as u64;
        Ok(())
    }

    /// Appends bytes, and returns their range.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<ByteRange> {
        let start = *self.position;
        self.write(bytes)?;
        ByteRange::with_len(start, bytes.len() as u64)
    }

    /// Appends zeros up to the next aligned position, where a buffer may start.
    pub(crate) fn align(&mut self) -> Result<()> {
        const ZEROS: [u8; BUFFER_ALIGNMENT] = [0; BUFFER_ALIGNMENT];
        let padding = self.position.next_multiple_of(BUFFER_ALIGNMENT as u64) - *self.position;
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        self.write(&ZEROS[..padding as usize])
    }

    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        *self.position
    }
}
