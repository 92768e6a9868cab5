//! Functions of a text in predicates: LOWER, UPPER and LENGTH. Neither statistics nor dictionaries answer their tests.

use super::column_comparison::{is_bytes, plain};
use crate::arrow::value_type;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, Int64Array, StringViewArray};
use arrow_schema::{ArrowError, DataType};
use std::sync::Arc;

/// A function of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum TextFunction {
    Lower,
    Upper,
    /// The number of characters of a text, or of bytes of a binary value.
    Length,
}

impl TextFunction {
    pub(super) const ALL: [Self; 3] = [Self::Lower, Self::Upper, Self::Length];

    /// Returns the name in the text of predicates.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::Length => "length",
        }
    }

    /// Returns the type of the results for a column of a type; dictionaries and runs count as the type of their values.
    ///
    /// # Errors
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the function has no result for such values.
    pub(super) fn result(self, column: &DataType) -> Result<DataType> {
        let of = value_type(column);
        let is_text = of.is_string() || of.is_null();
        match self {
            Self::Length if is_text || is_bytes(of) => Ok(DataType::Int64),
            Self::Lower | Self::Upper if is_text => Ok(DataType::Utf8View),
            _ => {
                let what = match self {
                    Self::Length => "text and bytes of any length",
                    Self::Lower | Self::Upper => "text",
                };
                let message = format!("{} is for {what}, found {of}", self.name());
                Err(Error::new(ErrorKind::SchemaMismatch, message))
            }
        }
    }

    /// Applies the function to every value; the result for a null is null.
    pub(super) fn apply(self, column: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
        if is_bytes(value_type(column.data_type())) {
            let bytes = plain(column, &DataType::BinaryView)?;
            return Ok(lengths(bytes.as_binary_view(), |bytes| bytes.len()));
        }
        let texts = plain(column, &DataType::Utf8View)?;
        let texts = texts.as_string_view();
        let mapped = |map: fn(&str) -> String| {
            let mapped = texts.iter().map(|text| text.map(map));
            Arc::new(mapped.collect::<StringViewArray>()) as ArrayRef
        };
        Ok(match self {
            Self::Lower => mapped(str::to_lowercase),
            Self::Upper => mapped(str::to_uppercase),
            Self::Length => lengths(texts, |text| text.chars().count()),
        })
    }
}

/// Returns the length of every value.
fn lengths<T: arrow_array::types::ByteViewType>(
    values: &GenericByteViewArray<T>,
    length: impl Fn(&T::Native) -> usize,
) -> ArrayRef {
    let length = |value: &T::Native| i64::try_from(length(value)).unwrap_or(i64::MAX);
    let lengths = values.iter().map(|value| value.map(length));
    Arc::new(lengths.collect::<Int64Array>())
}
