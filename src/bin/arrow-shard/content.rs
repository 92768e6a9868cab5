//! Recognizes the format of a file by its first bytes.

use crate::compression::Compression;
use crate::file_format::{FileFormat, is_standard};
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Number of bytes that are examined. They show the format unless more white space precedes it.
const HEAD_BYTES: u64 = 4096;

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A format that this program reads.
    Format(FileFormat),
    /// Compressed bytes.
    Compressed(Compression),
    /// The output of the named compressor, which decompresses it with the option `-dc`. It is not read here.
    Foreign(&'static str),
}

const MAGIC: [(&[u8], Content); 9] = [
    (b"amud", Content::Format(FileFormat::Shard)),
    (b"PAR1", Content::Format(FileFormat::Parquet)),
    (b"ARROW1\0\0", Content::Format(FileFormat::IpcFile)),
    (b"\xFF\xFF\xFF\xFF", Content::Format(FileFormat::IpcStream)),
    (b"COLE", Content::Format(FileFormat::Cole)),
    (b"\x1F\x8B", Content::Compressed(Compression::Gzip)),
    (b"\x28\xB5\x2F\xFD", Content::Compressed(Compression::Zstd)),
    (b"\xFD7zXZ\0", Content::Compressed(Compression::Xz)),
    (b"\x04\x22\x4D\x18", Content::Foreign("lz4")),
];

impl Content {
    /// Recognizes the content by the first bytes of a file. CSV cannot be recognized.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        let magic = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        if let Some((_, content)) = magic {
            return Some(*content);
        }
        // The fourth byte is the block size. Blocks begin with the digits of pi; an empty archive ends with the digits of
        // its square root.
        let is_bzip2 = matches!(head.get(4..10), Some(b"1AY&SY" | b"\x17rE8P\x90"));
        if head.starts_with(b"BZh") && is_bzip2 {
            return Some(Self::Compressed(Compression::Bzip2));
        }
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        match text.trim_ascii_start().first() {
            Some(b'{' | b'[') => Some(Self::Format(FileFormat::Ndjson)),
            _ => None,
        }
    }

    /// Recognizes the content of a file. Pipes are not opened, because bytes read from them would be lost.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        Self::of(&head(File::open(path).ok()?)?)
    }

    /// Recognizes the content of standard input by the bytes that have arrived. They are not consumed.
    pub(crate) fn of_standard_input() -> Option<Self> {
        let mut input = io::stdin().lock();
        let head = input.fill_buf().ok()?;
        let Some(Self::Compressed(compression)) = Self::of(head) else {
            return Self::of(head);
        };
        // The archive continues after these bytes, so reading it ends with an error.
        let mut text = Vec::new();
        let mut reader = compression.reader(io::Cursor::new(head.to_vec())).ok()?;
        let _cut = reader.by_ref().take(HEAD_BYTES).read_to_end(&mut text);
        Self::of(&text)
    }

    /// Recognizes the content of a compressed file.
    pub(crate) fn inside(path: &Path, compression: Compression) -> Option<Self> {
        let text = compression.reader(File::open(path).ok()?).ok()?;
        Self::of(&head(text)?)
    }
}

fn head(from: impl Read) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    from.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Returns an error message that explains how to read a compressed file.
pub(crate) fn decompressed(program: &str, path: &Path) -> String {
    let inner = path.file_stem().map(Path::new);
    let format = inner.and_then(FileFormat::by_name);
    let from = format.map_or_else(|| "FORMAT".to_owned(), FileFormat::option);
    let file = if is_standard(path) {
        "FILE".to_owned()
    } else {
        path.display().to_string()
    };
    // Formats that are not read from front to back need a file.
    let advice = if format.is_none_or(FileFormat::is_sequential) {
        format!(
            " in a pipe: {program} -dc {file} | arrow-shard convert --from {from} - out.amudai.shard"
        )
    } else {
        format!(" first: {program} -d {file}")
    };
    format!("the data are compressed with {program}; decompress them{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_show_the_format() {
        use FileFormat::{Cole, IpcStream, Ndjson, Parquet, Shard};
        for (head, want) in [
            (&b"amud\0\x01\0\0"[..], Some(Content::Format(Shard))),
            (b"PAR1", Some(Content::Format(Parquet))),
            (b"COLE\x01\0\0\0", Some(Content::Format(Cole))),
            (b"\xFF\xFF\xFF\xFF\x80", Some(Content::Format(IpcStream))),
            (b"\xEF\xBB\xBF \n{\"a\":1}", Some(Content::Format(Ndjson))),
            (b"[]", Some(Content::Format(Ndjson))),
            (
                b"\x1F\x8B\x08",
                Some(Content::Compressed(Compression::Gzip)),
            ),
            (
                b"BZh91AY&SY\x01",
                Some(Content::Compressed(Compression::Bzip2)),
            ),
            (b"\x04\x22\x4D\x18\x64", Some(Content::Foreign("lz4"))),
            (b"BZh,b\n1,2\n", None),
            (b"", None),
        ] {
            assert_eq!(Content::of(head), want, "{head:?}");
        }
    }
}
