//! Spec: COLE 1.0, "Encoding Types".

use super::cursor::Cursor;
use crate::error::{Error, Result};
use std::fmt;

/// The encoding of the values of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// Integers without encoding; offsets and bytes of strings.
    Plain,
    /// Runs of equal values.
    Rle,
    /// The first integer, and the difference of each later one from its predecessor.
    Delta,
    /// Distinct strings, and the code of each value's string.
    Dictionary,
}

impl Encoding {
    /// Every encoding, by code.
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::Rle, Self::Delta, Self::Dictionary];

    /// Returns the byte that represents the encoding in a file.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Rle => 1,
            Self::Delta => 2,
            Self::Dictionary => 3,
        }
    }

    /// Reads the byte of an encoding.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let code = cursor.u8()?;
        Self::ALL
            .get(usize::from(code))
            .copied()
            .ok_or_else(|| Error::corrupt(format!("encoding {code} is unknown, expected 0 to 3")))
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "PLAIN",
            Self::Rle => "RLE",
            Self::Delta => "DELTA",
            Self::Dictionary => "DICTIONARY",
        })
    }
}
