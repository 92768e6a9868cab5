//! Columns that have one value for all rows of each file.

use crate::error::{Error, Result, Within};
use crate::format::Wire;
use crate::ops::added_column::check_type;
use crate::ops::constant::Constants;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{Field, Schema, SchemaRef};
use std::sync::Arc;

/// Returns the values of the columns that have one value for each file.
pub(super) async fn file_columns(
    columns: &[(Field, ArrayRef)],
    files: usize,
    wire: Wire,
) -> Result<Vec<Constants>> {
    let mut constants = Vec::with_capacity(columns.len());
    for (field, values) in columns {
        let place = || format!("column `{}`", field.name());
        check_type(field, values).within(place)?;
        if values.len() != files {
            let found = values.len();
            let message = format!("expected a value for each of {files} files, found {found}");
            return Err(Error::invalid(message)).within(place);
        }
        let of_each = Constants::of_each(field, values, wire).await;
        constants.push(of_each.within(place)?.1);
    }
    Ok(constants)
}

/// Returns a schema with the columns that have one value for each file at its end.
pub(super) fn with_file_columns(
    schema: &SchemaRef,
    columns: &[(Field, ArrayRef)],
) -> Result<SchemaRef> {
    let mut fields = schema.fields().to_vec();
    for (field, _) in columns {
        let name = field.name();
        if schema.index_of(name).is_ok() {
            return Err(Error::invalid(format!(
                "column `{name}` is in the Parquet files, and cannot have a value for each file, too"
            )));
        }
        if fields.iter().any(|known| known.name() == name) {
            return Err(Error::invalid(format!(
                "two columns with a value for each file are named `{name}`"
            )));
        }
        fields.push(Arc::new(field.clone()));
    }
    let metadata = schema.metadata().clone();
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}
