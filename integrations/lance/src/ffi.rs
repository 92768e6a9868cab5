//! Converts batches and schemas between the two linked versions of Arrow, of `arrow-shard` and of the Lance crates.
//! Both implement the Arrow C Data Interface, so arrays are exchanged without a copy of their buffers.

#![expect(
    unsafe_code,
    reason = "the C Data Interface hands over raw structures; this is the only file of the crate that touches them"
)]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{Array, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{Schema, SchemaRef};
use arrow_shard::{Error, ErrorKind, Result};
use lance_arrow_array as lance_array;
use lance_arrow_array::Array as _;
use lance_arrow_array::ffi as lance_ffi;
use std::mem::{align_of, size_of};
use std::sync::Arc;

/// Converts a schema of the Lance crates to the Arrow version of `arrow-shard`.
///
/// # Errors
/// [`Unsupported`](ErrorKind::Unsupported) if the other version of Arrow exports a type that this one does not import.
pub(crate) fn schema_from_lance(schema: &lance_arrow_schema::Schema) -> Result<Schema> {
    let exported = lance_ffi::FFI_ArrowSchema::try_from(schema).map_err(refused)?;
    Ok(Schema::try_from(&our_schema(exported))?)
}

/// Converts a schema to the Arrow version of the Lance crates.
///
/// # Errors
/// [`Unsupported`](ErrorKind::Unsupported) if the other version of Arrow does not import a type.
pub(crate) fn schema_to_lance(schema: &Schema) -> Result<lance_arrow_schema::Schema> {
    let exported = their_schema(FFI_ArrowSchema::try_from(schema)?);
    lance_arrow_schema::Schema::try_from(&exported).map_err(refused)
}

/// Converts a batch of the Lance crates to `schema`, the [`schema_from_lance`] of its own schema. Shares all buffers.
///
/// Everything that safe code relies on is checked: sizes of buffers, offsets, keys of dictionaries, UTF-8. The decoders
/// of the Lance crates do not check all of it, and a damaged file must not lead to undefined behavior.
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) if the arrays are not valid; the message names the column.
pub(crate) fn batch_from_lance(
    batch: lance_array::RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    // Before the export: the C Data Interface has no sizes of buffers, so that the import has to trust the number of
    // rows.
    for (column, field) in batch.columns().iter().zip(schema.fields()) {
        column.to_data().validate_full().map_err(|error| {
            Error::new(ErrorKind::Corrupt, "the decoded values are not valid")
                .caused_by(error)
                .within(column_name(field.name()))
        })?;
    }
    let exported_schema =
        lance_ffi::FFI_ArrowSchema::try_from(batch.schema().as_ref()).map_err(refused)?;
    let data = lance_array::StructArray::from(batch).into_data();
    let exported = our_array(lance_ffi::FFI_ArrowArray::new(&data));
    // SAFETY: both structures come from the same array, which was validated.
    let data = unsafe { from_ffi(exported, &our_schema(exported_schema)) }?;
    let columns = StructArray::from(data).into_parts().1;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        schema.clone(),
        columns,
        &options,
    )?)
}

/// Converts a batch to `schema`, the [`schema_to_lance`] of its own schema. Shares all buffers.
///
/// # Errors
/// [`Unsupported`](ErrorKind::Unsupported) if the other version of Arrow does not import the arrays.
pub(crate) fn batch_to_lance(
    batch: &RecordBatch,
    schema: &Arc<lance_arrow_schema::Schema>,
) -> Result<lance_array::RecordBatch> {
    let rows = batch.num_rows();
    let array = StructArray::from(batch.clone());
    let exported_schema = their_schema(FFI_ArrowSchema::try_from(array.data_type())?);
    let exported = their_array(FFI_ArrowArray::new(&array.into_data()));
    // SAFETY: both structures come from the same valid array.
    let data = unsafe { lance_ffi::from_ffi(exported, &exported_schema) }.map_err(refused)?;
    let columns = lance_array::StructArray::from(data).into_parts().1;
    let options = lance_array::RecordBatchOptions::new().with_row_count(Some(rows));
    lance_array::RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(refused)
}

/// Returns the name of a column in messages.
pub(crate) fn column_name(name: &str) -> String {
    format!("column `{name}`")
}

fn refused(error: lance_arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Unsupported, error.to_string())
}

// Both crates declare the structures of the C Data Interface, `#[repr(C)]`, with the members that the specification
// lists.
const _: () = {
    assert!(size_of::<FFI_ArrowArray>() == size_of::<lance_ffi::FFI_ArrowArray>());
    assert!(align_of::<FFI_ArrowArray>() == align_of::<lance_ffi::FFI_ArrowArray>());
    assert!(size_of::<FFI_ArrowSchema>() == size_of::<lance_ffi::FFI_ArrowSchema>());
    assert!(align_of::<FFI_ArrowSchema>() == align_of::<lance_ffi::FFI_ArrowSchema>());
};

fn our_array(mut array: lance_ffi::FFI_ArrowArray) -> FFI_ArrowArray {
    // SAFETY: both sides have the layout of the C Data Interface. `from_raw` moves the content out and leaves a
    // released structure, so that exactly one side calls the release callback.
    unsafe { FFI_ArrowArray::from_raw((&raw mut array).cast()) }
}

fn our_schema(mut schema: lance_ffi::FFI_ArrowSchema) -> FFI_ArrowSchema {
    // SAFETY: as in `our_array`.
    unsafe { FFI_ArrowSchema::from_raw((&raw mut schema).cast()) }
}

fn their_array(mut array: FFI_ArrowArray) -> lance_ffi::FFI_ArrowArray {
    // SAFETY: as in `our_array`.
    unsafe { lance_ffi::FFI_ArrowArray::from_raw((&raw mut array).cast()) }
}

fn their_schema(mut schema: FFI_ArrowSchema) -> lance_ffi::FFI_ArrowSchema {
    // SAFETY: as in `our_array`.
    unsafe { lance_ffi::FFI_ArrowSchema::from_raw((&raw mut schema).cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::{DataType, Field};

    #[test]
    fn buffers_cross_both_ways_without_a_copy() {
        let field = Field::new("a", DataType::Int32, true)
            .with_metadata([("key".to_owned(), "value".to_owned())].into());
        let schema = Arc::new(Schema::new_with_metadata(
            vec![field, Field::new("b", DataType::Utf8, false)],
            [("of".to_owned(), "the table".to_owned())].into(),
        ));
        let numbers = Int32Array::from(vec![Some(1), None, Some(3)]);
        let at = numbers.values().as_ptr();
        let columns: Vec<arrow_array::ArrayRef> = vec![
            Arc::new(numbers),
            Arc::new(StringArray::from(vec!["x", "", "z"])),
        ];
        let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
        let theirs = Arc::new(schema_to_lance(&schema).unwrap());
        let crossed = batch_to_lance(&batch, &theirs).unwrap();
        let back = Arc::new(schema_from_lance(&theirs).unwrap());
        assert_eq!(back, schema);
        let back = batch_from_lance(crossed, &back).unwrap();
        assert_eq!(back, batch);
        let numbers = back.column(0).as_any().downcast_ref::<Int32Array>();
        assert_eq!(numbers.unwrap().values().as_ptr(), at);
    }

    #[test]
    fn batches_without_columns_keep_their_rows() {
        let schema = Arc::new(Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(7));
        let batch = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
        let theirs = Arc::new(schema_to_lance(&schema).unwrap());
        let crossed = batch_to_lance(&batch, &theirs).unwrap();
        assert_eq!(batch_from_lance(crossed, &schema).unwrap().num_rows(), 7);
    }
}
