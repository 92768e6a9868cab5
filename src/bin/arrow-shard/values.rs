//! Single values of columns, as JSON.

use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::output::{Encoder, check_columns};
use crate::table;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Name of the column that a value is put into.
const VALUE: &str = "value";

/// Returns a value as `cat --json` prints it, or as text if its type has no JSON form.
pub(crate) fn json(array: &ArrayRef, row: usize) -> Result<Value, Failure> {
    let field = Field::new(VALUE, array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    if check_columns(FileFormat::Ndjson, &schema).is_err() {
        return Ok(table::value(array, row)?.into());
    }
    let batch = RecordBatch::try_new(schema.clone(), vec![array.slice(row, 1)])?;
    let mut encoder = Encoder::start(
        FileFormat::Ndjson,
        Vec::<u8>::new(),
        &schema,
        &CsvStyle::default(),
    )?;
    encoder.write(&batch)?;
    let line = encoder.finish()?;
    let mut object: Map<String, Value> = serde_json::from_slice(&line)?;
    Ok(object.remove(VALUE).unwrap_or_default())
}
