//! Distinguishes files of other formats from files that may be damaged directory files.

use crate::error::{Error, ErrorKind};
use crate::format::MAGIC;

/// Number of bytes at the start of a file that identify its format.
pub(super) const HEAD_BYTES: usize = 4096;

/// Number of bytes at the end of a file that show whether it ends as a shard or a Lance file does.
pub(super) const TAIL_BYTES: usize = crate::format::HEADER_LEN;

/// First bytes of formats that are often stored with shards: tables, archives, images, programs.
const FORMATS: &[&[u8]] = &[
    b"PAR1",
    b"PARE",
    b"ARROW1",
    b"\xff\xff\xff\xff",
    b"FEA1",
    b"ORC",
    b"Obj\x01",
    b"VTXF",
    b"COLE",
    b"SQLite format 3\0",
    b"\x89HDF\r\n\x1a\n",
    b"CDF\x01",
    b"CDF\x02",
    b"\x93NUMPY",
    b"\x80\x02",
    b"\x80\x03",
    b"\x80\x04",
    b"\x80\x05",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
    b"\xff\x06\x00\x00sNaPpY",
    b"BZh",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"%PDF-",
    b"\x7fELF",
    b"\xcf\xfa\xed\xfe",
    b"\0asm",
    b"\0\0\0\x01Bud1",
    b"\xff\xfe",
    b"\xfe\xff",
];

/// Formats with a mark that is not at the start: its offset, and the mark.
const FORMATS_WITHIN: &[(usize, &[u8])] = &[(8, b"DUCK"), (257, b"ustar"), (4, b"ftyp")];

/// Last bytes of formats with a mark at the end only: data files and manifests of Lance.
const FORMATS_AT_END: &[&[u8]] = &[b"LANC"];

/// Whether the first and last bytes show that a file has another format. Any other file may be the rest of a damaged
/// shard, even an empty one.
pub(super) fn is_other_format(head: &[u8], tail: &[u8]) -> bool {
    let begins_as_shard = head.starts_with(&MAGIC) || MAGIC.starts_with(head);
    if begins_as_shard || tail.starts_with(&MAGIC) {
        return false;
    }
    let is_within = |(at, mark): &(usize, &[u8])| {
        let rest = head.get(*at..);
        rest.is_some_and(|rest| rest.starts_with(mark))
    };
    FORMATS.iter().any(|mark| head.starts_with(mark))
        || FORMATS_WITHIN.iter().any(is_within)
        || FORMATS_AT_END.iter().any(|mark| tail.ends_with(mark))
        || is_text(head)
}

/// Whether bytes are the start of a UTF-8 text. Metadata and values of shards contain control characters that texts
/// lack.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character may be incomplete.
        Err(error) if error.error_len().is_none() => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_usual = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\x0c' | '\x1b');
    !text.is_empty() && text.chars().all(is_usual)
}

/// Returns the error for a file that may be a damaged directory file.
pub(super) fn doubtful() -> Error {
    Error::new(
        ErrorKind::NotAShard,
        "the file is no shard and of no other format that is known: if it is a damaged directory file, the \
         files that it refers to must stay; restore it, or move it out of the folder, and vacuum again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShardWriter;
    use arrow_array::record_batch;

    #[test]
    fn files_of_other_formats_are_known() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let others: [&[u8]; 8] = [
            b"PAR1\x15\0",
            b"id,name\n1,\xc3\x85se\n",
            b"{\"a\": 1}",
            b"cut \xc3",
            b"\x1f\x8b\x08\0",
            b"\xff\xff\xff\xff\x10\0",
            &tar,
            b"\xd0\x9f\xd1\x80",
        ];
        for other in others {
            assert!(is_other_format(other, other), "{other:02x?}");
        }
        for left in [&b""[..], &[0; 100], b"amu", b"amud", b"\x01\x02", b"\xc3"] {
            assert!(!is_other_format(left, left), "{left:02x?}");
        }
        assert!(!is_other_format(b"text", b"amud\0\x01\0\0"));
    }

    #[test]
    fn cole_is_known_by_its_first_bytes_and_lance_by_its_last() {
        let (cole, lance) = (b"COLE\x01\0\0\0", b"\x02\0\x02\0LANC");
        assert!(is_other_format(cole, b"\0\0\0\0\0\0\0\0"));
        assert!(is_other_format(b"\x08\x07\x12", lance));
        // Elsewhere, the same bytes may be values of a damaged shard.
        assert!(!is_other_format(b"\0COLE", b"COLE\x01\0\0\0"));
        assert!(!is_other_format(lance, b"LANC\x02\0\x02\0"));
        assert!(!is_other_format(b"amud\0\x01\0\0", lance));
    }

    #[test]
    fn a_shard_of_which_a_part_is_lost_has_no_other_format() {
        let texts: Vec<String> = (0..200).map(|i| format!("a text, number {i}\n")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let batch = record_batch!(("text", Utf8, texts)).unwrap();
        let mut file = Vec::new();
        let options = crate::WriterOptions::default().with_profile(crate::write::Profile::Plain);
        let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        for bit in 0..64 {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let head = &damaged[..HEAD_BYTES.min(damaged.len())];
            assert!(!is_other_format(head, &[0; 8]), "bit {bit}");
        }
        for cut in 1..file.len() {
            assert!(!is_other_format(&file[..cut.min(HEAD_BYTES)], &[0; 8]));
        }
    }
}
