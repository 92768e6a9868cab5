//! Converts string views to Utf8.

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use std::sync::Arc;

/// Returns a schema with Utf8 instead of Utf8View, also in lists.
pub(crate) fn with_utf8(schema: &Schema) -> Schema {
    let fields: Vec<FieldRef> = schema.fields().iter().map(field_with_utf8).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn field_with_utf8(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::List(item) => DataType::List(field_with_utf8(item)),
        _ => return field.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// Casts the columns of a batch to the types of `schema`.
pub(crate) fn cast_batch(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let pairs = batch.columns().iter().zip(schema.fields());
    let columns = pairs
        .map(|(column, field)| cast(column, field.data_type()))
        .collect::<Result<_, _>>()?;
    RecordBatch::try_new(schema.clone(), columns)
}
