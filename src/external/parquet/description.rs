//! Spec: docs/format.md, "External Parquet" (property `arrow_shard.parquet`): what a reader of column chunks needs to
//! know of the footer of their files.
//!
//! ```text
//! u8 version, 1, or 2 with checksums of pages
//! u32 length | the type of the leaf, as a Parquet message
//! u32 files  | of each: u64 size | u32 bytes of the tail | u32 checksum of the tail
//! u32 chunks | of each: u8 codec | u32 encodings | u64 values | u64 nulls | u64 bytes before compression
//!            |          u32 checksum of the page map
//! version 2: | of each: u32 checksums | u32 checksum of each page
//! ```

use crate::error::{Error, Result};
use crate::format::{NameValuePair, ValueKind, find_property};
use parquet::basic::{Compression, EncodingMask};

/// Name of the property of a stripe field that holds its [`ParquetDescription`].
pub(crate) const PARQUET_PROPERTY: &str = "arrow_shard.parquet";

/// Version of a description without checksums of pages.
const VERSION: u8 = 1;
/// Version of a description with checksums of pages.
const CHECKSUM_VERSION: u8 = 2;
/// Stored in place of a number of nulls that is not known.
const UNKNOWN: u64 = u64::MAX;
const FILE_BYTES: usize = 16;
const CHUNK_BYTES: usize = 33;

/// Metadata of the chunks of a stripe field, from the footers of Parquet files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ParquetDescription {
    /// The type of the leaf and of the groups around it that can be null, as text in Parquet's schema language.
    pub(crate) message: String,
    /// The files, in the order of the references to them.
    pub(crate) files: Vec<DescribedFile>,
    /// The chunks of all files, in the order of the references to them.
    pub(crate) chunks: Vec<DescribedChunk>,
    /// The checksums of the pages of each chunk: of the dictionary page if there is one, and of each data page, or of
    /// all data pages together without a page map. Empty if there are no checksums.
    pub(crate) checksums: Vec<Vec<u32>>,
}

/// Size and checksum of a Parquet file, by which a reader recognizes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DescribedFile {
    /// Size of the file in bytes.
    pub(crate) size: u64,
    /// Bytes at the end of the file that the checksum covers.
    pub(crate) tail: u32,
    /// Checksum of these bytes.
    pub(crate) checksum: u32,
}

/// A column chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DescribedChunk {
    /// The codec of its pages.
    pub(crate) codec: Codec,
    /// The encodings of its pages, a bit for each of Parquet's numbers.
    pub(crate) encodings: u32,
    /// Number of values, nulls and empty lists included.
    pub(crate) num_values: u64,
    /// Number of nulls, if it is known.
    pub(crate) null_count: Option<u64>,
    /// Bytes of all pages before compression.
    pub(crate) uncompressed: u64,
    /// Checksum of the page map, or 0 without a page map; `None` if it is not known.
    pub(crate) map_checksum: Option<u32>,
}

/// The codecs that can be read, by Parquet's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Codec {
    None = 0,
    Snappy = 1,
    Gzip = 2,
    Brotli = 4,
    Lz4 = 5,
    Zstd = 6,
    Lz4Raw = 7,
}

impl Codec {
    const ALL: [Self; 7] = [
        Self::None,
        Self::Snappy,
        Self::Gzip,
        Self::Brotli,
        Self::Lz4,
        Self::Zstd,
        Self::Lz4Raw,
    ];

    /// Returns Parquet's name of the codec.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "UNCOMPRESSED",
            Self::Snappy => "SNAPPY",
            Self::Gzip => "GZIP",
            Self::Brotli => "BROTLI",
            Self::Lz4 => "LZ4",
            Self::Zstd => "ZSTD",
            Self::Lz4Raw => "LZ4_RAW",
        }
    }

    /// Returns the codec that the crate `parquet` calls `compression`.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for codecs that it cannot decompress.
    pub(crate) fn of(compression: Compression) -> Result<Self> {
        Ok(match compression {
            Compression::UNCOMPRESSED => Self::None,
            Compression::SNAPPY => Self::Snappy,
            Compression::GZIP(_) => Self::Gzip,
            Compression::BROTLI(_) => Self::Brotli,
            Compression::LZ4 => Self::Lz4,
            Compression::ZSTD(_) => Self::Zstd,
            Compression::LZ4_RAW => Self::Lz4Raw,
            Compression::LZO => return Err(Error::unsupported("Parquet pages compressed by LZO")),
        })
    }

    fn from_number(number: u8) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|codec| *codec as u8 == number);
        found.ok_or_else(|| Error::unsupported(format!("Parquet's compression codec {number}")))
    }
}

impl DescribedChunk {
    /// Returns Parquet's names of the encodings of its pages, and numbers in place of unknown ones.
    pub(crate) fn encoding_names(&self) -> Vec<String> {
        let is_set = |bit: &u32| self.encodings & (1 << bit) != 0;
        let name = |bit: u32| {
            let mask = EncodingMask::try_new((1u32 << bit).cast_signed()).ok();
            let known = mask.and_then(|mask| mask.encodings().next());
            known.map_or_else(|| format!("encoding {bit}"), |known| known.to_string())
        };
        (0..u32::BITS).filter(is_set).map(name).collect()
    }
}

impl ParquetDescription {
    /// Returns the description as a property.
    pub(crate) fn to_property(&self) -> NameValuePair {
        let version = if self.checksums.is_empty() {
            VERSION
        } else {
            CHECKSUM_VERSION
        };
        let mut bytes = vec![version];
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
        bytes.extend(count(self.message.len()));
        bytes.extend(self.message.as_bytes());
        bytes.extend(count(self.files.len()));
        for file in &self.files {
            bytes.extend(file.size.to_le_bytes());
            bytes.extend(file.tail.to_le_bytes());
            bytes.extend(file.checksum.to_le_bytes());
        }
        bytes.extend(count(self.chunks.len()));
        for chunk in &self.chunks {
            bytes.push(chunk.codec as u8);
            bytes.extend(chunk.encodings.to_le_bytes());
            for number in [
                chunk.num_values,
                chunk.null_count.unwrap_or(UNKNOWN),
                chunk.uncompressed,
            ] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(chunk.map_checksum.unwrap_or(0).to_le_bytes());
        }
        for pages in &self.checksums {
            bytes.extend(count(pages.len()));
            bytes.extend(pages.iter().flat_map(|checksum| checksum.to_le_bytes()));
        }
        NameValuePair::new(PARQUET_PROPERTY, bytes)
    }

    /// Finds the description in the properties of a stripe field. Other writers do not write it.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is malformed, [`Unsupported`](crate::ErrorKind::Unsupported) if
    /// it names a codec that this reader does not know.
    pub(crate) fn from_properties(properties: &[NameValuePair]) -> Result<Option<Self>> {
        let Some(value) = find_property(properties, PARQUET_PROPERTY) else {
            return Ok(None);
        };
        let malformed = || Error::corrupt(format!("property {PARQUET_PROPERTY} is malformed"));
        let Some(ValueKind::Bytes(bytes)) = &value.kind else {
            return Err(malformed());
        };
        let mut rest = Rest(bytes);
        let has_checksums = match rest.array::<1>() {
            Some([VERSION]) => false,
            Some([CHECKSUM_VERSION]) => true,
            Some([newer]) => {
                return Err(Error::unsupported(format!(
                    "version {newer} of the property {PARQUET_PROPERTY}"
                )));
            }
            None => return Err(malformed()),
        };
        let text = rest.count(1).and_then(|len| rest.take(len));
        let message = text.and_then(|text| std::str::from_utf8(text).ok());
        let message = message.ok_or_else(malformed)?.to_owned();
        let num_files = rest.count(FILE_BYTES).ok_or_else(malformed)?;
        let files = (0..num_files).map(|_| rest.file().ok_or_else(malformed));
        let files = files.collect::<Result<Vec<_>>>()?;
        let num_chunks = rest.count(CHUNK_BYTES).ok_or_else(malformed)?;
        let chunks = (0..num_chunks).map(|_| rest.chunk().unwrap_or_else(|| Err(malformed())));
        let chunks = chunks.collect::<Result<Vec<_>>>()?;
        let with_checksums = if has_checksums { chunks.len() } else { 0 };
        let checksums = (0..with_checksums).map(|_| rest.checksums().ok_or_else(malformed));
        let checksums = checksums.collect::<Result<Vec<_>>>()?;
        if !rest.0.is_empty() {
            return Err(malformed());
        }
        Ok(Some(Self {
            message,
            files,
            chunks,
            checksums,
        }))
    }
}

/// The bytes that have not been parsed.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a number of elements of `width` bytes, which must be there.
    fn count(&mut self, width: usize) -> Option<usize> {
        let count = self.u32()? as usize;
        (count.checked_mul(width)? <= self.0.len()).then_some(count)
    }

    fn file(&mut self) -> Option<DescribedFile> {
        Some(DescribedFile {
            size: self.u64()?,
            tail: self.u32()?,
            checksum: self.u32()?,
        })
    }

    fn checksums(&mut self) -> Option<Vec<u32>> {
        let count = self.count(size_of::<u32>())?;
        (0..count).map(|_| self.u32()).collect()
    }

    /// Reads a chunk; the inner error names an unknown codec.
    fn chunk(&mut self) -> Option<Result<DescribedChunk>> {
        let [codec] = self.array()?;
        let encodings = self.u32()?;
        let (num_values, nulls, uncompressed) = (self.u64()?, self.u64()?, self.u64()?);
        let map_checksum = self.u32()?;
        Some(Codec::from_number(codec).map(|codec| DescribedChunk {
            codec,
            encodings,
            num_values,
            null_count: (nulls != UNKNOWN).then_some(nulls),
            uncompressed,
            map_checksum: Some(map_checksum),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn description() -> ParquetDescription {
        ParquetDescription {
            message: "message m { optional int32 v; }".to_owned(),
            files: vec![DescribedFile {
                size: 1 << 40,
                tail: 100,
                checksum: 7,
            }],
            chunks: vec![
                DescribedChunk {
                    codec: Codec::Zstd,
                    encodings: 0b1_0000_1001,
                    num_values: 1000,
                    null_count: None,
                    uncompressed: 1 << 33,
                    map_checksum: Some(9),
                },
                DescribedChunk {
                    codec: Codec::None,
                    encodings: 1,
                    num_values: 0,
                    null_count: Some(0),
                    uncompressed: 0,
                    map_checksum: Some(0),
                },
            ],
            checksums: Vec::new(),
        }
    }

    #[test]
    fn descriptions_come_back() {
        let description = description();
        let read = ParquetDescription::from_properties(&[description.to_property()]).unwrap();
        assert_eq!(read.unwrap(), description);
        let with_checksums = ParquetDescription {
            checksums: vec![vec![1, 2, u32::MAX], Vec::new()],
            ..description
        };
        let property = with_checksums.to_property();
        let read = ParquetDescription::from_properties(std::slice::from_ref(&property)).unwrap();
        assert_eq!(read.unwrap(), with_checksums);
        let Some(ValueKind::Bytes(bytes)) = property.value.unwrap().kind else {
            panic!("bytes");
        };
        for len in 0..bytes.len() {
            let property = NameValuePair::new(PARQUET_PROPERTY, bytes[..len].to_vec());
            let error = ParquetDescription::from_properties(&[property]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}");
        }
    }

    #[test]
    fn encodings_have_parquets_names_or_numbers() {
        let mut chunk = description().chunks[0];
        let names = ["PLAIN", "RLE", "RLE_DICTIONARY"];
        assert_eq!(chunk.encoding_names(), names);
        chunk.encodings = 0x8000_0002;
        assert_eq!(chunk.encoding_names(), ["encoding 1", "encoding 31"]);
    }

    #[test]
    fn malformed_descriptions_and_unknown_codecs_are_refused() {
        let value = description().to_property().value.unwrap();
        let Some(ValueKind::Bytes(bytes)) = &value.kind else {
            panic!("bytes");
        };
        let parse = |bytes: Vec<u8>| {
            let property = NameValuePair::new(PARQUET_PROPERTY, bytes);
            ParquetDescription::from_properties(&[property])
        };
        for len in 0..bytes.len() {
            let error = parse(bytes[..len].to_vec()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}");
        }
        assert!(parse([&bytes[..], &[0]].concat()).is_err());
        let mut newer = bytes.to_vec();
        newer[0] = 3;
        assert_eq!(parse(newer).unwrap_err().kind(), ErrorKind::Unsupported);
        let mut lzo = bytes.to_vec();
        let codec = bytes.len() - 2 * CHUNK_BYTES;
        assert_eq!(lzo[codec], 6);
        lzo[codec] = 3;
        assert_eq!(parse(lzo).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(ParquetDescription::from_properties(&[]).unwrap(), None);
    }
}
