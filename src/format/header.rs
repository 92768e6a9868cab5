//! Spec: Chapter 6, "Shard Directory" (the Amudai header and footer).
//!
//! ```text
//!  0         4       5         7       8
//! ┌─────────┬───────┬─────────┬───────┐
//! │  magic  │ patch │  minor  │ major │
//! └─────────┴───────┴─────────┴───────┘
//! ```
//! Every file starts with these eight bytes, and ends with a footer of the same eight bytes.

use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// First four bytes of the header and of the footer.
pub const MAGIC: [u8; 4] = *b"amud";

/// Length of the header, and of the footer, in bytes.
pub const HEADER_LEN: usize = 8;

/// The header and the footer that this crate writes.
pub const HEADER: [u8; HEADER_LEN] = FormatVersion::CURRENT.to_bytes();

/// Version of the format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormatVersion {
    /// Incompatible changes. Readers reject later versions than they know.
    pub major: u8,
    /// Additions that old readers can ignore.
    pub minor: u16,
    /// Corrections.
    pub patch: u8,
}

impl FormatVersion {
    /// The version that this crate writes, 0.1.0.
    pub const CURRENT: Self = Self {
        major: 0,
        minor: 1,
        patch: 0,
    };

    /// Returns the header and footer of a file of this version.
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, d] = MAGIC;
        let [low, high] = self.minor.to_le_bytes();
        [a, b, c, d, self.patch, low, high, self.major]
    }

    /// Parses a header or a footer. `place` names it in errors.
    ///
    /// # Errors
    /// [`NotAShard`](ErrorKind::NotAShard) unless these are eight bytes that begin with the magic number;
    /// [`UnsupportedVersion`](ErrorKind::UnsupportedVersion) if the major version is unknown.
    ///
    /// ```
    /// use arrow_shard::format::{FormatVersion, HEADER};
    /// assert_eq!(FormatVersion::parse(&HEADER, "header")?, FormatVersion::CURRENT);
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    pub fn parse(bytes: &[u8], place: &str) -> Result<Self> {
        let Ok(&[a, b, c, d, patch, low, high, major]) = <&[u8; HEADER_LEN]>::try_from(bytes)
        else {
            return Err(Error::new(
                ErrorKind::NotAShard,
                format!(
                    "the {place} has {} bytes instead of {HEADER_LEN}",
                    bytes.len()
                ),
            ));
        };
        let magic = [a, b, c, d];
        if magic != MAGIC {
            return Err(Error::new(
                ErrorKind::NotAShard,
                format!("the {place} begins with {magic:02x?} instead of {MAGIC:02x?} (\"amud\")"),
            ));
        }
        let version = Self {
            major,
            minor: u16::from_le_bytes([low, high]),
            patch,
        };
        if major > Self::CURRENT.major {
            return Err(Error::new(
                ErrorKind::UnsupportedVersion,
                format!(
                    "the {place} says version {version}, and this reader knows major versions up to {}",
                    Self::CURRENT.major
                ),
            ));
        }
        Ok(version)
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_the_eight_bytes_of_the_reference() {
        assert_eq!(HEADER, [0x61, 0x6D, 0x75, 0x64, 0, 1, 0, 0]);
    }

    #[test]
    fn only_an_unknown_major_version_is_refused() {
        let mut header = HEADER;
        header[4..7].copy_from_slice(&[9, 9, 9]);
        let version = FormatVersion::parse(&header, "header").unwrap();
        assert_eq!((version.minor, version.patch), (0x0909, 9));
        header[7] = 1;
        let error = FormatVersion::parse(&header, "footer").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
    }

    #[test]
    fn other_magic_or_length_is_not_a_shard() {
        for bytes in [&b"PAR1\0\x01\0\0"[..], &HEADER[..7], b""] {
            let error = FormatVersion::parse(bytes, "header").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotAShard);
        }
    }
}
