//! The integer types of columns.

use crate::error::{Error, Result};
use crate::interop::cole::cursor::Cursor;
use crate::interop::cole::varint::{self, unzigzag, zigzag};

/// A signed integer of 32 or 64 bits.
pub(in crate::interop::cole) trait Integer:
    Copy + Ord + Into<i64>
{
    /// Bytes of a value.
    const WIDTH: usize;

    /// Reads a value that is not encoded.
    fn read(cursor: &mut Cursor<'_>) -> Result<Self>;

    /// Appends a value without encoding.
    fn write(self, out: &mut Vec<u8>);

    /// Converts a value, or returns `None` if it does not fit the type.
    fn from_i64(value: i64) -> Option<Self>;

    /// Returns the difference from another value. It wraps around in the width of the type, so it always fits the type.
    fn delta(self, from: Self) -> i64;

    /// Adds a difference; the result may wrap around. Returns `None` if no two values of the type have this difference.
    fn add(self, delta: i64) -> Option<Self>;

    /// Reads a value that is stored as a zigzag varint.
    fn read_varint(cursor: &mut Cursor<'_>) -> Result<Self> {
        let value = unzigzag(varint::read(cursor)?);
        Self::from_i64(value).ok_or_else(|| too_wide(value))
    }

    /// Returns the zigzag form of the difference from another value.
    fn zigzag_delta(self, from: Self) -> u64 {
        zigzag(self.delta(from))
    }
}

#[cold]
pub(super) fn too_wide(value: i64) -> Error {
    Error::corrupt(format!("{value} does not fit the type of the column"))
}

impl Integer for i32 {
    const WIDTH: usize = 4;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        Ok(Self::from_le_bytes(cursor.array()?))
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn from_i64(value: i64) -> Option<Self> {
        Self::try_from(value).ok()
    }

    fn delta(self, from: Self) -> i64 {
        self.wrapping_sub(from).into()
    }

    fn add(self, delta: i64) -> Option<Self> {
        // Other writers may compute differences in 64 bits, without wrapping around.
        let exact = i64::from(self).checked_add(delta).and_then(Self::from_i64);
        exact.or_else(|| Some(self.wrapping_add(Self::from_i64(delta)?)))
    }
}

impl Integer for i64 {
    const WIDTH: usize = 8;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        cursor.i64()
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn from_i64(value: i64) -> Option<Self> {
        Some(value)
    }

    fn delta(self, from: Self) -> i64 {
        self.wrapping_sub(from)
    }

    fn add(self, delta: i64) -> Option<Self> {
        Some(self.wrapping_add(delta))
    }
}
