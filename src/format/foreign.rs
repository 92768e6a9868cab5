//! Recognises files of other formats by their first and last bytes.

/// The format of a file that is not a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// Data in a format that the command line converts.
    Data(&'static str),
    /// Data in any other format.
    Other(&'static str),
    /// Data of any format, compressed by a program.
    Compressed(&'static str),
}

/// Magic numbers at the start of files.
const HEADS: [(&[u8], Foreign); 15] = [
    (b"PAR1", PARQUET),
    (b"PARE", PARQUET),
    (b"ARROW1\0\0", ARROW),
    (b"COLE", Foreign::Data("a COLE file")),
    (b"FEA1", Foreign::Other("a Feather file of version 1")),
    (b"\xFF\xFF\xFF\xFF", Foreign::Data("an Arrow IPC stream")),
    (b"ORC", Foreign::Other("an ORC file")),
    (b"Obj\x01", Foreign::Other("an Avro file")),
    (b"SQLite f", Foreign::Other("an SQLite database")),
    (b"PK\x03\x04", Foreign::Other("a ZIP archive")),
    (b"\x1F\x8B", Foreign::Compressed("gzip")),
    (b"\x28\xB5\x2F\xFD", Foreign::Compressed("zstd")),
    (b"\xFD7zXZ\0", Foreign::Compressed("xz")),
    (b"\x04\x22\x4D\x18", Foreign::Compressed("lz4")),
    (b"BZh", Foreign::Compressed("bzip2")),
];
/// Magic numbers at the end of files.
const TAILS: [(&[u8], Foreign); 3] = [(b"PAR1", PARQUET), (b"PARE", PARQUET), (b"ARROW1", ARROW)];
const PARQUET: Foreign = Foreign::Data("a Parquet file");
const ARROW: Foreign = Foreign::Data("an Arrow IPC file");

impl Foreign {
    /// Returns the format of a file if it has a known magic number. Either end of the file may be empty.
    pub(crate) fn of(head: &[u8], tail: &[u8]) -> Option<Self> {
        let begins = HEADS.iter().find(|(magic, _)| head.starts_with(magic));
        let found = begins.or_else(|| TAILS.iter().find(|(magic, _)| tail.ends_with(magic)));
        found.map(|(_, format)| *format)
    }

    /// Returns a text that names the format, and how to convert the file to a shard.
    pub(crate) fn advice(self) -> String {
        match self {
            Self::Data(format) => {
                format!("this is {format}; convert it first (arrow-shard convert)")
            }
            Self::Other(format) => format!("this is {format}"),
            Self::Compressed(program) => format!(
                "this file is compressed with {program}; decompress it, and convert the data in it \
                 (arrow-shard convert)"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_end_tells_the_format() {
        for (head, tail, want) in [
            (
                &b"PAR1\x15\x04"[..],
                &b"\0\0PAR1"[..],
                Some("a Parquet file;"),
            ),
            (b"", b"\0\0PAR1", Some("a Parquet file;")),
            (b"", b"\0\0ARROW1", Some("an Arrow IPC file;")),
            (b"\x1F\x8B\x08", b"", Some("compressed with gzip")),
            (b"\x28\xB5\x2F\xFD", b"\0PAR1", Some("compressed with zstd")),
            (
                b"COLE\x01\0\0\0",
                b"",
                Some("a COLE file; convert it first"),
            ),
            (b"ORC", b"", Some("an ORC file")),
            (b"a,b\n", b"1,2\n", None),
            (b"", b"", None),
        ] {
            let advice = Foreign::of(head, tail).map(Foreign::advice);
            match want {
                Some(want) => assert!(advice.unwrap().contains(want)),
                None => assert_eq!(advice, None),
            }
        }
    }
}
