//! The types that Python sees: string and binary views become strings and binaries, which every library supports.

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// Returns a schema without views, and whether the original has any.
pub(crate) fn without_views(schema: &SchemaRef) -> (SchemaRef, bool) {
    let fields = shown_fields(schema.fields());
    if fields == *schema.fields() {
        (schema.clone(), false)
    } else {
        let metadata = schema.metadata().clone();
        (Arc::new(Schema::new_with_metadata(fields, metadata)), true)
    }
}

/// Returns a batch without views.
pub(crate) fn batch_without_views(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let (schema, has_views) = without_views(batch.schema_ref());
    if !has_views {
        return Ok(batch);
    }
    let pairs = batch.columns().iter().zip(schema.fields());
    let columns = pairs.map(|(column, field)| cast(column, field.data_type()));
    RecordBatch::try_new(schema.clone(), columns.collect::<Result<_, _>>()?)
}

fn shown_fields(fields: &Fields) -> Fields {
    fields.iter().map(shown_field).collect()
}

fn shown_field(field: &FieldRef) -> FieldRef {
    let shown = shown(field.data_type());
    if shown == *field.data_type() {
        field.clone()
    } else {
        Arc::new(Field::clone(field).with_data_type(shown))
    }
}

fn shown(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(shown_field(item)),
        DataType::LargeList(item) => DataType::LargeList(shown_field(item)),
        DataType::ListView(item) => DataType::ListView(shown_field(item)),
        DataType::LargeListView(item) => DataType::LargeListView(shown_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(shown_field(item), *size),
        DataType::Struct(members) => DataType::Struct(shown_fields(members)),
        DataType::Map(entries, sorted) => DataType::Map(shown_field(entries), *sorted),
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(shown(values)))
        }
        other => other.clone(),
    }
}
