//! Converts Python values to literals of a filter.

use crate::errors::{exception, invalid_argument};
use crate::import;
use arrow_array::types::{
    Date32Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrowPrimitiveType, FixedSizeBinaryArray, PrimitiveArray, Scalar};
use arrow_schema::{DECIMAL256_MAX_PRECISION, DataType};
use arrow_shard::read::{Literal, lit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};

/// The description of a value by `_literals.py`: the name of a kind, and a number, text or bytes.
type Described<'py> = (String, Bound<'py, PyAny>);

/// Returns the literal for a value of Python, numpy, pandas or pyarrow.
pub(crate) fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let py = value.py();
    if value.is_none() {
        return Ok(lit(None::<i64>));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(lit(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(lit(value.extract::<f64>()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(lit(value.extract::<String>()?));
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(lit(value.extract::<Vec<u8>>()?));
    }
    if value.hasattr("__arrow_c_array__")? {
        let (array, _) = import::array(value)?;
        return Literal::try_new(&array).map_err(|error| exception(py, error));
    }
    let module = py.import("arrow_shard._literals")?;
    let described = module.call_method1("describe", (value,))?;
    let (kind, payload): Described<'_> = described.extract()?;
    let literal = match kind.as_str() {
        "plain" => return self::literal(&payload),
        "timestamp_s" => typed::<TimestampSecondType>(&payload)?.into(),
        "timestamp_ms" => typed::<TimestampMillisecondType>(&payload)?.into(),
        "timestamp_us" => typed::<TimestampMicrosecondType>(&payload)?.into(),
        "timestamp_ns" => typed::<TimestampNanosecondType>(&payload)?.into(),
        "timestamp_s_utc" => in_utc(typed::<TimestampSecondType>(&payload)?),
        "timestamp_ms_utc" => in_utc(typed::<TimestampMillisecondType>(&payload)?),
        "timestamp_us_utc" => in_utc(typed::<TimestampMicrosecondType>(&payload)?),
        "timestamp_ns_utc" => in_utc(typed::<TimestampNanosecondType>(&payload)?),
        "date" => typed::<Date32Type>(&payload)?.into(),
        "time_us" => typed::<Time64MicrosecondType>(&payload)?.into(),
        "time_ns" => typed::<Time64NanosecondType>(&payload)?.into(),
        "duration_s" => typed::<DurationSecondType>(&payload)?.into(),
        "duration_ms" => typed::<DurationMillisecondType>(&payload)?.into(),
        "duration_us" => typed::<DurationMicrosecondType>(&payload)?.into(),
        "duration_ns" => typed::<DurationNanosecondType>(&payload)?.into(),
        "decimal" => return decimal(&payload),
        "uuid" => {
            let bytes = payload.extract::<Vec<u8>>()?;
            let array = FixedSizeBinaryArray::try_from_iter(std::iter::once(bytes))
                .map_err(|error| crate::errors::arrow_exception(py, error))?;
            return Literal::try_new(&array).map_err(|error| exception(py, error));
        }
        other => {
            let message = format!("no column is compared with a value of {other}");
            return Err(invalid_argument(py, message));
        }
    };
    Ok(literal)
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Ok(value) = value.extract::<i64>() {
        return Ok(lit(value));
    }
    match value.extract::<u64>() {
        Ok(value) => Ok(lit(value)),
        Err(_) => decimal(&value.str()?.into_any()),
    }
}

/// Returns the literal for a number of any size, from its text without an exponent.
fn decimal(text: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let written: String = text.extract()?;
    let scale = written
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    let literal = match i8::try_from(scale) {
        Ok(scale) => {
            let data_type = DataType::Decimal256(DECIMAL256_MAX_PRECISION, scale);
            Literal::parse(&written, &data_type)
        }
        Err(_) => Err(crate::errors::invalid(format!(
            "{written} has more digits than a decimal"
        ))),
    };
    literal.map_err(|error| exception(text.py(), error))
}

fn typed<T: ArrowPrimitiveType>(payload: &Bound<'_, PyAny>) -> PyResult<Scalar<PrimitiveArray<T>>>
where
    T::Native: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    let value = payload.extract::<T::Native>()?;
    Ok(PrimitiveArray::<T>::new_scalar(value))
}

fn in_utc<T: arrow_array::types::ArrowTimestampType>(scalar: Scalar<PrimitiveArray<T>>) -> Literal {
    let array = scalar.into_inner().with_timezone("UTC");
    Scalar::new(array).into()
}
