//! Text files, which are read twice: first to infer the types, then to read the values.

use super::BUFFER_BYTES;
use super::origin::{Copy, Origin};
use super::source::counted;
use crate::byte_order_mark::after_marks;
use crate::compression::Compression;
use crate::content::{self, Content};
use crate::failure::Failure;
use crate::progress::Total;
use std::fs::File;
use std::io::{self, BufReader, Read};
#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A UTF-8 file, which may be compressed. Reading starts after the byte order mark, if there is one.
pub(super) struct TextFile {
    source: Source,
    compression: Option<Compression>,
    /// Number of bytes before the text, after decompression.
    start: u64,
}

enum Source {
    /// An open file, and its path if it can be opened again.
    Open(Arc<File>, Option<PathBuf>),
    /// The path of a file, and its size in bytes and time of change.
    Closed(PathBuf, u64, Option<SystemTime>),
}

impl TextFile {
    /// Opens a file. Inputs that cannot be read twice, such as standard input, are copied to a temporary file.
    pub(super) fn open(origin: Origin) -> Result<Self, Failure> {
        let path = origin.path();
        let mut file = match origin {
            Origin::Standard => copied(&mut content::standard_input())?,
            Origin::Pipe(mut pipe) => copied(&mut pipe)?,
            other => other.file()?,
        };
        let is_copied = !file.metadata()?.is_file();
        if is_copied {
            file = copied(&mut file)?;
        }
        let file = Arc::new(file);
        let compression = match Content::of(&first_bytes(FromStart::of(file.clone()))?) {
            Some(Content::Compressed(compression)) => Some(compression),
            Some(Content::Foreign(program)) => {
                return Err(Failure::new(content::decompressed(
                    program,
                    Path::new("-"),
                    None,
                )));
            }
            _ => None,
        };
        let mut text = Self {
            source: Source::Open(file, path.filter(|_| !is_copied)),
            compression,
            start: 0,
        };
        let first = first_bytes(text.text(text.file()?)?)?;
        let unmarked = after_marks(&first);
        text.start = (first.len() - unmarked.len()) as u64;
        match unmarked {
            [] => return Err(Failure::new("the file is empty")),
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
                return Err(Failure::new(
                    "the file is UTF-16; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)",
                ));
            }
            _ => {}
        }
        Ok(text)
    }

    /// Closes the file until it is read again, unless it is a copy.
    pub(super) fn closed(self) -> Result<Self, Failure> {
        let source = match self.source {
            Source::Open(file, Some(path)) => {
                let found = file.metadata()?;
                Source::Closed(path, found.len(), found.modified().ok())
            }
            other => other,
        };
        Ok(Self { source, ..self })
    }

    /// Returns the file, to be read once more.
    pub(super) fn again(&self) -> Self {
        let source = match &self.source {
            Source::Open(file, path) => Source::Open(file.clone(), path.clone()),
            Source::Closed(path, bytes, changed) => Source::Closed(path.clone(), *bytes, *changed),
        };
        Self { source, ..*self }
    }

    /// Returns a reader from the start of the text.
    pub(super) fn reader(&self) -> Result<impl Read + Send + use<>, Failure> {
        let file = BufReader::with_capacity(BUFFER_BYTES, self.file()?);
        self.text(file)
    }

    /// Returns a reader from the start of the text, which counts the bytes read from the file.
    pub(super) fn counted(&self) -> Result<(impl Read + Send + use<>, Total), Failure> {
        let file = self.file()?;
        let bytes = file.0.metadata()?.len();
        let (file, total) = counted(file, bytes);
        Ok((self.text(file)?, total))
    }

    /// Returns the number of the line that has the first byte from `start` on that ends no line.
    pub(super) fn line_at(&self, start: u64) -> Result<u64, Failure> {
        let (mut line, mut last) = (1, 0);
        let text = BufReader::with_capacity(BUFFER_BYTES, self.reader()?);
        for (position, byte) in (0..).zip(text.bytes()) {
            let byte = byte?;
            let is_end = matches!(byte, b'\n' | b'\r');
            if position >= start && !is_end {
                break;
            }
            line += u64::from(byte == b'\r' || (byte == b'\n' && last != b'\r'));
            last = byte;
        }
        Ok(line)
    }

    /// Returns the text in the bytes of the file.
    fn text(&self, file: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>, Failure> {
        let mut text: Box<dyn Read + Send> = match self.compression {
            Some(compression) => Box::new(compression.reader(file)?),
            None => Box::new(file),
        };
        io::copy(&mut text.by_ref().take(self.start), &mut io::sink())?;
        Ok(text)
    }

    /// Returns a reader from the start of the file.
    fn file(&self) -> io::Result<FromStart> {
        let file = match &self.source {
            Source::Open(file, _) => file.clone(),
            Source::Closed(path, bytes, changed) => {
                let file = File::open(path)?;
                let found = file.metadata()?;
                if found.len() != *bytes || found.modified().ok() != *changed {
                    let why = "the file was changed after its types were inferred";
                    return Err(io::Error::other(why));
                }
                Arc::new(file)
            }
        };
        Ok(FromStart::of(file))
    }
}

/// A reader with a position of its own, unlike handles of the same open file.
struct FromStart(Arc<File>, u64);

impl FromStart {
    fn of(file: Arc<File>) -> Self {
        Self(file, 0)
    }
}

impl Read for FromStart {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = self.0.read_at(buf, self.1)?;
        #[cfg(windows)]
        let read = self.0.seek_read(buf, self.1)?;
        self.1 += read as u64;
        Ok(read)
    }
}

/// Returns enough bytes to recognize a compression or a byte order mark.
fn first_bytes(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(10).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Copies an input to a temporary file.
fn copied(from: &mut impl Read) -> Result<File, Failure> {
    let mut copy = Copy::new()?;
    let mut bytes = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return copy.finish(),
            Ok(read) => copy.append(bytes.get(..read).unwrap_or_default())?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_do_not_move_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "abcdefgh").unwrap();
        let file = TextFile::open(Origin::Path(path)).unwrap();
        let (mut first, _) = file.counted().unwrap();
        let mut letter = [0];
        for expected in b"abc" {
            first.read_exact(&mut letter).unwrap();
            assert_eq!(letter[0], *expected);
            let mut text = String::new();
            file.again()
                .reader()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "abcdefgh");
        }
    }

    #[test]
    fn a_file_that_changes_between_two_readings_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        let closed = || {
            let file = TextFile::open(Origin::Path(path.clone())).unwrap();
            file.closed().unwrap()
        };
        let file = closed();
        let mut text = String::new();
        file.reader().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "a,b\n1,2\n");
        std::fs::write(&path, "b,a\n1,2,3\n").unwrap();
        assert!(file.reader().is_err());
        assert!(closed().reader().is_ok());
    }
}
