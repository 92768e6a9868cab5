//! Spec: Chapter 6, "Primitive Variable-Sized Encoding".

use super::super::schema::NativeType;
use super::super::{ByteValues, Chunk, Values, mismatch};
use super::slots::Slots;
use crate::error::Result;
use crate::format::{BasicType, DataType};
use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, GenericByteArray, GenericByteViewArray};
use arrow_schema::DataType as ArrowType;

/// Returns the values of a string or binary array in its own layout.
pub(super) fn bytes(array: &dyn Array, slots: &Slots, node: &DataType) -> Result<Chunk<Values>> {
    let is_text = node.basic_type == BasicType::String;
    let is_dynamic = NativeType::of(node) == Some(NativeType::Dynamic);
    if array.data_type().is_string() != is_text && !is_dynamic {
        return Err(mismatch(array.data_type(), node));
    }
    let (array, slots) = slots.cut(array);
    let array = array.as_ref();
    // Rows are selected as views: this copies no bytes, and picking a row repeatedly cannot overflow 32-bit offsets.
    let viewed = match array.data_type() {
        _ if slots.is_all() => None,
        ArrowType::Utf8 => Some(ArrowType::Utf8View),
        ArrowType::Binary => Some(ArrowType::BinaryView),
        _ => None,
    };
    let viewed = viewed.map(|to| arrow_cast::cast(array, &to)).transpose()?;
    let (taken, nulls) = slots.take(viewed.as_deref().unwrap_or(array))?;
    let values = match taken.data_type() {
        ArrowType::Utf8 => offsets32(taken.as_string::<i32>()),
        ArrowType::Binary => offsets32(taken.as_binary::<i32>()),
        ArrowType::LargeUtf8 => offsets64(taken.as_string::<i64>()),
        ArrowType::LargeBinary => offsets64(taken.as_binary::<i64>()),
        ArrowType::Utf8View => views(taken.as_string_view()),
        ArrowType::BinaryView => views(taken.as_binary_view()),
        other => return Err(mismatch(other, node)),
    };
    Ok(Chunk {
        len: slots.len(),
        nulls,
        values: Values::Bytes(values),
    })
}

fn offsets32<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> ByteValues {
    ByteValues::Offsets32(array.offsets().clone(), array.values().clone())
}

fn offsets64<T: ByteArrayType<Offset = i64>>(array: &GenericByteArray<T>) -> ByteValues {
    ByteValues::Offsets64(array.offsets().clone(), array.values().clone())
}

fn views<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> ByteValues {
    ByteValues::Views(array.views().clone(), array.data_buffers().to_vec())
}
