//! Converts Python's names of writer options.

use crate::errors::{invalid, invalid_argument, raised};
use crate::rows::does_not_fit;
use crate::runtime::threads;
use crate::stripes::Sorting;
use crate::values::properties_of;
use arrow_shard::Result;
use arrow_shard::metadata::{SortingColumn, TypeMapping, Wire};
use arrow_shard::write::{
    ColumnOptions, InternalValues, Layout, PresenceLayout, Profile, WriterOptions,
};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::collections::HashMap;

/// Returns the profile with a name.
pub(crate) fn profile(name: &str) -> Result<Profile> {
    choice(
        "profile",
        name,
        &[
            ("plain", Profile::Plain),
            ("fast", Profile::Fast),
            ("balanced", Profile::Balanced),
            ("high_compression", Profile::HighCompression),
            ("minimal_size", Profile::MinimalSize),
        ],
    )
}

/// Returns the choice with a name.
fn choice<T: Copy>(option: &str, name: &str, choices: &[(&str, T)]) -> Result<T> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        invalid(format!(
            "there is no {option} `{name}`: there are {}",
            names.join(", ")
        ))
    })
}

const LAYOUTS: [(&str, Layout); 2] = [
    ("single_file", Layout::SingleFile),
    ("two_level", Layout::TwoLevel),
];
const WIRES: [(&str, Wire); 2] = [("spec", Wire::Spec), ("reference", Wire::Reference)];
const MAPPINGS: [(&str, TypeMapping); 2] = [
    ("lossless", TypeMapping::Lossless),
    ("amudai", TypeMapping::Amudai),
];
const PRESENCES: [(&str, PresenceLayout); 2] = [
    ("separate", PresenceLayout::Separate),
    ("embedded", PresenceLayout::Embedded),
];

/// Returns the options of a shard. An option that is `None` keeps its default.
pub(crate) fn writer_options(
    py: Python<'_>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<WriterOptions> {
    let mut options = WriterOptions::default().with_threads(threads(None));
    for (name, value) in given.into_iter().flatten() {
        if !value.is_none() {
            options = writer_option(py, options, name.extract()?, &value)?;
        }
    }
    Ok(options)
}

/// Converts the value of an option to its type.
fn option<'py, T: FromPyObjectOwned<'py>>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    let (py, extracted) = (value.py(), value.extract());
    let extracted: PyResult<T> = extracted.map_err(Into::into);
    extracted.map_err(|error| match does_not_fit(value, &error) {
        Some(message) => invalid_argument(py, format!("option `{name}`: {message}")),
        None if error.is_instance_of::<PyTypeError>(py) => {
            PyTypeError::new_err(format!("option `{name}`: {}", error.value(py)))
        }
        None => error,
    })
}

fn writer_option(
    py: Python<'_>,
    options: WriterOptions,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<WriterOptions> {
    let text = || option::<String>(name, value);
    Ok(match name {
        "profile" => options.with_profile(raised(py, profile(&text()?))?),
        "layout" => options.with_layout(raised(py, choice(name, &text()?, &LAYOUTS))?),
        "wire" => options.with_wire(raised(py, choice(name, &text()?, &WIRES))?),
        "mapping" => options.with_mapping(raised(py, choice(name, &text()?, &MAPPINGS))?),
        "presence" => options.with_presence(raised(py, choice(name, &text()?, &PRESENCES))?),
        "dictionary" => options.with_dictionary_enabled(option(name, value)?),
        "compressor_dictionary" => options.with_compressor_dictionary_enabled(option(name, value)?),
        "statistics" => options.with_statistics_enabled(option(name, value)?),
        "bloom_filter" => options.with_bloom_filter_enabled(option(name, value)?),
        "bloom_filter_fpp" => options.with_bloom_filter_fpp(option(name, value)?),
        "stripe_rows" => options.with_stripe_rows(option(name, value)?),
        "stripe_bytes" => options.with_stripe_bytes(option(name, value)?),
        "memory_limit" => options.with_memory_limit(option(name, value)?),
        "block_values" => options.with_block_values(option(name, value)?),
        "overwrite" => options.with_overwrite(option(name, value)?),
        "threads" => options.with_threads(threads(Some(option(name, value)?))),
        "ingestion_timestamp" => match internal_values(value)? {
            Some(values) => options.with_ingestion_timestamp(values),
            None => options,
        },
        "record_identity" => match internal_values(value)? {
            Some(values) => options.with_record_identity(values),
            None => options,
        },
        "sorting_columns" => {
            if value.is_instance_of::<PyString>() {
                let message = format!(
                    "expected a list of names for `{name}`, found {}",
                    value.repr()?
                );
                return Err(PyTypeError::new_err(message));
            }
            let columns = value.try_iter()?.map(|column| sorting_column(&column?));
            options.with_sorting_columns(columns.collect::<PyResult<_>>()?)
        }
        "sorting_columns_checked" => options.with_sorting_columns_checked(option(name, value)?),
        "properties" => {
            let properties = properties_of(value.cast::<PyDict>()?)?;
            properties
                .into_iter()
                .fold(options, WriterOptions::with_property)
        }
        "packed_columns" => {
            let groups: Vec<Vec<String>> = option(name, value)?;
            groups
                .into_iter()
                .fold(options, WriterOptions::with_packed_columns)
        }
        "column_options" => {
            let columns: HashMap<String, Bound<'_, PyDict>> = option(name, value)?;
            let mut options = options;
            for (column, given) in columns {
                options = options.with_column(column, column_options(py, &given)?);
            }
            options
        }
        other => {
            let message = format!("a shard has no option `{other}`");
            return Err(invalid_argument(py, message));
        }
    })
}

/// Returns the options of a column.
fn column_options(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<ColumnOptions> {
    let mut options = ColumnOptions::default();
    for (name, value) in given {
        let name: String = name.extract()?;
        let text = || option::<String>(&name, &value);
        options = match name.as_str() {
            "profile" => options.with_profile(raised(py, profile(&text()?))?),
            "presence" => options.with_presence(raised(py, choice(&name, &text()?, &PRESENCES))?),
            "dictionary" => options.with_dictionary_enabled(option(&name, &value)?),
            "compressor_dictionary" => {
                options.with_compressor_dictionary_enabled(option(&name, &value)?)
            }
            "statistics" => options.with_statistics_enabled(option(&name, &value)?),
            "bloom_filter" => options.with_bloom_filter_enabled(option(&name, &value)?),
            "bloom_filter_fpp" => options.with_bloom_filter_fpp(option(&name, &value)?),
            "block_values" => options.with_block_values(option(&name, &value)?),
            "packed_group" => options.with_packed_group(option(&name, &value)?),
            "delimited" => options.with_delimited_values(option(&name, &value)?),
            "properties" => {
                let properties = properties_of(value.cast::<PyDict>()?)?;
                properties
                    .into_iter()
                    .fold(options, ColumnOptions::with_property)
            }
            other => {
                let message = format!("a column has no option `{other}`");
                return Err(invalid_argument(py, message));
            }
        };
    }
    Ok(options)
}

/// Returns the source of an internal field: the writer generates it, or a column with this name holds it.
fn internal_values(value: &Bound<'_, PyAny>) -> PyResult<Option<InternalValues>> {
    match value.cast::<PyBool>() {
        Ok(flag) => Ok(flag.is_true().then_some(InternalValues::Generated)),
        Err(_) => Ok(Some(InternalValues::Column(value.extract()?))),
    }
}

/// Converts a sorting column; a string means ascending order.
fn sorting_column(column: &Bound<'_, PyAny>) -> PyResult<SortingColumn> {
    match column.extract::<String>() {
        Ok(path) => Ok(SortingColumn {
            path,
            descending: false,
            nulls_first: false,
        }),
        Err(_) => Ok(column.extract::<Sorting>().map_err(PyErr::from)?.0),
    }
}
