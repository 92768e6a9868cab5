//! Imports arrays from Arrow's C interface. Other libraries export a slice as an offset into the whole array, also in
//! nested types, where `make_array` of Arrow 59 would apply the offset twice. So this module slices each array first.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{ArrowError, DataType, Field, UnionMode};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_void};
use std::fmt;

/// Returns the array of an object with `__arrow_c_array__`, and its field.
#[expect(unsafe_code, reason = "a capsule holds what its name says")]
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<(ArrayRef, Field)> {
    let capsules = object.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
    let schema = schema
        .pointer_checked(Some(c"arrow_schema"))?
        .cast::<FFI_ArrowSchema>();
    let array = array
        .pointer_checked(Some(c"arrow_array"))?
        .cast::<FFI_ArrowArray>();
    // SAFETY: the capsules live until the end of this function, and hold the types that their names promise. The array
    // is moved out of its capsule, which keeps a released one.
    let (schema, mut array) =
        unsafe { (schema.as_ref(), FFI_ArrowArray::from_raw(array.as_ptr())) };
    let import = || -> Result<(ArrayRef, Field), ArrowError> {
        let field = Field::try_from(schema)?;
        // SAFETY: as above.
        unsafe { RawArray::drop_buffers_of_nulls(&mut array, field.data_type()) };
        // SAFETY: the producer of the capsules guarantees that the array has the type of the schema.
        let data = unsafe { from_ffi(array, schema) }?;
        Ok((array_of(data)?, field))
    };
    import().map_err(|error| PyTypeError::new_err(error.to_string()))
}

/// The arrays of an object with `__arrow_c_stream__`.
pub(crate) struct Stream {
    stream: FFI_ArrowArrayStream,
    field: Field,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("field", &self.field)
            .finish()
    }
}

impl Stream {
    #[expect(unsafe_code, reason = "a capsule holds what its name says")]
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let exported = object.call_method0("__arrow_c_stream__")?;
        let capsule = exported.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: the capsule lives until the end of this function, and holds the type that its name promises. The
        // stream is moved out of the capsule, which keeps a released one.
        let mut stream = unsafe {
            FFI_ArrowArrayStream::from_raw(pointer.cast::<FFI_ArrowArrayStream>().as_ptr())
        };
        let Some(get_schema) = stream.get_schema else {
            return Err(PyValueError::new_err(
                "the stream of rows has been read already",
            ));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is not released, and fills the schema if it returns 0.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        let field = match code {
            0 => Field::try_from(&schema),
            code => Err(last_error(&mut stream, code)),
        };
        match field {
            Ok(field) => Ok(Self { stream, field }),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }

    pub(crate) fn field(&self) -> &Field {
        &self.field
    }
}

impl Iterator for Stream {
    type Item = Result<ArrayRef, ArrowError>;

    #[expect(unsafe_code, reason = "the interface is functions of C")]
    fn next(&mut self) -> Option<Self::Item> {
        let get_next = self.stream.get_next?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the stream is not released, and fills the array if it returns 0.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            return Some(Err(last_error(&mut self.stream, code)));
        }
        if array.is_released() {
            return None;
        }
        let data_type = self.field.data_type();
        // SAFETY: the producer of the stream guarantees that its arrays have the type of its schema.
        unsafe { RawArray::drop_buffers_of_nulls(&mut array, data_type) };
        // SAFETY: as above.
        let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) };
        Some(data.and_then(array_of))
    }
}

/// `struct ArrowArray` of the C interface, which defines the layout. `FFI_ArrowArray` has the same fields, but does not
/// allow changes.
#[repr(C)]
struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut RawArray,
    dictionary: *mut RawArray,
}

impl RawArray {
    /// Removes the buffers of arrays of type Null, which must not have any: polars exports a validity buffer, and
    /// Arrow 59 rejects the whole array because of it.
    ///
    /// # Safety
    /// The array must not be released, and must be of type `data_type`.
    #[expect(unsafe_code, reason = "the interface is a struct of C")]
    unsafe fn drop_buffers_of_nulls(array: &mut FFI_ArrowArray, data_type: &DataType) {
        // SAFETY: the C interface fixes the fields and their order.
        unsafe { Self::visit((&raw mut *array).cast(), data_type) }
    }

    /// # Safety
    /// The pointer must be null, or lead to an array of type `data_type` that is not released.
    #[expect(unsafe_code, reason = "the interface is a struct of C")]
    unsafe fn visit(array: *mut Self, data_type: &DataType) {
        // SAFETY: by this function's contract, the pointer is null or leads to an array that is not released.
        let Some(array) = (unsafe { array.as_mut() }) else {
            return;
        };
        if let DataType::Null = data_type {
            array.n_buffers = 0;
            return;
        }
        let child = |i: usize, data_type: &DataType| {
            let count = usize::try_from(array.n_children).unwrap_or(0);
            if i < count && !array.children.is_null() {
                // SAFETY: `i` is below the number of children; they are not released and have the types of the fields.
                unsafe { Self::visit(*array.children.add(i), data_type) }
            }
        };
        match data_type {
            DataType::Struct(fields) => {
                let fields = fields.iter().enumerate();
                fields.for_each(|(i, field)| child(i, field.data_type()));
            }
            DataType::Union(fields, _) => {
                let fields = fields.iter().enumerate();
                fields.for_each(|(i, (_, field))| child(i, field.data_type()));
            }
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => child(0, item.data_type()),
            DataType::RunEndEncoded(_, values) => child(1, values.data_type()),
            DataType::Dictionary(_, values) => {
                // SAFETY: a dictionary array has a dictionary of the value type.
                unsafe { Self::visit(array.dictionary, values) }
            }
            _ => {}
        }
    }
}

/// Returns the error of a stream's last failure.
#[expect(unsafe_code, reason = "the interface is functions of C")]
fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    let text = stream.get_last_error.and_then(|get_last_error| {
        // SAFETY: the stream is not released. It owns the text, which is valid until the next call.
        let text = unsafe { get_last_error(stream) };
        // SAFETY: the text is valid until the next call, and not null.
        (!text.is_null()).then(|| {
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        })
    });
    let text = text.unwrap_or_else(|| format!("the stream of rows failed with code {code}"));
    ArrowError::CDataInterface(text)
}

fn array_of(data: ArrayData) -> Result<ArrayRef, ArrowError> {
    Ok(make_array(cut(data)?))
}

/// Returns the same values, with children of nested types sliced instead of an offset into them.
#[expect(
    unsafe_code,
    reason = "values are not checked again, which takes as long as writing them"
)]
fn cut(data: ArrayData) -> Result<ArrayData, ArrowError> {
    let (data_type, len, nulls, offset, mut buffers, children) = data.into_parts();
    let mut children = children
        .into_iter()
        .map(cut)
        .collect::<Result<Vec<_>, _>>()?;
    // Number of a child's values for each value of this array.
    let values = match &data_type {
        DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => Some(1),
        DataType::FixedSizeList(_, size) => usize::try_from(*size).ok(),
        _ => None,
    };
    let mut kept = offset;
    if let Some(values) = values {
        for child in &mut children {
            *child = part(child, offset.checked_mul(values), len.checked_mul(values))?;
        }
        for types in &mut buffers {
            if types.len() < offset.saturating_add(len) {
                return Err(too_short());
            }
            *types = types.slice_with_length(offset, len);
        }
        kept = 0;
    }
    let builder = ArrayDataBuilder::new(data_type)
        .len(len)
        .offset(kept)
        .nulls(nulls)
        .buffers(buffers)
        .child_data(children);
    // SAFETY: all parts come from a valid array, and where the offset became 0, the children were sliced by it.
    Ok(unsafe { builder.build_unchecked() })
}

/// Returns a slice of an array.
fn part(
    data: &ArrayData,
    start: Option<usize>,
    len: Option<usize>,
) -> Result<ArrayData, ArrowError> {
    let (start, len) = start.zip(len).ok_or_else(too_short)?;
    if start.checked_add(len).is_none_or(|end| end > data.len()) {
        return Err(too_short());
    }
    if (start, len) == (0, data.len()) {
        return Ok(data.clone());
    }
    Ok(make_array(data.clone()).slice(start, len).to_data())
}

fn too_short() -> ArrowError {
    ArrowError::CDataInterface("a nested array is shorter than the one around it".to_owned())
}
