//! Reads bytes and the integers that Parquet and Thrift store in as few of them as possible.

/// Bytes, and a position among them.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes that have been read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns the bytes that have not been read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, _) = self.rest().split_at_checked(len)?;
        self.at += len;
        Some(taken)
    }

    /// Reads an unsigned integer of seven bits a byte, the lowest first.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            shift += 7;
        }
    }

    /// Reads a signed integer, stored as an unsigned one with the sign in the lowest bit.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

/// Returns value `index` of values of `width` bits, up to 32, packed from the lowest bit of each byte on. Bits after
/// the end are 0.
pub(super) fn unpack(bytes: &[u8], width: u32, index: usize) -> u64 {
    let bit = index.saturating_mul(width as usize);
    let rest = bytes.get(bit / 8..).unwrap_or_default();
    let word = rest.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(rest) {
            *to = *from;
        }
        word
    });
    (u64::from_le_bytes(word) >> (bit % 8)) & ((1 << width) - 1)
}
