//! The last bytes of a Lance file.

use arrow_shard::{Error, ErrorKind, Result};

/// Bytes of a footer.
pub(super) const FOOTER_BYTES: usize = 40;
/// Bytes of an entry of a table: position and size.
const ENTRY_BYTES: u64 = 16;
const MAGIC: [u8; 4] = *b"LANC";

/// Checks the numbers in a footer against the size of the file: the Lance crates allocate what they say.
///
/// The footer, as `file2.proto` of Lance draws it, in little-endian numbers:
///
/// ```text
/// u64 start of the column metadata
/// u64 start of the table of column metadata
/// u64 start of the table of global buffers
/// u32 number of global buffers
/// u32 number of columns
/// u16 major version, u16 minor version, "LANC"
/// ```
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) if the file is not of Lance or a table is beyond its end.
pub(super) fn check(footer: &[u8; FOOTER_BYTES], size: u64) -> Result<()> {
    let corrupt = |why: String| Err(Error::new(ErrorKind::Corrupt, why));
    if footer[36..] != MAGIC {
        return corrupt(
            "it is not a Lance file, or its end is missing: the last bytes are not `LANC`"
                .to_owned(),
        );
    }
    if is_old(u16_at(footer, 32), u16_at(footer, 34)) {
        // Not a footer; a later check returns the error.
        return Ok(());
    }
    for (table, start, entries) in [
        ("columns", u64_at(footer, 8), u32_at(footer, 28)),
        ("global buffers", u64_at(footer, 16), u32_at(footer, 24)),
    ] {
        let end = start.checked_add(u64::from(entries) * ENTRY_BYTES);
        if end.is_none_or(|end| end > size) {
            return corrupt(format!(
                "the table of {entries} {table} begins at byte {start} and does not fit into the file, which has \
                 {size} bytes"
            ));
        }
    }
    Ok(())
}

/// Whether the version is older than 2.0, which some footers call 0.3.
fn is_old(major: u16, minor: u16) -> bool {
    major == 0 && minor < 3
}

fn u64_at(bytes: &[u8; FOOTER_BYTES], at: usize) -> u64 {
    u64::from(u32_at(bytes, at + 4)) << 32 | u64::from(u32_at(bytes, at))
}

fn u32_at(bytes: &[u8; FOOTER_BYTES], at: usize) -> u32 {
    u32::from(u16_at(bytes, at + 2)) << 16 | u32::from(u16_at(bytes, at))
}

fn u16_at(bytes: &[u8; FOOTER_BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer(columns: u32, start: u64) -> [u8; FOOTER_BYTES] {
        let mut bytes = Vec::new();
        for number in [100u64, start, 500] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [2u32, columns] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([2, 0, 1, 0]);
        bytes.extend(MAGIC);
        bytes.try_into().unwrap()
    }

    #[test]
    fn tables_end_within_the_file() {
        assert!(check(&footer(3, 400), 600).is_ok());
        for (columns, start) in [(30, 400), (3, 600), (u32::MAX, 400), (1, u64::MAX)] {
            let error = check(&footer(columns, start), 600).unwrap_err();
            assert!(error.to_string().contains("columns"), "{error}");
        }
        let error = check(&[0; FOOTER_BYTES], 600).unwrap_err();
        assert!(error.to_string().contains("LANC"), "{error}");
    }
}
