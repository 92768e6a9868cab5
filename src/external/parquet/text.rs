//! Text in columns that do not declare it. The crate `parquet` checks only columns that do, so these are read as bytes.

use crate::buffer::Selection;
use crate::error::{Error, Result};
use crate::kernels::{utf8_array, utf8_view_array};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, GenericBinaryArray, OffsetSizeTrait};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;

/// Returns the type of bytes that become text of a type without a copy; other types are returned as they are.
pub(super) fn bytes_of(text: &ArrowType) -> ArrowType {
    match text {
        ArrowType::Utf8 => ArrowType::Binary,
        ArrowType::LargeUtf8 => ArrowType::LargeBinary,
        ArrowType::Utf8View => ArrowType::BinaryView,
        other => other.clone(),
    }
}

/// Converts an array of bytes to the wanted type, if that is text. Checks that the values are UTF-8, also if they are
/// text already. Other values in the memory of the array are not checked. `positions` has a position for each value.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt), with the first position of a value that is not UTF-8.
pub(super) fn to_text(
    array: ArrayRef,
    wanted: &ArrowType,
    positions: &Selection,
) -> Result<ArrayRef> {
    let converted = match (array.data_type(), wanted) {
        (ArrowType::Binary, ArrowType::Utf8) => with_offsets(array.as_binary::<i32>()),
        (ArrowType::LargeBinary, ArrowType::LargeUtf8) => with_offsets(array.as_binary::<i64>()),
        (ArrowType::BinaryView, ArrowType::Utf8View) => with_views(array.as_binary_view()),
        // JSON.
        (ArrowType::Utf8, _) => with_offsets(&array.as_string::<i32>().clone().into()),
        (ArrowType::LargeUtf8, _) => with_offsets(&array.as_string::<i64>().clone().into()),
        (ArrowType::Utf8View, _) => with_views(&array.as_string_view().clone().to_binary_view()),
        _ => return Ok(array),
    };
    converted.map_err(|invalid| {
        let at = invalid.map_or(0, |at| at as u64);
        let position = positions.slice(at..at + 1).end().saturating_sub(1);
        Error::corrupt(format!(
            "expected UTF-8 text at position {position}, found other bytes"
        ))
    })
}

/// Converts bytes with offsets. The error is the first value that is not UTF-8.
fn with_offsets<O: OffsetSizeTrait>(
    bytes: &GenericBinaryArray<O>,
) -> Result<ArrayRef, Option<usize>> {
    let (offsets, values, nulls) = bytes.clone().into_parts();
    match utf8_array(offsets, values, nulls) {
        Ok(texts) => Ok(Arc::new(texts)),
        Err(_) => Err(first_invalid(bytes.iter())),
    }
}

/// Converts views of bytes. The error is the first value that is not UTF-8.
fn with_views(bytes: &BinaryViewArray) -> Result<ArrayRef, Option<usize>> {
    let (views, buffers, nulls) = bytes.clone().into_parts();
    match utf8_view_array(views, buffers.to_vec(), nulls) {
        Ok(texts) => Ok(Arc::new(texts)),
        Err(_) => Err(first_invalid(bytes.iter())),
    }
}

fn first_invalid<'a>(mut values: impl Iterator<Item = Option<&'a [u8]>>) -> Option<usize> {
    values.position(|value| value.is_some_and(|value| str::from_utf8(value).is_err()))
}
