//! Spec: COLE 1.0, "File Header".
//!
//! ```text
//!  0        4       6       8
//! ┌────────┬───────┬───────┐
//! │ "COLE" │ major │ minor │
//! └────────┴───────┴───────┘
//! ```

use super::cursor::Cursor;
use crate::error::{Error, ErrorKind, Result};

/// Bytes of the header.
pub(super) const HEADER_LEN: usize = 8;

const MAGIC: [u8; 4] = 0x454C_4F43_u32.to_le_bytes();
const MAJOR: u16 = 1;
const MINOR: u16 = 0;

/// Returns the header of the files that this crate writes.
pub(super) fn header() -> [u8; HEADER_LEN] {
    let [a, b, c, d] = MAGIC;
    let ([e, f], [g, h]) = (MAJOR.to_le_bytes(), MINOR.to_le_bytes());
    [a, b, c, d, e, f, g, h]
}

/// Checks a header.
///
/// # Errors
/// Returns [`Corrupt`](ErrorKind::Corrupt) if these are not the first bytes of a COLE file, and
/// [`UnsupportedVersion`](ErrorKind::UnsupportedVersion) for a major version other than 1.
pub(super) fn check_header(bytes: &[u8]) -> Result<()> {
    let mut cursor = Cursor::new(bytes);
    let magic: [u8; 4] = cursor.array()?;
    if magic != MAGIC {
        return Err(Error::corrupt(format!(
            "this is not a COLE file: it begins with \"{}\", expected \"COLE\"",
            magic.escape_ascii()
        )));
    }
    match (cursor.u16()?, cursor.u16()?) {
        (MAJOR, _) => Ok(()),
        (major, minor) => Err(Error::new(
            ErrorKind::UnsupportedVersion,
            format!("the file has version {major}.{minor} of COLE, expected {MAJOR}.{MINOR}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_begin_with_cole_and_a_version() {
        assert_eq!(&header(), b"COLE\x01\0\0\0");
        check_header(&header()).unwrap();
        check_header(b"COLE\x01\0\x07\0").unwrap();
        let error = check_header(b"COLE\x02\0\0\0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
        let error = check_header(b"PAR1\x15\x04\x15\x10").unwrap_err();
        assert!(error.message().contains("\"PAR1\""), "{error}");
        assert!(check_header(b"COLE").is_err());
    }
}
