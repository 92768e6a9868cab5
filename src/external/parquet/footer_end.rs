//! The end of a Parquet file: its footer, the length of the footer, and a magic number.

use super::leaf::MAX_GROUPS;
use super::thrift::{check_footer, has_field};
use crate::error::{Error, Result};

/// Bytes that are read first: the footers of most files.
pub(crate) const TAIL_BYTES: u64 = 64 << 10;
/// Length of the footer and magic number, which end a file.
const END_BYTES: usize = 8;
/// Magic number at the end of a file.
const MAGIC: &[u8] = b"PAR1";
/// Magic number at the end of a file with an encrypted footer.
const ENCRYPTED_MAGIC: &[u8] = b"PARE";
/// End of a footer that is not signed: the last of its column orders, and the end of the footer.
const UNSIGNED_END: &[u8] = &[0x1c, 0, 0, 0];
/// Id of `encryption_algorithm` in the footer.
const ENCRYPTION_ALGORITHM: i64 = 8;

/// Returns the bytes of the footer with its end, given the last bytes of a file.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if they are not the end of a Parquet file,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if the footer is encrypted.
pub(crate) fn footer_len(tail: &[u8], size: u64) -> Result<u64> {
    let none =
        || Error::corrupt("this is not a Parquet file, or a part of one: `PAR1` is not at its end");
    let [a, b, c, d, magic @ ..] = *tail.last_chunk::<END_BYTES>().ok_or_else(none)?;
    if magic == ENCRYPTED_MAGIC {
        return Err(Error::unsupported("an encrypted Parquet footer"));
    }
    let len = u64::from(u32::from_le_bytes([a, b, c, d])) + END_BYTES as u64;
    if magic != MAGIC || len > size {
        return Err(none());
    }
    Ok(len)
}

/// Returns the metadata in a footer with its end, if they can be decoded safely.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if they are damaged, [`Unsupported`](crate::ErrorKind::Unsupported) if the
/// file has encrypted columns, whose pages look like damaged ones.
pub(crate) fn metadata_of_footer(footer: &[u8]) -> Result<&[u8]> {
    let len = footer.len().saturating_sub(END_BYTES);
    let metadata = footer.get(..len).unwrap_or_default();
    // A signature follows the footer of a file with encrypted columns. Most other footers have this end, so that few
    // are read twice.
    if !metadata.ends_with(UNSIGNED_END) && has_field(metadata, ENCRYPTION_ALGORITHM) {
        return Err(Error::unsupported("a Parquet file with encrypted columns"));
    }
    check_footer(metadata, MAX_GROUPS)?;
    Ok(metadata)
}
