//! Spec: COLE 1.0, "Footer (Safe Terminator)".
//!
//! ```text
//!  0       4                    12
//! ┌───────┬────────────────────┐
//! │ magic │ offset of metadata │
//! └───────┴────────────────────┘
//! ```

use super::cursor::Cursor;
use super::header::HEADER_LEN;
use crate::error::{Error, Result};
use crate::io::ByteRange;

/// Bytes of the footer.
pub(super) const FOOTER_LEN: usize = 12;

/// The magic number of the specification in little-endian bytes, "TOOF". This crate writes it.
const MAGIC: [u8; 4] = 0x464F_4F54_u32.to_le_bytes();
/// The magic number in big-endian bytes, the word of the specification. Readers accept it, too.
const MAGIC_AS_WORD: [u8; 4] = *b"FOOT";

/// Returns the footer of a file.
pub(super) fn footer(metadata_offset: u64) -> [u8; FOOTER_LEN] {
    let mut footer = [0; FOOTER_LEN];
    footer[..4].copy_from_slice(&MAGIC);
    footer[4..].copy_from_slice(&metadata_offset.to_le_bytes());
    footer
}

/// Reads the footer of a file of `size` bytes, and returns the range of the metadata.
///
/// # Errors
/// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a footer, or if the metadata do not lie between the
/// header and the footer.
pub(super) fn read_footer(bytes: &[u8], size: u64) -> Result<ByteRange> {
    let mut cursor = Cursor::new(bytes);
    let magic: [u8; 4] = cursor.array()?;
    if magic != MAGIC && magic != MAGIC_AS_WORD {
        return Err(Error::corrupt(format!(
            "the footer begins with \"{}\", expected \"TOOF\" or \"FOOT\"; the end of the file may be missing",
            magic.escape_ascii()
        )));
    }
    let start = cursor.u64()?;
    let end = size.saturating_sub(FOOTER_LEN as u64);
    if start < HEADER_LEN as u64 || start > end {
        return Err(Error::corrupt(format!(
            "the footer says that the metadata begin at byte {start}, expected {HEADER_LEN} to {end}"
        )));
    }
    ByteRange::try_new(start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_the_magic_are_read() {
        let written = footer(20);
        assert_eq!(written, *b"TOOF\x14\0\0\0\0\0\0\0");
        let range = read_footer(&written, 100).unwrap();
        assert_eq!((range.start(), range.end()), (20, 88));
        let word = *b"FOOT\x14\0\0\0\0\0\0\0";
        assert_eq!(read_footer(&word, 100).unwrap(), range);
        assert!(read_footer(b"fOOT\x14\0\0\0\0\0\0\0", 100).is_err());
    }

    #[test]
    fn metadata_lie_between_header_and_footer() {
        for (offset, is_inside) in [
            (7, false),
            (8, true),
            (88, true),
            (89, false),
            (u64::MAX, false),
        ] {
            assert_eq!(
                read_footer(&footer(offset), 100).is_ok(),
                is_inside,
                "{offset}"
            );
        }
    }
}
