//! Sequential reading of numbers, with bounds checks.

use crate::error::{Error, Result};

/// A reader of bytes, whose position moves forward with each read.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

macro_rules! numbers {
    ($($name:ident: $ty:ty;)*) => {$(
        /// Reads a little-endian number.
        pub(super) fn $name(&mut self) -> Result<$ty> {
            Ok(<$ty>::from_le_bytes(self.array()?))
        }
    )*};
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns the number of bytes that have been read.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Returns the number of bytes that have not been read.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Reads `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let taken = rest.get(..len).ok_or_else(|| {
            Error::corrupt(format!(
                "expected {len} bytes at byte {}, found {}",
                self.position,
                rest.len()
            ))
        })?;
        self.position += len;
        Ok(taken)
    }

    /// Reads a length of 32 bits, and then bytes of this length.
    pub(super) fn take_prefixed(&mut self) -> Result<&'a [u8]> {
        let len = self.u32()?;
        self.take(len as usize)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    numbers! {
        u16: u16;
        u32: u32;
        u64: u64;
        i64: i64;
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a byte that says whether an optional value follows: 0 or 1.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::corrupt(format!(
                "{name} is {other}, expected 0 or 1"
            ))),
        }
    }

    /// Ends a structure. Refuses bytes that have not been read.
    pub(super) fn finish(self) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            rest => Err(Error::corrupt(format!(
                "{rest} bytes follow after the last value"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_read_goes_beyond_the_end() {
        let mut cursor = Cursor::new(&[1, 2, 0, 0, 0, 7, 8, 9]);
        assert!(cursor.flag("it").unwrap());
        assert_eq!(cursor.take_prefixed().unwrap(), [7, 8]);
        assert_eq!(cursor.remaining(), 1);
        assert!(cursor.u16().is_err());
        assert_eq!(
            cursor.clone().finish().unwrap_err().message(),
            "1 bytes follow after the last value"
        );
        assert_eq!(cursor.u8().unwrap(), 9);
        assert!(cursor.u8().is_err());
        cursor.finish().unwrap();
    }
}
