//! Spec: Chapter 6, "Primitive Variable-Sized Encoding".

use super::super::{ByteLayout, ByteValues, Chunk, mismatch};
use super::offsets::{byte_len, check_offsets32};
use super::{Assembler, Casts, cast, check_chunk, check_len, invalid};
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::format::{BasicType, DataType};
use crate::kernels::{utf8_array, utf8_view_array, views_of};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, GenericBinaryArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;

impl Assembler<'_> {
    /// Returns the strings or binary values of a leaf, cast to the requested type.
    pub(super) fn bytes(
        &mut self,
        wanted: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        if wanted.is_nested() {
            return Err(mismatch(wanted, node));
        }
        if self.source.is_external(node) {
            return match ByteLayout::of(wanted) {
                Some(_) => self.external(wanted, wanted, node, rows),
                None => self.external(wanted, &self.casts.bytes_type(node, wanted), node, rows),
            };
        }
        if let Some(stored) = self.source.dictionary(node, rows)? {
            return self.gather(stored, wanted, node, rows);
        }
        let Some(layout) = ByteLayout::of(wanted) else {
            let own = self.casts.bytes_type(node, wanted);
            let array = self.bytes(&own, node, rows)?;
            return self.cast(array, wanted, node);
        };
        if layout == ByteLayout::Views {
            let offsets = if wanted.is_string() {
                ArrowType::Utf8
            } else {
                ArrowType::Binary
            };
            // Checking UTF-8 is faster on contiguous text.
            match self.bytes(&offsets, node, rows) {
                Ok(array) => return Ok(views(&array)),
                Err(e) if e.kind() == ErrorKind::OffsetOverflow => {}
                Err(e) => return Err(e),
            }
        }
        if layout != ByteLayout::Views
            && let Some(array) = self.source.kept_bytes(node, wanted, rows)?
        {
            check_len(to_usize(rows.len())?, array.len())?;
            return Ok(array);
        }
        let chunk = self.source.bytes(node, layout, rows)?;
        check_chunk(&chunk, rows)?;
        bytes(chunk, wanted, node, self.casts)
    }
}

/// Converts an array with 32-bit offsets to views.
fn views(array: &ArrayRef) -> ArrayRef {
    match array.as_string_opt() {
        Some(text) => Arc::new(views_of(text)),
        None => Arc::new(views_of(array.as_binary())),
    }
}

/// Returns the array of variable-size values, cast to the wanted type.
pub(super) fn bytes(
    chunk: Chunk<ByteValues>,
    wanted: &ArrowType,
    node: &DataType,
    casts: &Casts,
) -> Result<ArrayRef> {
    if ByteLayout::of(wanted).is_some() {
        return byte_array(chunk, wanted, node);
    }
    let array = byte_array(chunk, &casts.bytes_type(node, wanted), node)?;
    casts.leaf(array, wanted, node)
}

/// Returns the array of variable-size values as a type of strings or variable-size binaries.
///
/// # Errors
/// Returns [`Corrupt`](ErrorKind::Corrupt) if offsets or views are damaged or a string is not UTF-8,
/// [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) if a value of a binary column that is read as strings is not, and
/// [`OffsetOverflow`](ErrorKind::OffsetOverflow) if 32-bit offsets do not suffice.
pub fn byte_array(
    chunk: Chunk<ByteValues>,
    wanted: &ArrowType,
    node: &DataType,
) -> Result<ArrayRef> {
    let wanted_layout = ByteLayout::of(wanted).ok_or_else(|| mismatch(wanted, node))?;
    let Chunk { len, nulls, values } = chunk;
    let text = wanted.is_string();
    let (array, layout) = match values {
        ByteValues::Offsets32(offsets, values) => {
            let array = offset_array(text, offsets, values, nulls);
            (array, ByteLayout::Offsets32)
        }
        ByteValues::Offsets64(offsets, values) => {
            let array = offset_array(text, offsets, values, nulls);
            (array, ByteLayout::Offsets64)
        }
        ByteValues::Views(views, buffers) => {
            (view_array(text, views, buffers, nulls), ByteLayout::Views)
        }
    };
    let array = array.map_err(|e| not_text(e, node))?;
    check_len(len, array.len())?;
    if layout == wanted_layout {
        return Ok(array);
    }
    if wanted_layout == ByteLayout::Offsets32 {
        check_offsets32(byte_len(&array))?;
    }
    cast::checked(&array, wanted)
}

/// Returns values as an array of `LargeBinary`. Building the array checks offsets and views.
pub(super) fn raw(values: ByteValues) -> Result<ArrayRef> {
    let array = match values {
        ByteValues::Offsets32(offsets, values) => offset_array(false, offsets, values, None),
        ByteValues::Offsets64(offsets, values) => offset_array(false, offsets, values, None),
        ByteValues::Views(views, buffers) => view_array(false, views, buffers, None),
    };
    cast::checked(&array?, &ArrowType::LargeBinary)
}

/// Converts an error of UTF-8 validation. If the column is binary and the caller requested strings, the file is not
/// corrupt, so the error is [`ErrorKind::ValueOutOfRange`].
fn not_text(error: Error, node: &DataType) -> Error {
    if node.basic_type == BasicType::String {
        return error;
    }
    Error::new(
        ErrorKind::ValueOutOfRange,
        "a binary value cannot become a string",
    )
    .caused_by(error)
}

fn offset_array<O: OffsetSizeTrait>(
    text: bool,
    offsets: OffsetBuffer<O>,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    Ok(if text {
        Arc::new(utf8_array(offsets, values, nulls)?)
    } else {
        Arc::new(GenericBinaryArray::try_new(offsets, values, nulls).map_err(invalid)?)
    })
}

fn view_array(
    text: bool,
    views: ScalarBuffer<u128>,
    buffers: Vec<Buffer>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    Ok(if text {
        Arc::new(utf8_view_array(views, buffers, nulls)?)
    } else {
        Arc::new(BinaryViewArray::try_new(views, buffers, nulls).map_err(invalid)?)
    })
}
