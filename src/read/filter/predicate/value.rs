//! The value of an array of length 1.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Returns a floating-point literal as the double that equals it.
pub(super) fn double(literal: &ArrayRef) -> Option<f64> {
    match literal.data_type() {
        DataType::Float64 => Some(literal.as_primitive::<Float64Type>().value(0)),
        DataType::Float32 => Some(f64::from(literal.as_primitive::<Float32Type>().value(0))),
        DataType::Float16 => Some(literal.as_primitive::<Float16Type>().value(0).to_f64()),
        _ => None,
    }
}

/// Returns the text of a literal.
pub(super) fn text(literal: &ArrayRef) -> Option<String> {
    let text = match literal.data_type() {
        DataType::Utf8 => literal.as_string::<i32>().value(0),
        DataType::LargeUtf8 => literal.as_string::<i64>().value(0),
        DataType::Utf8View => literal.as_string_view().value(0),
        _ => return None,
    };
    Some(text.to_owned())
}

/// Returns the bytes of a text or binary value, from an array of length 1.
pub(in crate::read) fn bytes(literal: &ArrayRef) -> Option<Vec<u8>> {
    let bytes = match literal.data_type() {
        DataType::Binary => literal.as_binary::<i32>().value(0),
        DataType::LargeBinary => literal.as_binary::<i64>().value(0),
        DataType::BinaryView => literal.as_binary_view().value(0),
        DataType::FixedSizeBinary(_) => literal.as_fixed_size_binary().value(0),
        _ => return text(literal).map(String::into_bytes),
    };
    Some(bytes.to_vec())
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
