//! Spec: COLE 1.0, "File Metadata".
//!
//! ```text
//! ┌────────────────────┬────────────────┬────────────────┬─────────────────┬────────────┐
//! │ schema_num_columns │ column_schemas │ num_row_groups │ row_group_metas │ total_rows │
//! └────────────────────┴────────────────┴────────────────┴─────────────────┴────────────┘
//! ```

use super::column_schema::ColumnSchema;
use super::cursor::Cursor;
use super::page_header::AbsentBounds;
use super::row_group::{RowGroupMetadata, count};
use crate::error::{Error, Result, Within};

/// Schema and row groups of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileMetadata {
    /// Columns.
    pub columns: Vec<ColumnSchema>,
    /// Row groups, in the order of their rows.
    pub row_groups: Vec<RowGroupMetadata>,
}

impl FileMetadata {
    /// Returns the number of rows.
    pub fn num_rows(&self) -> u64 {
        let rows = self
            .row_groups
            .iter()
            .map(|group| u64::from(group.num_rows));
        rows.sum()
    }

    /// Reads metadata, and returns with them the size of absent bounds. First tries the form of the specification's
    /// table, without bytes for absent bounds. If the metadata are not valid in this form, tries bounds of eight bytes.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes are not exactly the metadata of a file.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, AbsentBounds)> {
        let first = match Self::read_with(bytes, AbsentBounds::NoBytes) {
            Ok(metadata) => return Ok((metadata, AbsentBounds::NoBytes)),
            Err(error) => error,
        };
        match Self::read_with(bytes, AbsentBounds::EightBytes) {
            Ok(metadata) => Ok((metadata, AbsentBounds::EightBytes)),
            Err(_) => Err(first),
        }
    }

    fn read_with(bytes: &[u8], absent: AbsentBounds) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        // A count may be wrong, so it does not determine how much memory is allocated.
        let mut columns = Vec::new();
        for ordinal in 0..cursor.u32()? {
            let column = ColumnSchema::read(&mut cursor);
            columns.push(column.within(|| format!("column {ordinal}"))?);
        }
        let mut row_groups = Vec::new();
        for ordinal in 0..cursor.u32()? {
            let group = RowGroupMetadata::read(&mut cursor, &columns, absent);
            row_groups.push(group.within(|| format!("row group {ordinal}"))?);
        }
        let metadata = Self {
            columns,
            row_groups,
        };
        let (stored, found) = (cursor.u32()?, metadata.num_rows());
        if u64::from(stored) != found {
            return Err(Error::corrupt(format!(
                "the metadata declare {stored} rows, but the row groups have {found}"
            )));
        }
        cursor.finish()?;
        Ok(metadata)
    }

    /// Appends the bytes of the metadata.
    ///
    /// # Errors
    /// Returns [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange) if the number of rows, columns, row groups or
    /// pages exceeds 32 bits.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&count(self.columns.len() as u64, "columns")?);
        for column in &self.columns {
            column.write(out)?;
        }
        out.extend_from_slice(&count(self.row_groups.len() as u64, "row groups")?);
        for group in &self.row_groups {
            group.write(out)?;
        }
        out.extend_from_slice(&count(self.num_rows(), "rows")?);
        Ok(())
    }
}
