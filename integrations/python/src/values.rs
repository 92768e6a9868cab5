//! Converts properties to and from Python values.

use crate::errors::{exception, invalid_argument};
use arrow_shard::metadata::{AnyValue, NameValuePair, ValueKind};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

/// Prefixes of the names of the library's internal properties.
const OWN: [&str; 2] = ["arrow_shard.", "ARROW:schema"];

/// Returns properties as a dict, without the library's internal ones.
pub(crate) fn dict_of<'py, 'a>(
    py: Python<'py>,
    properties: impl IntoIterator<Item = &'a NameValuePair>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for NameValuePair { name, value, .. } in properties {
        if !OWN.iter().any(|own| name.starts_with(own)) {
            dict.set_item(name, object_of(py, value.as_ref())?)?;
        }
    }
    Ok(dict)
}

fn object_of<'py>(py: Python<'py>, value: Option<&AnyValue>) -> PyResult<Bound<'py, PyAny>> {
    let Some(AnyValue {
        kind: Some(kind), ..
    }) = value
    else {
        return Ok(py.None().into_bound(py));
    };
    Ok(match kind {
        ValueKind::Null => py.None().into_bound(py),
        ValueKind::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        ValueKind::U64(value) => value.into_pyobject(py)?.into_any(),
        ValueKind::I64(value) => value.into_pyobject(py)?.into_any(),
        ValueKind::Double(value) => value.into_pyobject(py)?.into_any(),
        ValueKind::DateTime(ticks) => of_ticks(py, "datetime_of_ticks", *ticks)?,
        ValueKind::TimeSpan(ticks) => of_ticks(py, "timedelta_of_ticks", *ticks)?,
        ValueKind::String(value) => value.into_pyobject(py)?.into_any(),
        ValueKind::Bytes(value) => PyBytes::new(py, value).into_any(),
        ValueKind::Decimal(_) => {
            let text = value.and_then(AnyValue::to_decimal_text);
            py.import("decimal")?.call_method1("Decimal", (text,))?
        }
        ValueKind::List(values) => {
            let values = values.iter().map(|value| object_of(py, Some(value)));
            PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        ValueKind::Struct(pairs) => dict_of(py, pairs)?.into_any(),
        // A reference into the file, or a kind from a later version of the format.
        other => format!("{other:?}").into_pyobject(py)?.into_any(),
    })
}

fn of_ticks<'py>(py: Python<'py>, function: &str, ticks: u64) -> PyResult<Bound<'py, PyAny>> {
    py.import("arrow_shard._times")?
        .call_method1(function, (ticks,))
}

/// Returns the properties in a dict.
pub(crate) fn properties_of(dict: &Bound<'_, PyDict>) -> PyResult<Vec<NameValuePair>> {
    let pair = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok(NameValuePair::new(
            name.extract::<String>()?,
            value_of(&value, 0)?,
        ))
    };
    dict.iter().map(pair).collect()
}

/// Most levels of a nested property, because the recursion over them takes stack space.
const MAX_DEPTH: usize = 64;

fn value_of(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<AnyValue> {
    let py = value.py();
    if depth > MAX_DEPTH {
        let message = format!("a property has at most {MAX_DEPTH} levels");
        return Err(invalid_argument(py, message));
    }
    if value.is_none() {
        return Ok(AnyValue::null());
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract::<i64>() {
            Ok(value) => Ok(value.into()),
            Err(_) => Ok(value.extract::<u64>()?.into()),
        };
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(value.extract::<f64>()?.into());
    }
    if value.is_instance_of::<PyString>() {
        return Ok(value.extract::<String>()?.into());
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(value.extract::<Vec<u8>>()?.into());
    }
    if let Ok(list) = value.cast::<PyList>() {
        let values = list.iter().map(|value| value_of(&value, depth + 1));
        return Ok(values.collect::<PyResult<Vec<_>>>()?.into());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let pair = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let value = value_of(&value, depth + 1)?;
            Ok(NameValuePair::new(name.extract::<String>()?, value))
        };
        return Ok(dict.iter().map(pair).collect::<PyResult<Vec<_>>>()?.into());
    }
    let error = crate::errors::invalid(format!(
        "a property is None, a bool, int, float, str, bytes, list or dict; found {}",
        value.get_type()
    ));
    Err(exception(py, error))
}
