//! Limits of 32-bit offsets.

use super::super::chunk::{spanned, viewed};
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::fmt;

/// Returns the size in bytes of all values of an array of strings or binaries. For views, values at null positions may
/// count, too.
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

/// Checks that values of `bytes` bytes fit 32-bit offsets.
///
/// # Errors
/// Returns [`ErrorKind::OffsetOverflow`] if they do not.
pub(super) fn check_offsets32(bytes: u64) -> Result<()> {
    if i32::try_from(bytes).is_ok() {
        return Ok(());
    }
    Err(overflow(format_args!("{bytes} bytes of values")))
}

/// Returns the error for values that exceed the offsets of the type.
pub(super) fn overflow(values: fmt::Arguments<'_>) -> Error {
    Error::new(
        ErrorKind::OffsetOverflow,
        format!("{values} exceed 32-bit offsets; ask for a type with 64-bit offsets or views"),
    )
}
