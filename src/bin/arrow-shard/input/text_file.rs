//! Text files, which are read twice: first to infer the types, then to read the values.

use super::BUFFER_BYTES;
use super::origin::{Copy, Origin};
use super::source::{Counted, counted};
use crate::content::{self, Content};
use crate::failure::Failure;
use crate::progress::Total;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// A UTF-8 file. Reading starts after the byte order mark, if there is one.
pub(super) struct TextFile {
    file: File,
    start: u64,
}

impl TextFile {
    /// Opens a file. Inputs that cannot be read twice, such as standard input, are copied to a temporary file.
    pub(super) fn open(origin: Origin) -> Result<Self, Failure> {
        let mut file = match origin {
            Origin::Standard => copied(&mut io::stdin().lock())?,
            other => other.file()?,
        };
        if !file.metadata()?.is_file() {
            file = copied(&mut file)?;
        }
        let mut mark = Vec::new();
        (&file).take(10).read_to_end(&mut mark)?;
        if let Some(Content::Compressed(program)) = Content::of(&mark) {
            return Err(Failure::new(content::decompressed(program, Path::new("-"))));
        }
        (&file).seek(SeekFrom::Start(3))?;
        mark.truncate(3);
        match mark.as_slice() {
            [] => Err(Failure::new("the file is empty")),
            [0xEF, 0xBB, 0xBF] if file.read(&mut [0])? == 0 => {
                Err(Failure::new("the file is empty"))
            }
            [0xEF, 0xBB, 0xBF] => Ok(Self { file, start: 3 }),
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => Err(Failure::new(
                "the file is UTF-16; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)",
            )),
            _ => Ok(Self { file, start: 0 }),
        }
    }

    /// Returns a reader from the start of the text.
    pub(super) fn reader(&self) -> Result<BufReader<&File>, Failure> {
        (&self.file).seek(SeekFrom::Start(self.start))?;
        Ok(BufReader::with_capacity(BUFFER_BYTES, &self.file))
    }

    /// Returns a reader from the start of the text, which counts the bytes read.
    pub(super) fn counted(mut self) -> Result<(Counted, Total), Failure> {
        self.file.seek(SeekFrom::Start(self.start))?;
        counted(self.file)
    }
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
