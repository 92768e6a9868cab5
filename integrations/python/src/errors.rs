//! Converts errors of the library to Python exceptions, with a class for each kind.

use arrow_schema::ArrowError;
use arrow_shard::Error;
use pyo3::prelude::*;
use std::error::Error as StdError;

/// Converts an error to an exception. If Python code raised an exception that caused the error, returns that exception.
pub(crate) fn exception(py: Python<'_>, error: Error) -> PyErr {
    let (mut raised, mut number) = (None, None);
    let mut below: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(at) = below {
        if let Some(found) = at.downcast_ref::<PyErr>() {
            raised = Some(found.clone_ref(py));
        }
        if let Some(found) = at.downcast_ref::<std::io::Error>() {
            number = number.or(found.raw_os_error());
        }
        below = at.source();
    }
    if let Some(raised) = raised {
        return raised;
    }
    let made = || -> PyResult<PyErr> {
        let classes = py.import("arrow_shard._errors")?;
        let kind = error.kind().as_str();
        let text = format!("{error:#}");
        let place = error.element();
        let made = classes.call_method1("error_of", (kind, text, place, number))?;
        Ok(PyErr::from_value(made))
    };
    made().unwrap_or_else(|failed| failed)
}

/// Converts an Arrow error, which may contain an error of the library, to an exception.
pub(crate) fn arrow_exception(py: Python<'_>, error: ArrowError) -> PyErr {
    exception(py, Error::from(error))
}

/// Converts the error of a result to an exception.
pub(crate) fn raised<T>(py: Python<'_>, result: arrow_shard::Result<T>) -> PyResult<T> {
    result.map_err(|error| exception(py, error))
}

/// Returns an error about an argument.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(arrow_shard::ErrorKind::InvalidArgument, message)
}

/// Returns an exception about an argument.
pub(crate) fn invalid_argument(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, invalid(message))
}
