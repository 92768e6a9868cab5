//! Compressed text, which is recognized by its first bytes when it is read, and by its name when it is written.

use bzip2::read::MultiBzDecoder;
use bzip2::write::BzEncoder;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

/// Maximum memory of an XZ decoder in KiB: an archive may claim to need 4 GiB.
const XZ_KIB: u32 = 1 << 20;
/// Preset of the program `xz`, and level of the program `bzip2`.
const XZ_PRESET: u32 = 6;
const BZIP2_LEVEL: u32 = 9;

/// A compressed format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl Compression {
    /// Returns the compression that the suffix of a name shows.
    pub(crate) fn by_name(path: &Path) -> Option<Self> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        match suffix.as_str() {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstd),
            "bz2" => Some(Self::Bzip2),
            "xz" => Some(Self::Xz),
            _ => None,
        }
    }

    /// Returns the name of the program that writes the format.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }

    /// Returns a reader of the decompressed bytes. Parts that were compressed one by one follow each other.
    pub(crate) fn reader(self, from: impl Read + Send + 'static) -> io::Result<Decompressed> {
        let inner: Box<dyn Read + Send> = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(from)),
            Self::Zstd => Box::new(zstd::Decoder::new(from)?),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(from)),
            Self::Xz => Box::new(XzReader::new_mem_limit(from, true, XZ_KIB)),
        };
        Ok(Decompressed {
            inner,
            compression: self,
            wrong: None,
        })
    }
}

/// Reads decompressed bytes.
pub(crate) struct Decompressed {
    inner: Box<dyn Read + Send>,
    compression: Compression,
    /// The error, which is returned again by later reads: decoders would report the end of the text.
    wrong: Option<String>,
}

impl Read for Decompressed {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.wrong.is_none() {
            match self.inner.read(buf) {
                Ok(read) => return Ok(read),
                Err(e) if e.kind() == ErrorKind::Interrupted => return Err(e),
                Err(e) => {
                    let program = self.compression.program();
                    self.wrong = Some(format!("the {program} data are damaged or cut off: {e}"));
                }
            }
        }
        let wrong = self.wrong.clone().unwrap_or_default();
        Err(io::Error::new(ErrorKind::InvalidData, wrong))
    }
}

/// Compresses the bytes that are written to it.
pub(crate) enum Compressor<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
    Bzip2(BzEncoder<W>),
    Xz(Box<XzWriter<W>>),
}

impl<W: Write> Compressor<W> {
    /// Starts writing to `out`; without a compression the bytes stay as they are.
    pub(crate) fn start(compression: Option<Compression>, out: W) -> io::Result<Self> {
        Ok(match compression {
            None => Self::Plain(out),
            Some(Compression::Gzip) => {
                Self::Gzip(GzEncoder::new(out, flate2::Compression::default()))
            }
            Some(Compression::Zstd) => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                let mut encoder = zstd::Encoder::new(out, level)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            Some(Compression::Bzip2) => {
                Self::Bzip2(BzEncoder::new(out, bzip2::Compression::new(BZIP2_LEVEL)))
            }
            Some(Compression::Xz) => {
                let options = XzOptions::with_preset(XZ_PRESET);
                Self::Xz(Box::new(XzWriter::new(out, options)?))
            }
        })
    }

    /// Completes the compressed bytes and returns the destination.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Bzip2(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::Bzip2(encoder) => encoder.write(bytes),
            Self::Xz(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            // A flush would end a block early, and batches are written and flushed one by one.
            Self::Gzip(_) | Self::Zstd(_) | Self::Bzip2(_) | Self::Xz(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 4] = [
        Compression::Gzip,
        Compression::Zstd,
        Compression::Bzip2,
        Compression::Xz,
    ];

    fn compressed(compression: Compression, text: &[u8]) -> Vec<u8> {
        let mut encoder = Compressor::start(Some(compression), Vec::new()).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decompressed(compression: Compression, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut reader = compression.reader(io::Cursor::new(bytes))?;
        reader.read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn text_comes_back_whole_or_as_an_error() {
        let text: Vec<u8> = (0..3_000u32)
            .flat_map(|i| format!("{}\n", i * 7919).into_bytes())
            .collect();
        for compression in ALL {
            let bytes = compressed(compression, &text);
            assert_eq!(decompressed(compression, bytes.clone()).unwrap(), text);
            let twice = [bytes.clone(), bytes.clone()].concat();
            assert_eq!(decompressed(compression, twice).unwrap(), text.repeat(2));
            for end in (1..bytes.len()).step_by(7) {
                let cut = decompressed(compression, bytes[..end].to_vec());
                assert!(cut.is_err(), "{compression:?}, {end} of {}", bytes.len());
            }
            for at in (0..bytes.len()).step_by(11) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x10;
                let read = decompressed(compression, damaged);
                // Some bits of headers mean nothing for the text.
                assert!(
                    read.is_err() || read.unwrap() == text,
                    "{compression:?}, {at}"
                );
            }
        }
    }

    #[test]
    fn an_error_is_returned_again() {
        for compression in ALL {
            let mut bytes = compressed(compression, b"a,b\n1,2\n");
            bytes.truncate(bytes.len() - 2);
            let mut reader = compression.reader(io::Cursor::new(bytes)).unwrap();
            assert!(reader.read_to_end(&mut Vec::new()).is_err());
            let error = reader.read(&mut [0; 10]).unwrap_err().to_string();
            assert!(error.contains(compression.program()), "{error}");
        }
    }
}
