//! Converts row numbers, and other whole numbers.

use crate::errors::{arrow_exception, exception, invalid_argument};
use crate::import;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_shard::{Error, ErrorKind};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// Converts an argument to a non-negative integer, or to `None` if its type is an `Option`.
pub(crate) fn whole<'py, T: FromPyObjectOwned<'py>>(object: &Bound<'py, PyAny>) -> PyResult<T> {
    let extracted: PyResult<T> = object.extract().map_err(Into::into);
    extracted.map_err(|error| match does_not_fit(object, &error) {
        Some(message) => invalid_argument(object.py(), message),
        None => error,
    })
}

/// Returns a message for a number that is too small or too large; `None` if the error has another reason.
pub(crate) fn does_not_fit(object: &Bound<'_, PyAny>, error: &PyErr) -> Option<String> {
    if !error.is_instance_of::<PyOverflowError>(object.py()) {
        return None;
    }
    Some(if object.lt(0).unwrap_or(false) {
        format!("expected a whole number from 0 on, found {object}")
    } else {
        format!("{object} is too large")
    })
}

/// Converts a row number.
fn row_number(row: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = row.py();
    row.extract::<u64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(py) {
            no_row(py, row)
        } else {
            error
        }
    })
}

fn no_row(py: Python<'_>, row: impl std::fmt::Display) -> PyErr {
    let message = format!("expected numbers of rows, from 0 on, found {row}");
    exception(py, Error::new(ErrorKind::RowOutOfRange, message))
}

/// Converts row numbers: an Arrow array of integers, a numpy array, or any iterable.
pub(crate) fn row_numbers(rows: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let py = rows.py();
    if !rows.hasattr("__arrow_c_array__")? {
        // Python lists of integers are converted faster than numpy arrays.
        let listed = if rows.hasattr("tolist")? {
            rows.call_method0("tolist")?
        } else {
            rows.clone()
        };
        return match listed.extract() {
            Ok(rows) => Ok(rows),
            Err(_) => listed.try_iter()?.map(|row| row_number(&row?)).collect(),
        };
    }
    let (array, _) = import::array(rows)?;
    if array.is_empty() {
        return Ok(Vec::new());
    }
    if !array.data_type().is_integer() || array.null_count() > 0 {
        let message = "expected numbers of rows: integers without nulls";
        return Err(invalid_argument(py, message));
    }
    if array.data_type().is_signed_integer() {
        let signed = cast(&array, &DataType::Int64).map_err(|error| arrow_exception(py, error))?;
        let number = |&row: &i64| u64::try_from(row).map_err(|_| no_row(py, row));
        let values = signed.as_primitive::<Int64Type>().values();
        return values.iter().map(number).collect();
    }
    let unsigned = cast(&array, &DataType::UInt64).map_err(|error| arrow_exception(py, error))?;
    Ok(unsigned.as_primitive::<UInt64Type>().values().to_vec())
}
