//! Converts columns to types that COLE supports.

use crate::failure::Failure;
use crate::leaves::cast_column;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use arrow_shard::interop::cole::{ColumnType, Writer, WriterOptions};
use arrow_shard::io::WriteSink;
use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

/// Writes batches of one schema.
pub(crate) struct ColeEncoder<W: Write + Send>(Writer<WriteSink<W>>);

impl<W: Write + Send> ColeEncoder<W> {
    pub(super) fn start(out: W, schema: &SchemaRef) -> Result<Self, Failure> {
        let options = WriterOptions::default();
        let writer = Writer::try_new(WriteSink::new(out), schema.clone(), options);
        Ok(Self(writer.map_err(advised)?))
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.0.write(batch).map_err(advised)
    }

    pub(super) fn finish(self) -> Result<W, Failure> {
        Ok(self.0.into_inner()?.into_inner())
    }
}

/// Adds advice to the error for a column that COLE does not support.
fn advised(error: arrow_shard::Error) -> Failure {
    use arrow_shard::ErrorKind::{AmbiguousColumn, Unsupported};
    match error.kind() {
        AmbiguousColumn | Unsupported => Failure::new(format!(
            "{error:#}; choose other columns with --columns, or convert the values with --lossy"
        )),
        _ => error.into(),
    }
}

/// Returns the type that replaces a column's type with `--lossy`, or `None` if COLE has nothing similar.
fn substitute(data_type: &DataType) -> Option<DataType> {
    use DataType as T;
    match data_type {
        T::Int8 | T::Int16 | T::UInt8 | T::UInt16 | T::Boolean => Some(T::Int32),
        T::UInt32 | T::UInt64 => Some(T::Int64),
        T::Dictionary(_, value) => substitute(value),
        T::RunEndEncoded(_, values) => substitute(values.data_type()),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => None,
        other if ColumnType::from_arrow(other).is_some() => Some(other.clone()),
        other if other.is_nested() => None,
        _ => Some(T::Utf8),
    }
}

/// Returns the schema that `--lossy` writes instead of another: columns of types that COLE supports, with unique names.
pub(crate) fn lossy_schema(schema: &Schema) -> Result<SchemaRef, Failure> {
    let mut names = HashSet::new();
    let fields = schema.fields().iter().map(|field| {
        let data_type = substitute(field.data_type()).ok_or_else(|| {
            Failure::new(format!(
                "column `{}` is {}, which COLE cannot hold; choose other columns with --columns",
                field.name(),
                field.data_type()
            ))
        })?;
        let mut name = field.name().clone();
        let mut ordinal = 1;
        while names.contains(&name) || ordinal > 1 && schema.index_of(&name).is_ok() {
            ordinal += 1;
            name = format!("{}_{ordinal}", field.name());
        }
        names.insert(name.clone());
        Ok(Field::new(name, data_type, false))
    });
    let fields = fields.collect::<Result<Fields, Failure>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// Converts a batch to the types of [`lossy_schema`]. Nulls become 0 or empty text.
pub(crate) fn lossy_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let columns = (batch.columns().iter().zip(schema.fields()))
        .map(|(column, field)| Ok(without_nulls(&cast_column(column, field)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        schema.clone(),
        columns,
        &rows,
    )?)
}

fn without_nulls(array: &ArrayRef) -> ArrayRef {
    if array.null_count() == 0 {
        return array.clone();
    }
    match array.data_type() {
        DataType::Int32 => {
            let values = array.as_primitive::<Int32Type>().iter();
            Arc::new(
                values
                    .map(Option::unwrap_or_default)
                    .collect::<PrimitiveArray<Int32Type>>(),
            )
        }
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>().iter();
            Arc::new(
                values
                    .map(Option::unwrap_or_default)
                    .collect::<PrimitiveArray<Int64Type>>(),
            )
        }
        DataType::Utf8 => {
            let values = array
                .as_string::<i32>()
                .iter()
                .map(Option::unwrap_or_default);
            Arc::new(StringArray::from_iter_values(values))
        }
        _ => array.clone(),
    }
}
