//! Presence bits that values may clear.

use arrow_buffer::BooleanBufferBuilder;

/// The presence bits of the values that are being decoded: the end of a builder, filled from the
/// presence section before the values are decoded.
pub struct NullsOut<'a> {
    bits: &'a mut BooleanBufferBuilder,
    start: usize,
    cleared: usize,
}

impl<'a> NullsOut<'a> {
    /// Takes the bits from `start` on.
    pub fn new(bits: &'a mut BooleanBufferBuilder, start: usize) -> Self {
        Self {
            bits,
            start,
            cleared: 0,
        }
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.bits.len().saturating_sub(self.start)
    }

    #[cfg(feature = "experimental")]
    /// Returns whether the range of positions is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of positions that the presence section marked as present but the values as null. The
    /// caller adds them to the nulls of the section.
    pub fn cleared(&self) -> usize {
        self.cleared
    }

    /// Returns whether position `i` is present, as far as is known.
    pub(super) fn is_present(&self, i: usize) -> bool {
        self.bits.get_bit(self.start + i)
    }

    /// Marks position `i` as null.
    pub(super) fn clear(&mut self, i: usize) {
        if self.is_present(i) {
            self.bits.set_bit(self.start + i, false);
            self.cleared += 1;
        }
    }
}

impl std::fmt::Debug for NullsOut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NullsOut")
            .field("len", &self.len())
            .field("cleared", &self.cleared)
            .finish_non_exhaustive()
    }
}
