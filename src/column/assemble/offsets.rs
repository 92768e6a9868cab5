//! What offsets of 32 bits reach.

use super::super::chunk::{spanned, viewed};
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::fmt;

/// Bytes of all values that an array of strings or binaries holds; those of views may be counted
/// though they are null.
pub(super) fn byte_len(array: &ArrayRef) -> u64 {
    let spanned = match array.data_type() {
        ArrowType::LargeUtf8 => spanned(array.as_string::<i64>().offsets()),
        ArrowType::LargeBinary => spanned(array.as_binary::<i64>().offsets()),
        ArrowType::Utf8 => spanned(array.as_string::<i32>().offsets()),
        ArrowType::Binary => spanned(array.as_binary::<i32>().offsets()),
        ArrowType::Utf8View => return viewed(array.as_string_view().views()),
        ArrowType::BinaryView => return viewed(array.as_binary_view().views()),
        _ => 0,
    };
    spanned as u64
}

/// # Errors
/// [`ErrorKind::OffsetOverflow`] if so many bytes need wider offsets than 32 bits.
pub(super) fn check_offsets32(bytes: u64) -> Result<()> {
    if i32::try_from(bytes).is_ok() {
        return Ok(());
    }
    Err(overflow(format_args!("{bytes} bytes of values")))
}

/// The error for values that need wider offsets than the type has.
pub(super) fn overflow(values: fmt::Arguments<'_>) -> Error {
    Error::new(
        ErrorKind::OffsetOverflow,
        format!("{values} exceed 32-bit offsets; ask for a type with 64-bit offsets or views"),
    )
}
