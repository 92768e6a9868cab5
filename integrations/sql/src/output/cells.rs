//! Values as short texts.

use crate::failure::Failure;
use crate::safe_text::shown;
use datafusion::arrow::array::{Array, ArrayRef, StringArray};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::sync::Arc;

/// Returns the values of a column as tables show them. They cannot control a terminal.
pub(crate) fn cells(column: &dyn Array, rows: usize) -> Result<Vec<String>, Failure> {
    let options = FormatOptions::default().with_null("NULL");
    let formatter = ArrayFormatter::try_new(column, &options)?;
    let texts = (0..rows).map(|row| {
        let text = formatter.value(row).try_to_string()?;
        Ok(shown(&text).into_owned())
    });
    texts.collect()
}

/// Returns a column of lists, structs or maps as a column of texts.
pub(crate) fn flat(column: &ArrayRef) -> Result<ArrayRef, Failure> {
    if !column.data_type().is_nested() {
        return Ok(Arc::clone(column));
    }
    let options = FormatOptions::default().with_null("NULL");
    let formatter = ArrayFormatter::try_new(column, &options)?;
    let texts = (0..column.len()).map(|row| {
        if column.is_null(row) {
            return Ok(None);
        }
        Ok::<_, Failure>(Some(formatter.value(row).try_to_string()?))
    });
    let texts: StringArray = texts.collect::<Result<Vec<_>, _>>()?.into();
    Ok(Arc::new(texts))
}
