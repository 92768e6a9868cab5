//! Predicates that call pyarrow to evaluate an expression, on the rows that other tests leave.

use crate::batch::Batch;
use crate::import;
use crate::python_calls;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use arrow_shard::read::Predicate;
use pyo3::prelude::*;
use std::sync::Arc;

/// Returns a predicate for the rows in which an expression over these columns of the schema is true.
pub(super) fn predicate(
    expression: &Bound<'_, PyAny>,
    columns: Vec<String>,
    schema: &SchemaRef,
) -> PyResult<Predicate> {
    let module = expression.py().import("arrow_shard._evaluate")?;
    let evaluate = module.getattr("matches")?.unbind();
    let expression = expression.clone().unbind();
    Ok(from_calls(columns, schema, move |py, batch| {
        let found = evaluate.call1(py, (expression.bind(py), Batch(batch)))?;
        Ok(import::array(found.bind(py))?.0)
    }))
}

/// Returns a predicate for the rows in which Python code finds true, from batches of these columns of the schema.
pub(crate) fn from_calls(
    mut columns: Vec<String>,
    schema: &SchemaRef,
    evaluate: impl Fn(Python<'_>, RecordBatch) -> PyResult<ArrayRef> + Send + Sync + 'static,
) -> Predicate {
    if columns.is_empty() {
        // A batch without columns would lose its number of rows.
        let first = schema.fields().first();
        columns.extend(first.map(|field| field.name().clone()));
    }
    let schema = schema.clone();
    Predicate::from_fn(columns, move |batch| {
        let batch = as_shown(batch, &schema)?;
        let rows = batch.num_rows();
        let found = python_calls::call(|py| evaluate(py, batch))?;
        let matches: Option<&BooleanArray> = found.as_boolean_opt();
        match matches.filter(|matches| matches.len() == rows) {
            Some(matches) => Ok(matches.clone()),
            None => Err(ArrowError::InvalidArgumentError(format!(
                "expected a filter that is true or false for each of {rows} rows"
            ))),
        }
    })
}

/// Returns a predicate that matches every row.
pub(crate) fn always(schema: &Schema) -> Predicate {
    let name = schema.fields().first().map_or("", |field| field.name());
    let null = arrow_shard::read::col(name).is_null();
    null.clone().or(null.not())
}

/// Casts the columns of a batch to the types of the schema, because stored columns may be views.
fn as_shown(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch, ArrowError> {
    let mut fields: Vec<Arc<Field>> = Vec::with_capacity(batch.num_columns());
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let shown = match schema.field_with_name(field.name()) {
            Ok(shown) => Arc::new(shown.clone()),
            Err(_) => field.clone(),
        };
        columns.push(if shown.data_type() == column.data_type() {
            column.clone()
        } else {
            cast(column, shown.data_type())?
        });
        fields.push(Arc::new(shown.as_ref().clone().with_nullable(true)));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}
