//! The value that an array of one holds.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// A floating-point literal as the double that it equals.
pub(super) fn double(literal: &ArrayRef) -> Option<f64> {
    match literal.data_type() {
        DataType::Float64 => Some(literal.as_primitive::<Float64Type>().value(0)),
        DataType::Float32 => Some(f64::from(literal.as_primitive::<Float32Type>().value(0))),
        DataType::Float16 => Some(literal.as_primitive::<Float16Type>().value(0).to_f64()),
        _ => None,
    }
}

/// The text of a literal.
pub(super) fn text(literal: &ArrayRef) -> Option<String> {
    let text = match literal.data_type() {
        DataType::Utf8 => literal.as_string::<i32>().value(0),
        DataType::LargeUtf8 => literal.as_string::<i64>().value(0),
        DataType::Utf8View => literal.as_string_view().value(0),
        _ => return None,
    };
    Some(text.to_owned())
}

/// The bytes of the text or bytes that an array of one value holds.
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

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
