//! Casts that change no value.

use super::exact_text;
use crate::failure::Failure;
use crate::leaves::cast_array;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field};

/// Maximum number of characters of a value in an error.
const MAX_CHARS: usize = 80;

/// Casts a column to the type of a field. The first row of the column has the number `first_row` in its file.
///
/// # Errors
/// Fails with the column and the row if the type does not hold a value exactly, or if Arrow has no such cast.
pub(super) fn cast_exactly(
    column: &ArrayRef,
    field: &Field,
    first_row: u64,
) -> Result<ArrayRef, Failure> {
    if column.data_type() == field.data_type() {
        return Ok(column.clone());
    }
    if column.null_count() == column.len() {
        return Ok(new_null_array(field.data_type(), column.len()));
    }
    let to = field.data_type();
    let failure = match cast(column, to) {
        Ok(cast) => return Ok(cast),
        Err(failure) => failure,
    };
    // Rows are cast one by one to find the first that fails.
    let alone = |row: usize| Some((row, cast(&column.slice(row, 1), to).err()?));
    let (place, failure) = match (0..column.len()).find_map(alone) {
        Some((row, failure)) => {
            let text = array_value_to_string(&column.slice(row, 1), 0)?;
            let text: String = text.chars().take(MAX_CHARS).collect();
            let row = first_row + row as u64;
            (
                format!("column `{}`, row {row}, `{text}`", field.name()),
                failure,
            )
        }
        None => (format!("column `{}`", field.name()), failure),
    };
    Err(failure.within(place))
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    let from = column.data_type();
    if is_text(from) {
        return exact_text::parsed(column, to);
    }
    // Arrow would make lists of one item.
    if to.is_nested() && !from.is_nested() {
        return Err(inexact(from, to));
    }
    let cast = cast_array(column, to)?;
    match cast_array(&cast, from) {
        Ok(back) if back.to_data() == column.to_data() => Ok(cast),
        _ => Err(inexact(from, to)),
    }
}

/// Returns the error for a value that the other type does not hold.
fn inexact(from: &DataType, to: &DataType) -> Failure {
    Failure::new(format!("a value of {from} does not fit exactly into {to}"))
}

/// Whether the type is text in any form.
fn is_text(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, value) => is_text(value),
        other => other.is_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Float64Array, Int64Array, TimestampMicrosecondArray};
    use std::sync::Arc;

    fn cast_to(column: impl Array + 'static, to: &str) -> Result<ArrayRef, String> {
        let field = Field::new("x", to.parse().unwrap(), true);
        let column: ArrayRef = Arc::new(column);
        cast_exactly(&column, &field, 10).map_err(|failure| match failure {
            Failure::Error(message) => message,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn a_value_that_a_type_does_not_hold_is_an_error_with_its_row() {
        let numbers = |values: &[i64]| Int64Array::from_iter(values.iter().copied().map(Some));
        assert!(cast_to(numbers(&[1, -5, 1 << 53]), "Float64").is_ok());
        let error = cast_to(numbers(&[1, (1 << 53) + 1]), "Float64").unwrap_err();
        assert!(
            error.contains("`x`") && error.contains("row 11") && error.contains("9007199254740993"),
            "{error}"
        );
        assert!(cast_to(numbers(&[127]), "Int8").is_ok());
        assert!(cast_to(numbers(&[128]), "Int8").is_err());
        assert!(cast_to(numbers(&[1, 0]), "Boolean").is_ok());
        assert!(cast_to(numbers(&[2]), "Boolean").is_err());
        assert!(cast_to(numbers(&[2]), "List(Int64)").is_err());
        assert!(
            cast_to(
                Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)]),
                "Float32"
            )
            .is_ok()
        );
        assert!(cast_to(Float64Array::from(vec![0.1]), "Float32").is_err());
        assert!(cast_to(Float64Array::from(vec![1.5]), "Int64").is_err());
        let times = TimestampMicrosecondArray::from(vec![86_400_000_000]);
        assert!(cast_to(times.clone(), "Date32").is_ok());
        assert!(cast_to(times, "Timestamp(s)").is_ok());
        assert!(cast_to(TimestampMicrosecondArray::from(vec![1]), "Timestamp(s)").is_err());
        // Days that nanoseconds do not reach.
        assert!(cast_to(Date32Array::from(vec![1_000_000]), "Timestamp(ns)").is_err());
        assert!(cast_to(Date32Array::from(vec![1_000_000]), "Timestamp(s)").is_ok());
    }
}
