//! Exchanges batches and schemas with Python, as capsules of Arrow's C interface.

use crate::attached::attached;
use crate::errors::{exception, invalid_argument};
use crate::import::{self, Stream};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_shard::{Error, ErrorKind};
use pyo3::exceptions::{PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::PySchema;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};
use std::fmt::Write;
use std::sync::Arc;

/// Rows of a shard in memory. Any library that supports Arrow's PyCapsule interface can use it:
/// ``pyarrow.record_batch(batch)``, ``polars.DataFrame(batch)``.
///
/// >>> batch = sh.open(path).take([1, 0])
/// >>> batch.num_rows, batch.column_names
/// (2, ['id', 'name'])
/// >>> pa.record_batch(batch)["name"].to_pylist()
/// ['Lima', 'Oslo']
#[pyclass(module = "arrow_shard", name = "RecordBatch", frozen)]
#[derive(Debug)]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(self.0.schema_ref())
    }

    /// The schema.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.0.schema())
    }

    /// Returns a pyarrow batch that shares the memory.
    fn to_pyarrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let pyarrow = slf.py().import("pyarrow")?;
        pyarrow.call_method1("record_batch", (slf,))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        let array = StructArray::from(self.0.clone());
        to_array_pycapsules(py, row_field(self.0.schema_ref()), &array, requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.0.schema_ref().as_ref())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Returns the texts of the values in the first columns of the first rows, column by column.
    fn _texts(&self, rows: usize, columns: usize) -> Vec<Vec<String>> {
        let rows = rows.min(self.0.num_rows());
        let options = FormatOptions::new()
            .with_null("null")
            .with_display_error(true);
        let texts = |column: &ArrayRef| match ArrayFormatter::try_new(column, &options) {
            Ok(values) => (0..rows).map(|row| values.value(row).to_string()).collect(),
            // A type that has no text.
            Err(_) => vec!["…".to_owned(); rows],
        };
        let columns = self.0.columns().iter().take(columns);
        columns.map(texts).collect()
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("arrow_shard._show")?;
        module.call_method1("batch_html", (slf,))
    }

    fn __repr__(&self) -> String {
        format!(
            "<RecordBatch of {}: {}>",
            counted(self.0.num_rows() as u64, "row"),
            columns(self.0.schema_ref())
        )
    }
}

/// The Arrow schema of a shard or a scan. ``pyarrow.schema(schema)`` converts it.
///
/// >>> schema = sh.open(path).schema
/// >>> schema
/// <Schema: id: Int64, name: Utf8>
/// >>> pa.schema(schema).field("id").type
/// DataType(int64)
#[pyclass(module = "arrow_shard", name = "Schema", frozen)]
#[derive(Debug)]
pub(crate) struct ArrowSchema(pub(crate) SchemaRef);

#[pymethods]
impl ArrowSchema {
    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        names(&self.0)
    }

    /// The columns: their names and the texts of their types.
    ///
    /// >>> sh.open(path).schema.columns
    /// [('id', 'Int64'), ('name', 'Utf8')]
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        let text = |field: &FieldRef| (field.name().clone(), field.data_type().to_string());
        self.0.fields().iter().map(text).collect()
    }

    /// The metadata of the schema, as text.
    #[getter]
    fn metadata(&self) -> std::collections::HashMap<String, String> {
        self.0.metadata().clone()
    }

    /// Returns the schema as a pyarrow schema.
    fn to_pyarrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let pyarrow = slf.py().import("pyarrow")?;
        pyarrow.call_method1("schema", (slf,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.0.as_ref())
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        format!("<Schema: {}>", columns(&self.0))
    }
}

/// Returns a number with its unit, such as `1 row` or `2 rows`.
pub(crate) fn counted(number: u64, unit: &str) -> String {
    match number {
        1 => format!("1 {unit}"),
        many => format!("{many} {unit}s"),
    }
}

fn names(schema: &Schema) -> Vec<String> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().clone()).collect()
}

/// Returns the columns and their types as text.
pub(crate) fn columns(schema: &Schema) -> String {
    let mut text = String::new();
    for field in schema.fields() {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{comma}{}: {}", field.name(), field.data_type());
    }
    text
}

/// Returns a struct field for the rows of a schema, as Arrow's C interface requires.
pub(crate) fn row_field(schema: &Schema) -> FieldRef {
    let field = Field::new_struct("", schema.fields().clone(), false);
    Arc::new(field.with_metadata(schema.metadata().clone()))
}

/// The batches of a Python object.
pub(crate) struct Rows {
    schema: SchemaRef,
    arrays: Box<dyn Iterator<Item = Result<ArrayRef, ArrowError>> + Send>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("schema", &self.schema)
            .finish()
    }
}

impl Rows {
    /// Returns the rows of an object with `__arrow_c_stream__` or `__arrow_c_array__`.
    pub(crate) fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        if is_reader(data)? {
            return Ok(Self {
                schema: data.getattr("schema")?.extract::<PySchema>()?.into_inner(),
                arrays: Box::new(Called(data.clone().unbind())),
            });
        }
        if data.hasattr("__arrow_c_stream__")? {
            let stream = Stream::of(data)?;
            return Ok(Self {
                schema: row_schema(py, stream.field())?,
                arrays: Box::new(stream),
            });
        }
        if data.hasattr("__arrow_c_array__")? {
            let (array, field) = import::array(data)?;
            return Ok(Self {
                schema: row_schema(py, &field)?,
                arrays: Box::new(std::iter::once(Ok(array))),
            });
        }
        if data.hasattr("__next__")? {
            return Self::of_each(data);
        }
        let found = data.get_type();
        Err(PyTypeError::new_err(format!(
            "expected Arrow data, an object with `__arrow_c_stream__` or `__arrow_c_array__` such as a table, a \
             data frame or a reader of batches; found {found}"
        )))
    }

    /// Returns the rows of an iterator of such objects, which all have the schema of the first.
    fn of_each(iterator: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Some(first) = iterator.try_iter()?.next().transpose()? else {
            let message = "expected at least one batch: without a batch there is no schema";
            return Err(invalid_argument(iterator.py(), message));
        };
        let first = Self::of(&first)?;
        let schema = first.schema.clone();
        let others = Others {
            iterator: iterator.clone().unbind(),
            schema: schema.clone(),
            batches: first.arrays,
        };
        Ok(Self {
            schema,
            arrays: Box::new(others),
        })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let array = match self.arrays.next()? {
            Ok(array) => array,
            Err(error) => return Some(Err(error)),
        };
        Some(batch_of(&array, self.schema.clone()))
    }
}

/// Returns whether the object is a pyarrow reader, which may read from a Python generator.
fn is_reader(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = data.get_type();
    Ok(class.name()? == "RecordBatchReader" && class.module()? == "pyarrow.lib")
}

/// A pyarrow reader that is called batch by batch. This preserves its exceptions, including Ctrl-C, which a stream of
/// Arrow's C interface would reduce to text.
struct Called(Py<PyAny>);

impl Iterator for Called {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let called = attached(|py| match self.0.call_method0(py, "read_next_batch") {
            Ok(batch) => Ok(Some(import::array(batch.bind(py))?.0)),
            Err(raised) if raised.is_instance_of::<PyStopIteration>(py) => Ok(None),
            Err(raised) => Err(raised),
        });
        called
            .map_err(|raised: PyErr| ArrowError::ExternalError(Box::new(raised)))
            .transpose()
    }
}

/// The batches of a Python iterator.
struct Others {
    iterator: Py<PyAny>,
    schema: SchemaRef,
    /// The rest of the batches of the last item.
    batches: Box<dyn Iterator<Item = Result<ArrayRef, ArrowError>> + Send>,
}

impl Iterator for Others {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(array) = self.batches.next() {
                return Some(array);
            }
            let next = |py: Python<'_>| -> PyResult<Option<Rows>> {
                let next = self.iterator.bind(py).try_iter()?.next().transpose()?;
                let Some(next) = next else { return Ok(None) };
                let rows = Rows::of(&next)?;
                if !has_same_types(&rows.schema, &self.schema) {
                    let (own, first) = (columns(&rows.schema), columns(&self.schema));
                    let message =
                        format!("a batch has the columns {own}, and the first one {first}");
                    let error = Error::new(ErrorKind::SchemaMismatch, message);
                    return Err(exception(py, error));
                }
                Ok(Some(rows))
            };
            match attached(next) {
                Ok(Some(rows)) => self.batches = rows.arrays,
                Ok(None) => return None,
                Err(raised) => return Some(Err(ArrowError::ExternalError(Box::new(raised)))),
            }
        }
    }
}

/// Returns whether columns have the same names and types.
fn has_same_types(a: &Schema, b: &Schema) -> bool {
    let fields = || a.fields().iter().zip(b.fields());
    a.fields().len() == b.fields().len()
        && fields()
            .all(|(a, b)| a.name() == b.name() && a.data_type().equals_datatype(b.data_type()))
}

/// Converts a struct array to a batch.
fn batch_of(array: &ArrayRef, schema: SchemaRef) -> Result<RecordBatch, ArrowError> {
    let Some(rows) = array.as_struct_opt() else {
        return Err(ArrowError::SchemaError("rows are structs".to_owned()));
    };
    if rows.null_count() > 0 {
        let message = "a row is null as a whole; its columns may be null";
        return Err(ArrowError::InvalidArgumentError(message.to_owned()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema, rows.columns().to_vec(), &options)
}

/// Returns the schema of the rows of a struct field.
fn row_schema(py: Python<'_>, field: &Field) -> PyResult<SchemaRef> {
    match field.data_type() {
        DataType::Struct(fields) => Ok(Arc::new(Schema::new_with_metadata(
            fields.clone(),
            field.metadata().clone(),
        ))),
        other => Err(invalid_argument(
            py,
            format!("expected rows with named columns, found values of type {other}"),
        )),
    }
}

/// Returns the schema of an object with `__arrow_c_schema__`.
pub(crate) fn schema_of(object: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    Ok(object.extract::<PySchema>()?.into_inner())
}
