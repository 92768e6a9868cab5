//! Spec: COLE 1.0, "Column Schema".
//!
//! ```text
//! ┌──────────┬──────┬──────┬──────────┐
//! │ name_len │ name │ type │ encoding │
//! └──────────┴──────┴──────┴──────────┘
//! ```

use super::cursor::Cursor;
use super::encoding_type::Encoding;
use crate::error::{Error, ErrorKind, Result};
use arrow_schema::{DataType, Field};
use std::fmt;

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Signed integers of 32 bits: [`DataType::Int32`].
    Int32,
    /// Signed integers of 64 bits: [`DataType::Int64`].
    Int64,
    /// Text in UTF-8: [`DataType::Utf8`].
    String,
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::String => "STRING",
        })
    }
}

impl ColumnType {
    /// Returns the column type for values of an Arrow type, or `None` if COLE has no such type.
    pub fn from_arrow(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Int32 => Some(Self::Int32),
            DataType::Int64 => Some(Self::Int64),
            DataType::Utf8 => Some(Self::String),
            _ => None,
        }
    }

    /// Returns the Arrow type of the values.
    pub fn to_arrow(self) -> DataType {
        match self {
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::String => DataType::Utf8,
        }
    }
}

/// Name and type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSchema {
    /// Name; a file may have several columns of the same name.
    pub name: String,
    /// Type of the values.
    pub column_type: ColumnType,
    /// The usual encoding of the pages, as the writer declares it. Each page declares its own encoding.
    pub encoding: Encoding,
}

impl ColumnSchema {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let name = std::str::from_utf8(cursor.take_prefixed()?)
            .map_err(|e| Error::corrupt("the name of a column is not UTF-8").caused_by(e))?
            .to_owned();
        let column_type = match cursor.u8()? {
            0 => ColumnType::Int32,
            1 => ColumnType::Int64,
            2 => ColumnType::String,
            other => {
                return Err(Error::corrupt(format!(
                    "column `{name}` has type {other}, expected 0 (INT32), 1 (INT64) or 2 (STRING)"
                )));
            }
        };
        let encoding = Encoding::read(cursor)?;
        Ok(Self {
            name,
            column_type,
            encoding,
        })
    }

    /// Appends the bytes of the structure.
    ///
    /// # Errors
    /// Returns [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) for a name of 4 GiB or more.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let len = u32::try_from(self.name.len()).map_err(|_| {
            Error::new(
                ErrorKind::ValueOutOfRange,
                format!(
                    "the name of a column has {} bytes, expected less than 4 GiB",
                    self.name.len()
                ),
            )
        })?;
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out.push(match self.column_type {
            ColumnType::Int32 => 0,
            ColumnType::Int64 => 1,
            ColumnType::String => 2,
        });
        out.push(self.encoding.code());
        Ok(())
    }

    /// Returns the Arrow field of the column. COLE has no nulls.
    pub(super) fn to_arrow(&self) -> Field {
        Field::new(&self.name, self.column_type.to_arrow(), false)
    }
}
