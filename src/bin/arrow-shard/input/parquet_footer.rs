//! The metadata of Parquet files, read from their ends without a copy of the file.

use super::parquet::num_rows;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::Foreign;
use crate::location::reader;
use arrow_schema::SchemaRef;
use arrow_shard::io::{ByteRange, ReadAt};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// The metadata of a Parquet file.
pub(crate) struct Footer {
    file: Foreign,
    read: ArrowReaderMetadata,
    rows: u64,
    bytes: u64,
}

impl Footer {
    /// Reads the metadata of a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let reader = reader(path)?;
        let bytes = reader.size()?;
        let file = Foreign::new(path, FileFormat::Parquet, bytes);
        file.isolate(|| {
            let read = ArrowReaderMetadata::load(&Chunks(reader), ArrowReaderOptions::new())?;
            Ok(Self {
                file: file.clone(),
                rows: num_rows(read.metadata())?,
                read,
                bytes,
            })
        })
    }

    /// Returns the file, to isolate code of other crates that works on the metadata.
    pub(crate) fn file(&self) -> &Foreign {
        &self.file
    }

    /// Returns the number of rows.
    pub(crate) fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Returns the size of the file in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the metadata.
    pub(crate) fn metadata(&self) -> &ParquetMetaData {
        self.read.metadata()
    }

    /// Returns the schema in Arrow types.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.read.schema()
    }
}

/// A file, as the crate `parquet` reads it.
struct Chunks(Arc<dyn ReadAt>);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.size().unwrap_or(0)
    }
}

impl ChunkReader for Chunks {
    type T = Following;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(Following {
            reader: self.0.clone(),
            at: start,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let range = ByteRange::with_len(start, length as u64);
        let bytes = range.and_then(|range| self.0.read_at(range));
        bytes.map_err(|e| ParquetError::External(Box::new(e)))
    }
}

/// The bytes of a file from a position on.
struct Following {
    reader: Arc<dyn ReadAt>,
    at: u64,
}

impl Read for Following {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.reader.size().map_err(io::Error::other)?;
        let len = size.saturating_sub(self.at).min(out.len() as u64);
        let range = ByteRange::with_len(self.at, len).map_err(io::Error::other)?;
        let bytes = self.reader.read_at(range).map_err(io::Error::other)?;
        out[..bytes.len()].copy_from_slice(&bytes);
        self.at += len;
        Ok(bytes.len())
    }
}
