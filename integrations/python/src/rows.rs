//! Numbers of rows.

use crate::errors::{arrow_exception, invalid_argument};
use crate::import;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use pyo3::prelude::*;

/// Numbers of rows: an Arrow array of integers, an array of numpy, or anything that is iterated.
pub(crate) fn row_numbers(rows: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let py = rows.py();
    if !rows.hasattr("__arrow_c_array__")? {
        // Lists of Python's integers are read faster than arrays of numpy.
        let listed = match rows.hasattr("tolist")? {
            true => rows.call_method0("tolist")?,
            false => rows.clone(),
        };
        return match listed.extract() {
            Ok(rows) => Ok(rows),
            Err(_) => listed.try_iter()?.map(|row| row?.extract()).collect(),
        };
    }
    let (array, _) = import::array(rows)?;
    if !array.data_type().is_integer() || array.null_count() > 0 {
        let message = "expected numbers of rows: integers without nulls";
        return Err(invalid_argument(py, message));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let numbers = cast_with_options(&array, &DataType::UInt64, &options);
    let numbers = numbers.map_err(|error| arrow_exception(py, error))?;
    Ok(numbers.as_primitive::<UInt64Type>().values().to_vec())
}
