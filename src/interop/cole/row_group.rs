//! Spec: COLE 1.0, "Row Group Metadata" and "Column Chunk Metadata".
//!
//! ```text
//! row group      ┌──────────┬─────────────┬───────────────┐
//!                │ num_rows │ num_columns │ column_chunks │
//!                └──────────┴─────────────┴───────┬───────┘
//!                ┌─────────────┬────────────┬─────┴─────┬──────────────┐
//! column chunk   │ file_offset │ total_size │ num_pages │ page_headers │
//!                └─────────────┴────────────┴───────────┴──────────────┘
//! ```

use super::column_schema::ColumnSchema;
use super::cursor::Cursor;
use super::page_header::{AbsentBounds, PageHeader};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::ByteRange;

/// The metadata of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowGroupMetadata {
    /// Number of rows.
    pub num_rows: u32,
    /// The chunks of the columns, in the order of the schema.
    pub columns: Vec<ColumnChunkMetadata>,
}

/// The metadata of a column chunk: the pages of a column in a row group, which are contiguous in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnChunkMetadata {
    /// Position of the first page, in bytes from the start of the file.
    pub file_offset: u64,
    /// Bytes of all pages, with their headers.
    pub total_size: u64,
    /// Headers of the pages.
    pub pages: Vec<PageHeader>,
}

impl RowGroupMetadata {
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        schema: &[ColumnSchema],
        absent: AbsentBounds,
    ) -> Result<Self> {
        let num_rows = cursor.u32()?;
        let num_columns = cursor.u32()? as usize;
        if num_columns != schema.len() {
            return Err(Error::corrupt(format!(
                "there are {num_columns} column chunks, but the schema has {} columns",
                schema.len()
            )));
        }
        let mut columns = Vec::new();
        for column in schema {
            let chunk = ColumnChunkMetadata::read(cursor, num_rows, absent);
            columns.push(chunk.within(|| format!("column `{}`", column.name))?);
        }
        Ok(Self { num_rows, columns })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.num_rows.to_le_bytes());
        out.extend_from_slice(&count(self.columns.len() as u64, "columns")?);
        for chunk in &self.columns {
            chunk.write(out)?;
        }
        Ok(())
    }
}

impl ColumnChunkMetadata {
    /// Reads the metadata of a chunk. The values of its pages must add up to `num_rows`, and the bytes to the size of
    /// the chunk.
    fn read(cursor: &mut Cursor<'_>, num_rows: u32, absent: AbsentBounds) -> Result<Self> {
        let (file_offset, total_size) = (cursor.u64()?, cursor.u64()?);
        let mut pages = Vec::new();
        let (mut values, mut bytes) = (0, 0);
        for ordinal in 0..cursor.u32()? {
            let page = PageHeader::read(cursor, absent);
            let page = page.within(|| format!("page {ordinal}"))?;
            values += u64::from(page.num_values);
            bytes += page.len(absent) + u64::from(page.compressed_size);
            pages.push(page);
        }
        if values != u64::from(num_rows) {
            return Err(Error::corrupt(format!(
                "the pages hold {values} values, but the row group has {num_rows} rows"
            )));
        }
        if bytes != total_size {
            return Err(Error::corrupt(format!(
                "the pages have {bytes} bytes, but the column chunk declares {total_size}"
            )));
        }
        Ok(Self {
            file_offset,
            total_size,
            pages,
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.file_offset.to_le_bytes());
        out.extend_from_slice(&self.total_size.to_le_bytes());
        out.extend_from_slice(&count(self.pages.len() as u64, "pages")?);
        for page in &self.pages {
            page.write(out);
        }
        Ok(())
    }

    /// Returns the range of the chunk in the file.
    pub(super) fn range(&self) -> Result<ByteRange> {
        ByteRange::with_len(self.file_offset, self.total_size)
    }
}

/// Converts a count of `things` to its stored form, 32 bits.
pub(super) fn count(number: u64, things: &str) -> Result<[u8; 4]> {
    let stored = u32::try_from(number).map_err(|_| {
        Error::new(
            ErrorKind::ValueOutOfRange,
            format!(
                "{number} {things} are more than a COLE file can have ({})",
                u32::MAX
            ),
        )
    })?;
    Ok(stored.to_le_bytes())
}
