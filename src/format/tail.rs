//! Spec: Chapter 6, "Shard Directory" (the end of a directory file).
//!
//! ```text
//! ┌───────────────────────────────────────────────┬────────────┬────────┐
//! │ frame of the ShardDirectory                   │ length u32 │ footer │
//! │ (length u32, ShardDirectory, checksum u32)    │ once again │ 8 B    │
//! └───────────────────────────────────────────────┴────────────┴────────┘
//! ```

use super::foreign::Foreign;
use super::frame::FRAME_OVERHEAD;
use super::header::{FormatVersion, HEADER_LEN, MAGIC};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::ByteRange;
use crate::limits::Limits;

/// Size of the smallest directory file in bytes: header, empty frame, length and footer.
const MIN_FILE_LEN: u64 = 28;

/// The end of a directory file, after the frame of the `ShardDirectory`.
#[derive(Debug, Clone, Copy)]
pub struct DirectoryTail;

impl DirectoryTail {
    /// Bytes of the tail: the repeated length and the footer.
    pub const LEN: usize = 4 + HEADER_LEN;

    /// Returns the range of the frame of the `ShardDirectory` in a file of `file_size` bytes that ends with
    /// `last_bytes`. These must be the last [`LEN`](Self::LEN) bytes or more, or the whole file if it is shorter.
    /// If the frame begins before them, the caller has to read it.
    ///
    /// # Errors
    /// [`NotAShard`](ErrorKind::NotAShard) if the file is too short or has no footer, unless `last_bytes` is
    /// the whole file and begins with the magic number,
    /// [`UnsupportedVersion`](ErrorKind::UnsupportedVersion) for the version in the footer,
    /// [`Corrupt`](ErrorKind::Corrupt) if the file was truncated or its two lengths disagree, and
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) if the directory is too large.
    pub fn locate(last_bytes: &[u8], file_size: u64, limits: &Limits) -> Result<ByteRange> {
        let given = u64::try_from(last_bytes.len()).unwrap_or(u64::MAX);
        if file_size < MIN_FILE_LEN {
            let kind = if given == file_size && last_bytes.starts_with(&MAGIC) {
                ErrorKind::Corrupt
            } else {
                let end = last_bytes.get(last_bytes.len().saturating_sub(HEADER_LEN)..);
                let end = end.unwrap_or_default();
                let is_whole = given == file_size;
                if is_whole && (is_text(end) || Foreign::of(last_bytes, end).is_some()) {
                    return Err(Self::no_footer(last_bytes, end));
                }
                ErrorKind::NotAShard
            };
            return Err(Error::new(
                kind,
                format!(
                    "a file of {file_size} bytes is shorter than the {MIN_FILE_LEN} bytes of the smallest shard"
                ),
            ));
        }
        let parts = last_bytes
            .split_last_chunk::<HEADER_LEN>()
            .and_then(|(rest, footer)| Some((rest.split_last_chunk::<4>()?, footer)));
        let Some(((frame, len), footer)) = parts.filter(|_| given <= file_size) else {
            return Err(Error::invalid(format!(
                "{given} bytes cannot be the last ones of a file of {file_size} bytes, of which at least {} are needed",
                Self::LEN
            )));
        };
        if !footer.starts_with(&MAGIC) {
            let head = if given == file_size { last_bytes } else { &[] };
            return Err(Self::no_footer(head, footer));
        }
        FormatVersion::parse(footer, "footer")?;

        let len = u64::from(u32::from_le_bytes(*len));
        if len > file_size - MIN_FILE_LEN {
            return Err(Error::corrupt(format!(
                "the file ends with a directory length of {len} bytes, but has only {file_size} bytes in all: \
                 it was cut, or is no directory file (data files of stripes have the same footer)"
            )));
        }
        limits
            .check_message_bytes(len)
            .within(|| "shard directory".to_owned())?;
        // file_size >= MIN_FILE_LEN + len, so neither difference wraps.
        let end = file_size - 12;
        let range = ByteRange::try_new(end - len - 8, end)?;
        if let Some(leading) = leading_len(frame, range.len())
            && u64::from(leading) != len
        {
            return Err(Error::corrupt(format!(
                "the directory's leading length is {leading} bytes, and its trailing one {len}: the file was damaged, or is no directory file"
            )));
        }
        Ok(range)
    }

    /// Returns the error for a file that is not a shard, from its first and last bytes. If the first bytes are
    /// unknown, `head` is empty.
    pub fn no_footer(head: &[u8], footer: &[u8]) -> Error {
        if head.starts_with(&MAGIC) {
            return Error::corrupt(format!(
                "the file begins as a shard, but ends with {footer:02x?} instead of a footer: it was cut, or never finished"
            ));
        }
        let why = match Foreign::of(head, footer) {
            Some(foreign) => foreign.advice(),
            None if is_text(footer) => format!(
                "the file ends with the text {:?} instead of a footer that begins with \"amud\"; CSV and JSON \
                 can be converted (arrow-shard convert)",
                String::from_utf8_lossy(footer)
            ),
            None => format!(
                "the file ends with {footer:02x?} instead of a footer that begins with {MAGIC:02x?} (\"amud\")"
            ),
        };
        Error::new(ErrorKind::NotAShard, why)
    }
}

/// Returns whether bytes are text. They may begin in the middle of a character.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !matches!(byte, 0x80..=0xBF));
    let text = bytes.get(start.unwrap_or(bytes.len())..);
    let text = text.and_then(|text| std::str::from_utf8(text).ok());
    let is_blank = |c: char| matches!(c, '\t' | '\n' | '\r');
    text.is_some_and(|text| {
        !text.is_empty() && text.chars().all(|c| is_blank(c) || !c.is_control())
    })
}

/// Returns the length at the start of the frame of `frame_len` bytes at the end of `bytes`, if `bytes` contains
/// the start.
fn leading_len(bytes: &[u8], frame_len: u64) -> Option<u32> {
    let frame_len = usize::try_from(frame_len).ok()?;
    debug_assert!(frame_len >= FRAME_OVERHEAD);
    let start = bytes.len().checked_sub(frame_len)?;
    let first = bytes.get(start..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{HEADER, open, seal};

    fn file(payload: &[u8]) -> Vec<u8> {
        let mut file = HEADER.to_vec();
        file.extend_from_slice(&[0; 56]);
        file.extend_from_slice(&seal(payload).unwrap());
        file.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        file.extend_from_slice(&HEADER);
        file
    }

    fn locate(file: &[u8], window: usize) -> Result<ByteRange> {
        let size = file.len() as u64;
        DirectoryTail::locate(&file[file.len() - window..], size, &Limits::default())
    }

    #[test]
    fn the_frame_is_found_with_any_number_of_last_bytes() {
        let file = file(b"directory");
        for window in DirectoryTail::LEN..=file.len() {
            let range = locate(&file, window).unwrap().to_usize().unwrap();
            assert_eq!(open(&file[range]).unwrap(), b"directory");
        }
        assert_eq!(
            locate(&file, 11).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }

    #[test]
    fn the_smallest_file_has_28_bytes() {
        let mut smallest = HEADER.to_vec();
        smallest.extend_from_slice(&seal(b"").unwrap());
        smallest.extend_from_slice(&[0; 4]);
        smallest.extend_from_slice(&HEADER);
        assert_eq!(locate(&smallest, 28).unwrap().start(), 8);
        let short = locate(&smallest[..27], 27).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::Corrupt);
        assert!(short.message().contains("27 bytes"), "{short}");
        let other = locate(&[b'x'; 27], 27).unwrap_err();
        assert_eq!(other.kind(), ErrorKind::NotAShard);
    }

    #[test]
    fn a_short_text_is_told_from_a_short_file() {
        let error = |bytes: &[u8]| {
            let size = bytes.len() as u64;
            DirectoryTail::locate(bytes, size, &Limits::default()).unwrap_err()
        };
        for (bytes, advice) in [
            (&b"a,b\n1,2\n"[..], "arrow-shard convert"),
            (b"PAR1", "Parquet"),
            (b"\0\x01\xff", "smallest shard"),
            (b"", "smallest shard"),
        ] {
            let error = error(bytes);
            assert_eq!(error.kind(), ErrorKind::NotAShard);
            assert!(error.to_string().contains(advice), "{error}");
        }
    }

    #[test]
    fn a_cut_file_is_told_from_a_foreign_one() {
        let file = file(b"directory");
        for len in 28..file.len() {
            let error = locate(&file[..len], len).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}: {error}");
        }
        let error = locate(&[b'x'; 100], 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAShard);
    }

    #[test]
    fn lengths_that_disagree_are_corrupt() {
        let mut bad = file(b"directory");
        let trailing = bad.len() - 12;
        bad[trailing] -= 1;
        let error = locate(&bad, bad.len()).unwrap_err();
        assert!(error.message().contains("leading length"), "{error}");
        bad[trailing + 3] = 1;
        let error = locate(&bad, bad.len()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("in all"), "{error}");
    }

    #[test]
    fn a_directory_above_the_limit_is_refused() {
        let file = file(b"directory");
        let limits = Limits::default().with_max_message_bytes(8);
        let error = DirectoryTail::locate(&file, file.len() as u64, &limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}
