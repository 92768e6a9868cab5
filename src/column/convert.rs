//! Conversion of values one at a time.

use crate::error::{Error, ErrorKind, Result};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};

/// Converts values. Null positions become zero.
///
/// # Errors
/// Returns [`ErrorKind::ValueOutOfRange`], which names the first row for which `value` returns `None`, with the message
/// of `complaint` for its value.
pub(super) fn convert<S: Copy, T: ArrowNativeType>(
    values: impl Iterator<Item = S>,
    nulls: Option<&NullBuffer>,
    value: impl Fn(S) -> Option<T>,
    complaint: impl Fn(S) -> String,
) -> Result<Buffer> {
    let converted = values.enumerate().map(|(row, from)| {
        if nulls.is_some_and(|n| n.is_null(row)) {
            return Ok(T::default());
        }
        value(from).ok_or_else(|| {
            let message = format!("value {row} of these: {}", complaint(from));
            Error::new(ErrorKind::ValueOutOfRange, message)
        })
    });
    Ok(Buffer::from_vec(converted.collect::<Result<Vec<T>>>()?))
}
