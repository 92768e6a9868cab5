//! Recognizes the format of a file by its first bytes.

use crate::byte_order_mark::after_marks;
use crate::compression::Compression;
use crate::delimiter;
use crate::file_format::{FileFormat, is_standard};
use crate::location::PathLocation;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Number of bytes that are examined: more than the first lines of most CSV files.
const HEAD_BYTES: usize = 64 << 10;
/// Number of compressed bytes of standard input or a pipe that are examined. A block of bzip2 has up to 900 KB.
const COMPRESSED_BYTES: usize = 1 << 20;

/// The first bytes of standard input, once its format was asked for, and whether a reader has received them.
static STANDARD_HEAD: OnceLock<Head> = OnceLock::new();
static IS_RECEIVED: AtomicBool = AtomicBool::new(false);

/// A pipe with a name, such as the shell's `<(...)`, from its first byte.
pub(crate) type Pipe = io::Chain<Cursor<Vec<u8>>, File>;

/// The examined pipes: their first bytes, and the open file until a reader takes it.
static PIPES: Mutex<BTreeMap<PathBuf, (Head, Option<File>)>> = Mutex::new(BTreeMap::new());

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
    /// Recognizes the content by the first bytes of a file, unless it is CSV.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        for (magic, content) in MAGIC {
            match head.strip_prefix(magic) {
                // Such a line of text may begin with these letters.
                Some([b' '..=b'~' | b'\t' | b'\r' | b'\n', ..])
                    if magic.iter().all(u8::is_ascii_alphanumeric) => {}
                Some(_) => return Some(content),
                None => {}
            }
        }
        // The fourth byte is the block size. Blocks begin with the digits of pi; an empty archive ends with the digits
        // of its square root.
        let is_bzip2 = matches!(head.get(4..10), Some(b"1AY&SY" | b"\x17rE8P\x90"));
        if head.starts_with(b"BZh") && is_bzip2 {
            return Some(Self::Compressed(Compression::Bzip2));
        }
        match after_marks(head).trim_ascii_start().first() {
            Some(b'{' | b'[') => Some(Self::Format(FileFormat::Ndjson)),
            _ => None,
        }
    }

    /// Recognizes the content of a file. Pipes are not opened.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        Head::of_file(path)?.content()
    }

    /// Recognizes the content of standard input, or of a pipe. A reader receives the examined bytes, too.
    pub(crate) fn of_stream(path: &Path) -> Option<Self> {
        Head::of_stream(path)?.content()
    }

    /// Recognizes the content of a compressed file, of a pipe or of standard input.
    pub(crate) fn inside(path: &Path, compression: Compression) -> Option<Self> {
        let head = match Head::of_stream(path) {
            Some(head) => head.inside(compression),
            None => Head::inside_file(path, compression),
        };
        head?.content()
    }
}

/// Returns the separator of the values in a local file, a pipe or standard input, if its content looks like CSV.
pub(crate) fn delimiter_of(path: &Path) -> Option<u8> {
    Head::of_text(path)?.delimiter()
}

/// Returns standard input, from its first byte.
pub(crate) fn standard_input() -> impl Read {
    let head = STANDARD_HEAD.get().map(|head| head.bytes.as_slice());
    // A second reader continues after the first.
    let head = head.filter(|_| !IS_RECEIVED.swap(true, Ordering::Relaxed));
    head.unwrap_or_default().chain(io::stdin().lock())
}

/// Whether a local path is a pipe.
#[cfg(unix)]
pub(crate) fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|it| it.file_type().is_fifo())
}

#[cfg(not(unix))]
pub(crate) fn is_pipe(_: &Path) -> bool {
    false
}

/// Returns an examined pipe, unless it was returned before.
pub(crate) fn examined_pipe(path: &Path) -> Option<Pipe> {
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    let (head, rest) = pipes.get_mut(path)?;
    Some(Cursor::new(head.bytes.clone()).chain(rest.take()?))
}

/// The first bytes of a file.
#[derive(Debug, Clone)]
struct Head {
    bytes: Vec<u8>,
    /// Whether these are all bytes of the file.
    is_whole: bool,
}

impl Head {
    /// Reads the first bytes. An error ends them; it is reported when the file is read.
    fn read(from: impl Read) -> Self {
        let mut bytes = Vec::new();
        let read = from.take(HEAD_BYTES as u64).read_to_end(&mut bytes);
        let is_whole = read.is_ok() && bytes.len() < HEAD_BYTES;
        Self { bytes, is_whole }
    }

    fn of_file(path: &Path) -> Option<Self> {
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        Some(Self::read(File::open(path).ok()?))
    }

    fn inside_file(path: &Path, compression: Compression) -> Option<Self> {
        let text = compression.reader(File::open(path).ok()?).ok()?;
        Some(Self::read(text))
    }

    /// Decompresses the bytes. If the archive continues after them, its text is cut off.
    fn inside(self, compression: Compression) -> Option<Self> {
        let text = compression.reader(Cursor::new(self.bytes)).ok()?;
        Some(Self::read(text))
    }

    /// Returns the first bytes of standard input or a pipe, and `None` for others.
    fn of_stream(path: &Path) -> Option<Self> {
        if is_standard(path) {
            let head = STANDARD_HEAD.get_or_init(|| Self::arriving(io::stdin().lock()));
            return Some(head.clone());
        }
        if is_pipe(path) {
            Self::of_pipe(path)
        } else {
            None
        }
    }

    /// Returns the first bytes of a pipe.
    fn of_pipe(path: &Path) -> Option<Self> {
        let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((head, _)) = pipes.get(path) {
            return Some(head.clone());
        }
        let mut file = File::open(path).ok()?;
        let head = Self::arriving(&mut file);
        pipes.insert(path.to_owned(), (head.clone(), Some(file)));
        Some(head)
    }

    /// Returns the first bytes of a local file, a pipe or standard input, after decompression.
    fn of_text(path: &Path) -> Option<Self> {
        if let Some(head) = Self::of_stream(path) {
            return match Content::of(&head.bytes) {
                Some(Content::Compressed(compression)) => head.inside(compression),
                _ => Some(head),
            };
        }
        let Ok(PathLocation::Local(local)) = PathLocation::of(path) else {
            return None;
        };
        let head = Self::of_file(&local)?;
        match Content::of(&head.bytes) {
            Some(Content::Compressed(compression)) => Self::inside_file(&local, compression),
            _ => Some(head),
        }
    }

    /// Reads bytes of a pipe until they show the format, because the program that writes them may wait for a reader.
    fn arriving(mut from: impl Read) -> Self {
        let mut head = Self {
            bytes: Vec::new(),
            is_whole: false,
        };
        let mut chunk = vec![0; HEAD_BYTES];
        loop {
            let most = match Content::of(&head.bytes) {
                Some(Content::Compressed(_)) => COMPRESSED_BYTES,
                None if head.delimiter().is_none() => HEAD_BYTES,
                _ => return head,
            };
            if head.bytes.len() >= most {
                return head;
            }
            match from.read(&mut chunk) {
                Ok(0) => head.is_whole = true,
                Ok(read) => head
                    .bytes
                    .extend_from_slice(chunk.get(..read).unwrap_or_default()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return head,
            }
            if head.is_whole {
                return head;
            }
        }
    }

    fn content(&self) -> Option<Content> {
        let is_csv = || self.delimiter().map(|_| Content::Format(FileFormat::Csv));
        Content::of(&self.bytes).or_else(is_csv)
    }

    fn delimiter(&self) -> Option<u8> {
        delimiter::delimiter(&self.bytes, self.is_whole)
    }
}

/// Returns an error message that explains how to read a compressed file. `inside` is its content, if that is known.
pub(crate) fn decompressed(program: &str, path: &Path, inside: Option<Content>) -> String {
    let inner = path.file_stem().map(Path::new);
    let format = match inside {
        Some(Content::Format(format)) => Some(format),
        _ => inner.and_then(FileFormat::by_name),
    };
    let from = format.map_or_else(|| "FORMAT".to_owned(), FileFormat::option);
    let file = if is_standard(path) || is_pipe(path) {
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
            (
                "\u{FEFF}\u{FEFF}[1]".as_bytes(),
                Some(Content::Format(Ndjson)),
            ),
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
