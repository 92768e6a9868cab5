//! Spec: Chapter 7, the list of encoding codes.

use crate::error::{Error, Result};
use crate::kernels::NumberKind;
use std::fmt;

/// The encoding of a block or of a nested region. Its code is the first two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EncodingCode {
    /// Unencoded values.
    Plain,
    /// Bit-packed in FastLanes order.
    FlBitPack,
    /// Differences to the minimum, in a nested region.
    For,
    /// Bit-packed differences to the minimum.
    Ffor,
    /// Differences of neighbors, in a nested region.
    Delta,
    /// Runs of equal values.
    RunLength,
    /// One value for all positions.
    SingleValue,
    /// Low 8 bits.
    TruncateU8,
    /// Low 16 bits.
    TruncateU16,
    /// Low 32 bits.
    TruncateU32,
    /// All 64 bits, as unsigned integers.
    TruncateU64,
    /// Floats as decimal integers.
    Alp,
    /// Floats split into a dictionary-encoded and a bit-packed part.
    AlpRd,
    /// Codes into the distinct values of the block.
    BlockDictionary,
    /// Strings compressed with a table of symbols.
    Fsst,
    /// Zstandard.
    Zstd,
    /// LZ4 block format.
    Lz4,
    /// Signed integers folded into unsigned ones.
    ZigZag,
    /// Only the values that are not zero.
    Sparse,
    /// FSST, a few values at a time.
    FsstValues,
    /// FFOR with exceptions.
    PatchedFfor,
    /// Pco: numbers in bins of a distribution that was learned from them.
    Pco,
    /// Integers of 16 bytes, split into two halves.
    Split128,
    /// FFOR without padding, for few numbers.
    CompactFfor,
    /// Texts of one template, with their digits as numbers.
    Digits,
    /// Multiples of a number above the minimum, as quotients in a nested region.
    Multiples,
    /// Only the texts that are not empty, in a nested region.
    NonEmpty,
    /// A code that this build does not know.
    Other(u16),
}

impl EncodingCode {
    /// Returns the encoding with this code.
    pub fn from_u16(code: u16) -> Self {
        match code {
            1 => Self::Plain,
            2 => Self::FlBitPack,
            3 => Self::For,
            4 => Self::Ffor,
            5 => Self::Delta,
            6 => Self::RunLength,
            7 => Self::SingleValue,
            8 => Self::TruncateU8,
            9 => Self::TruncateU16,
            10 => Self::TruncateU32,
            11 => Self::TruncateU64,
            12 => Self::Alp,
            13 => Self::AlpRd,
            14 => Self::BlockDictionary,
            15 => Self::Fsst,
            16 => Self::Zstd,
            17 => Self::Lz4,
            18 => Self::ZigZag,
            19 => Self::Sparse,
            0x8001 => Self::FsstValues,
            0x8002 => Self::PatchedFfor,
            0x8003 => Self::Pco,
            0x8004 => Self::Split128,
            0x8005 => Self::CompactFfor,
            0x8006 => Self::Digits,
            0x8007 => Self::Multiples,
            0x8008 => Self::NonEmpty,
            other => Self::Other(other),
        }
    }

    /// Returns the code of the encoding.
    pub fn to_u16(self) -> u16 {
        match self {
            Self::Plain => 1,
            Self::FlBitPack => 2,
            Self::For => 3,
            Self::Ffor => 4,
            Self::Delta => 5,
            Self::RunLength => 6,
            Self::SingleValue => 7,
            Self::TruncateU8 => 8,
            Self::TruncateU16 => 9,
            Self::TruncateU32 => 10,
            Self::TruncateU64 => 11,
            Self::Alp => 12,
            Self::AlpRd => 13,
            Self::BlockDictionary => 14,
            Self::Fsst => 15,
            Self::Zstd => 16,
            Self::Lz4 => 17,
            Self::ZigZag => 18,
            Self::Sparse => 19,
            Self::FsstValues => 0x8001,
            Self::PatchedFfor => 0x8002,
            Self::Pco => 0x8003,
            Self::Split128 => 0x8004,
            Self::CompactFfor => 0x8005,
            Self::Digits => 0x8006,
            Self::Multiples => 0x8007,
            Self::NonEmpty => 0x8008,
            Self::Other(other) => other,
        }
    }

    /// Returns the name of the encoding, without its code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "Plain",
            Self::FlBitPack => "FLBitPack",
            Self::For => "FOR",
            Self::Ffor => "FFOR",
            Self::Delta => "Delta",
            Self::RunLength => "RunLength",
            Self::SingleValue => "SingleValue",
            Self::TruncateU8 => "TruncateU8",
            Self::TruncateU16 => "TruncateU16",
            Self::TruncateU32 => "TruncateU32",
            Self::TruncateU64 => "TruncateU64",
            Self::Alp => "ALP",
            Self::AlpRd => "ALPRD",
            Self::BlockDictionary => "BlockDictionary",
            Self::Fsst => "FSST",
            Self::Zstd => "ZSTD",
            Self::Lz4 => "LZ4",
            Self::ZigZag => "ZigZag",
            Self::Sparse => "Sparse",
            Self::FsstValues => "FsstValues",
            Self::PatchedFfor => "PatchedFFOR",
            Self::Pco => "Pco",
            Self::Split128 => "Split128",
            Self::CompactFfor => "CompactFFOR",
            Self::Digits => "Digits",
            Self::Multiples => "Multiples",
            Self::NonEmpty => "NonEmpty",
            Self::Other(_) => "unknown encoding",
        }
    }

    /// Reads the code at the start of encoded values.
    pub(crate) fn read(values: &[u8]) -> Result<Self> {
        match values.first_chunk::<2>() {
            Some(code) => Ok(Self::from_u16(u16::from_le_bytes(*code))),
            None => Err(Error::corrupt(format!(
                "expected an encoding code of 2 bytes, found {} bytes",
                values.len()
            ))),
        }
    }

    /// Appends the code, with which a region begins. Returns the start of the region.
    pub(crate) fn begin(self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&self.to_u16().to_le_bytes());
        start
    }

    /// Returns whether this build can decode the encoding.
    pub fn is_supported(self) -> bool {
        let is_left_out = self == Self::Zstd && cfg!(not(feature = "zstd"));
        !is_left_out && !matches!(self, Self::Other(_))
    }

    /// Returns whether the encoding is legal for numbers of this kind and of `width` bytes.
    pub fn suits_numbers(self, kind: NumberKind, width: usize) -> bool {
        use NumberKind::{Float, Signed, Unsigned};
        match self {
            Self::Plain
            | Self::RunLength
            | Self::SingleValue
            | Self::BlockDictionary
            | Self::Zstd
            | Self::Lz4
            | Self::Sparse => true,
            Self::FlBitPack => kind == Unsigned,
            Self::For | Self::Ffor | Self::Delta | Self::PatchedFfor | Self::CompactFfor => {
                kind != Float
            }
            Self::TruncateU8 => kind == Signed && width > 1,
            Self::TruncateU16 => kind == Signed && width > 1,
            Self::TruncateU32 => kind == Signed && width > 2,
            Self::TruncateU64 => kind == Signed && width > 4,
            Self::ZigZag => kind == Signed,
            Self::Alp | Self::AlpRd => kind == Float && width >= 4,
            Self::Pco => width > 1,
            Self::Multiples => kind != Float && width > 1,
            Self::Fsst
            | Self::FsstValues
            | Self::Split128
            | Self::Digits
            | Self::NonEmpty
            | Self::Other(_) => false,
        }
    }

    /// Returns whether the encoding is legal for byte strings. `fixed` is the size of each, if it is fixed.
    pub fn suits_bytes(self, fixed: Option<usize>) -> bool {
        match self {
            Self::Plain
            | Self::SingleValue
            | Self::BlockDictionary
            | Self::Fsst
            | Self::FsstValues
            | Self::Zstd
            | Self::Lz4 => true,
            Self::Split128 => fixed == Some(16),
            Self::Digits | Self::NonEmpty => fixed.is_none(),
            _ => false,
        }
    }

    /// Returns the error for an encoding that this build cannot decode.
    pub(crate) fn unsupported(self) -> Error {
        Error::unsupported(format!(
            "blocks encoded as {self} cannot be decoded by this build"
        ))
    }
}

impl fmt::Display for EncodingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.to_u16())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_keeps_its_number() {
        for code in (0..100).chain([
            0x8001,
            0x8002,
            0x8003,
            0x8004,
            0x8005,
            0x8006,
            0x8007,
            0x8008,
            0x8fff,
            u16::MAX,
        ]) {
            assert_eq!(EncodingCode::from_u16(code).to_u16(), code);
        }
        assert_eq!(EncodingCode::Delta.to_string(), "Delta (5)");
    }
}
