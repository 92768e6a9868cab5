//! The Python class of an open shard.

use crate::batch::{ArrowSchema, Batch, counted, schema_of as schema_of_object};
use crate::errors::{arrow_exception, invalid_argument};
use crate::location::Source;
use crate::predicate::predicate;
use crate::progress::Follower;
use crate::rows::{row_numbers, whole};
use crate::runtime::{threads, wait};
use crate::scan::{Scan, all_rows, schema_of};
use crate::signals::detached;
use crate::stripes::{Sorting, StripeInfo};
use crate::values::dict_of;
use crate::verify::{Verification, verify};
use crate::views::{batch_without_views, without_views};
use arrow_schema::SchemaRef;
use arrow_shard::metadata::WriterInfo;
use arrow_shard::ops::ShardSet;
use arrow_shard::read::ScanBuilder;
use arrow_shard::{Projection, Result, Shard};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyRange, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::to_schema_pycapsule;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

/// An open shard, from :func:`open`, or several shards as one table, from :func:`open_many`. Opening reads the tail of
/// the file; everything else is read when it is needed. It can be pickled: it is opened again where it is unpickled.
///
/// >>> f = sh.open(path)
/// >>> f.num_rows, f.schema.names
/// (2, ['id', 'name'])
/// >>> pa.table(f.scan(filter=sh.col("id") > 1))["name"].to_pylist()
/// ['Lima']
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct ShardFile {
    /// `None` once it is closed.
    shard: RwLock<Option<Shard>>,
    is_near: bool,
    /// The schema that Python sees.
    schema: SchemaRef,
    /// Whether stored columns are views and are read as strings or binaries, which every library supports.
    hides_views: bool,
    /// The directory file of each shard.
    files: Vec<String>,
    /// The row numbers of each shard in a table of several.
    rows: Option<Vec<Range<u64>>>,
    name: String,
    #[cfg_attr(
        not(feature = "datafusion"),
        expect(dead_code, reason = "DataFusion opens shards again")
    )]
    source: Source,
    origin: Origin,
}

/// The call that opens a file again.
#[derive(Debug)]
pub(crate) struct Origin(Py<PyTuple>);

impl Origin {
    /// The call of a function with a source, and with the options that [`open`](crate::opening::open) has.
    pub(crate) fn new(
        function: &str,
        source: &Bound<'_, PyAny>,
        store: Option<&Bound<'_, PyAny>>,
        views: bool,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = source.py();
        let options = match more {
            Some(more) => more.clone(),
            None => PyDict::new(py),
        };
        options.set_item("store", store)?;
        options.set_item("views", views)?;
        let call = (function, source, options).into_pyobject(py)?;
        Ok(Self(call.unbind()))
    }
}

impl ShardFile {
    pub(crate) fn new(
        shard: Shard,
        source: Source,
        views: bool,
        name: String,
        origin: Origin,
    ) -> Result<Self> {
        let is_near = source.is_near();
        let stored = wait(is_near, shard.schema_async())?;
        let (schema, has_views) = if views {
            (stored, false)
        } else {
            without_views(&stored)
        };
        let files = match &source {
            Source::Shards(locations) => locations.iter().map(|at| at.0.to_string()).collect(),
            Source::Folder(_) | Source::Other { .. } => Vec::new(),
        };
        Ok(Self {
            shard: RwLock::new(Some(shard)),
            is_near,
            schema,
            hides_views: has_views,
            files,
            rows: None,
            name,
            source,
            origin,
        })
    }

    /// Returns the file with the shards and the row numbers of a table.
    pub(crate) fn of_set(mut self, set: &ShardSet) -> Self {
        self.rows = Some(set.row_ranges().to_vec());
        self.files = set.shards().iter().map(ToString::to_string).collect();
        self
    }

    /// Returns the shard, or an exception if it is closed.
    fn shard(&self) -> PyResult<Shard> {
        let shard = self.shard.read().unwrap_or_else(PoisonError::into_inner);
        shard
            .clone()
            .ok_or_else(|| PyValueError::new_err("the shard is closed"))
    }

    /// Returns a scan of some columns, in the types that Python sees.
    fn columns(
        &self,
        shard: &Shard,
        projection: Projection,
        internal_fields: bool,
    ) -> Result<ScanBuilder> {
        let scan = shard
            .scan()
            .with_projection(projection)
            .with_internal_fields(internal_fields);
        if !self.hides_views {
            return Ok(scan);
        }
        let (schema, has_views) = without_views(&schema_of(&scan, self.is_near)?);
        Ok(if has_views {
            scan.with_schema(schema)
        } else {
            scan
        })
    }
}

/// Converts a Python argument to columns: `None` for all, one path, a list of paths, or a list of numbers.
pub(crate) fn projection(columns: Option<&Bound<'_, PyAny>>) -> PyResult<Projection> {
    let Some(columns) = columns.filter(|columns| !columns.is_none()) else {
        return Ok(Projection::All);
    };
    if let Ok(path) = columns.extract::<String>() {
        return Ok(Projection::from(path));
    }
    if columns.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(
            "expected names of columns as texts, found bytes",
        ));
    }
    if let Ok(paths) = columns.extract::<Vec<String>>() {
        return Ok(Projection::Paths(paths));
    }
    match columns.extract::<Vec<usize>>() {
        Ok(indices) => Ok(Projection::Indices(indices)),
        Err(_) => Err(PyTypeError::new_err(
            "expected columns as a list of names, of paths such as `a.b`, or of numbers",
        )),
    }
}

/// Converts a `range`, or a start and an end, to a range of rows.
fn row_range(rows: &Bound<'_, PyAny>) -> PyResult<Range<u64>> {
    let Ok(range) = rows.cast::<PyRange>() else {
        let (start, end) = rows.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        return Ok(whole(&start)?..whole(&end)?);
    };
    match range.getattr("step")?.extract::<i64>()? {
        1 => Ok(whole(&range.getattr("start")?)?..whole(&range.getattr("stop")?)?),
        step => Err(invalid_argument(
            rows.py(),
            format!("expected a range of rows that follow each other, found one with step {step}"),
        )),
    }
}

#[pymethods]
impl ShardFile {
    /// The schema of a scan of all columns.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.schema.clone())
    }

    /// Number of rows, without deleted ones.
    #[getter]
    fn num_rows(&self) -> PyResult<u64> {
        Ok(self.shard()?.num_rows())
    }

    /// Number of deleted rows. They keep their row numbers.
    #[getter]
    fn num_deleted_rows(&self) -> PyResult<u64> {
        Ok(self.shard()?.num_deleted_rows())
    }

    /// Number of stripes.
    #[getter]
    fn num_stripes(&self) -> PyResult<u64> {
        Ok(self.shard()?.num_stripes())
    }

    /// The paths of the shards, in the order of their rows; none for a shard in memory.
    ///
    /// >>> sh.open(path).files == [path]
    /// True
    #[getter]
    fn files(&self) -> Vec<String> {
        self.files.clone()
    }

    /// Whether the file is closed.
    #[getter]
    fn closed(&self) -> bool {
        let shard = self.shard.read().unwrap_or_else(PoisonError::into_inner);
        shard.is_none()
    }

    /// Closes the file. Scans that were started before can still be read.
    ///
    /// >>> f = sh.open(path)
    /// >>> f.close()
    /// >>> f.num_rows
    /// Traceback (most recent call last):
    ///     ...
    /// ValueError: the shard is closed
    fn close(&self) {
        let mut shard = self.shard.write().unwrap_or_else(PoisonError::into_inner);
        *shard = None;
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let reopened = py.import("arrow_shard._pickles")?.getattr("reopened")?;
        Ok((reopened, self.origin.0.bind(py).clone()))
    }

    /// The stripes: horizontal slices of the shard, each stored together.
    ///
    /// >>> sh.open(path).stripes
    /// [<StripeInfo 0: rows 0..2>]
    #[getter]
    fn stripes(&self, py: Python<'_>) -> PyResult<Vec<StripeInfo>> {
        let shard = self.shard()?;
        let stripes = detached(py, || wait(self.is_near, shard.stripes_async()))?;
        Ok(stripes.into_iter().map(StripeInfo).collect())
    }

    /// The metadata of the Arrow schema, as text.
    #[getter]
    fn metadata(&self) -> std::collections::HashMap<String, String> {
        self.schema.metadata().clone()
    }

    /// The properties of the shard, without the internal ones of the library.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let shard = self.shard()?;
        let properties = detached(py, || wait(self.is_near, shard.properties_async()))?;
        let standard = properties.standard_properties.iter();
        // If two properties have the same name, the user's property counts.
        dict_of(py, standard.chain(&properties.custom_properties))
    }

    /// The programs that wrote the rows, each with its profile, or `None` if the values are in Parquet files.
    ///
    /// >>> [profile for _program, profile in sh.open(path).writers]
    /// ['Balanced']
    #[getter]
    fn writers(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        let shard = self.shard()?;
        let writers = detached(py, || wait(self.is_near, shard.writers_async()))?;
        let pair = |writer: WriterInfo| (writer.program, writer.profile);
        Ok(writers.into_iter().map(pair).collect())
    }

    /// The columns that the rows are sorted by, as the writer declared.
    #[getter]
    fn sorting_columns(&self, py: Python<'_>) -> PyResult<Vec<Sorting>> {
        let shard = self.shard()?;
        let columns = detached(py, || wait(self.is_near, shard.sorting_columns_async()))?;
        Ok(columns.into_iter().map(Sorting).collect())
    }

    /// The row numbers of each shard in a table of several shards: start and end.
    #[getter]
    fn row_ranges(&self) -> PyResult<Vec<(u64, u64)>> {
        let shard = self.shard()?;
        Ok(match &self.rows {
            Some(rows) => rows.iter().map(|rows| (rows.start, rows.end)).collect(),
            None => vec![(0, shard.num_rows() + shard.num_deleted_rows())],
        })
    }

    /// Returns statistics of the columns over the whole shard, in one row: ``row_count``, and for every column and
    /// every member of a struct a struct of ``null_count``, ``min``, ``max``, ``min_is_exact``, ``max_is_exact``,
    /// ``is_constant``, ``distinct_count`` and ``distinct_is_exact``. Unknown values are null. Reads metadata only.
    ///
    /// >>> statistics = pa.record_batch(sh.open(path).statistics()).to_pylist()[0]
    /// >>> statistics["row_count"], statistics["id"]["min"], statistics["id"]["max"]
    /// (2, 1, 2)
    #[pyo3(signature = (columns=None))]
    fn statistics(&self, py: Python<'_>, columns: Option<&Bound<'_, PyAny>>) -> PyResult<Batch> {
        let (shard, columns) = (self.shard()?, projection(columns)?);
        let batch = detached(py, || wait(self.is_near, shard.statistics_async(columns)))?;
        self.shown(py, batch)
    }

    /// Returns statistics of the columns with a row for every stripe, in the columns of :meth:`statistics`.
    #[pyo3(signature = (columns=None))]
    fn stripe_statistics(
        &self,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batch> {
        let (shard, columns) = (self.shard()?, projection(columns)?);
        let batch = detached(py, || {
            wait(self.is_near, shard.stripe_statistics_async(columns))
        })?;
        self.shown(py, batch)
    }

    /// Returns a scan of the rows, in order.
    ///
    /// * ``columns``: names, paths of nested fields such as ``"a.b"``, or numbers; all columns by default. A repeated
    ///   column is read once.
    /// * ``filter``: a condition of :func:`col`, its text, such as ``"delay > 60 AND origin LIKE 'OS%'"``, or an
    ///   expression of ``pyarrow.compute``, with the meaning that it has in pyarrow. All conditions of a list must be
    ///   true.
    /// * ``limit``, ``offset``: numbers of matching rows to return and to skip.
    /// * ``batch_size``: rows per batch, 32,768 by default. Smaller batches cost more time in Python; larger ones do
    ///   not fit the caches of a processor.
    /// * ``threads``: the number of threads that decode, by default one per core. Shards in stores are decoded by one
    ///   thread.
    /// * ``with_row_number``: the name of an additional last column with row numbers.
    /// * ``row_range``: the rows to read, as a range or as a start and an end.
    /// * ``schema``: the columns to read with their types, instead of ``columns``.
    /// * ``strict_casts``: whether a cast that changes a value is an error.
    /// * ``prefetch``: the number of pieces of about 32 MiB to fetch ahead from a store.
    /// * ``deleted_rows``, ``internal_fields``: whether deleted rows and internal fields are returned.
    ///
    /// >>> f = sh.open(path)
    /// >>> pa.table(f.scan(columns=["name"], with_row_number="row", row_range=range(1, 2))).to_pylist()
    /// [{'name': 'Lima', 'row': 1}]
    /// >>> pa.table(f.scan(filter="name LIKE 'O%'")).num_rows
    /// 1
    #[expect(clippy::too_many_arguments, reason = "Python's arguments have names")]
    #[pyo3(signature = (
        *, columns=None, filter=None, limit=None, offset=0, batch_size=32_768, threads=None, with_row_number=None,
        row_range=None, deleted_rows=false, internal_fields=false, schema=None, strict_casts=false, prefetch=4,
    ))]
    pub(crate) fn scan(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
        filter: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole)] limit: Option<u64>,
        #[pyo3(from_py_with = whole)] offset: u64,
        #[pyo3(from_py_with = whole)] batch_size: usize,
        #[pyo3(from_py_with = whole)] threads: Option<usize>,
        with_row_number: Option<String>,
        row_range: Option<&Bound<'_, PyAny>>,
        deleted_rows: bool,
        internal_fields: bool,
        schema: Option<&Bound<'_, PyAny>>,
        strict_casts: bool,
        #[pyo3(from_py_with = whole)] prefetch: usize,
    ) -> PyResult<Scan> {
        let (this, shard) = (slf.get(), slf.get().shard()?);
        let options = PyDict::new(py);
        options.set_item("columns", columns)?;
        options.set_item("filter", filter)?;
        options.set_item("limit", limit)?;
        options.set_item("offset", offset)?;
        options.set_item("batch_size", batch_size)?;
        options.set_item("threads", threads)?;
        options.set_item("with_row_number", &with_row_number)?;
        options.set_item("row_range", row_range)?;
        options.set_item("deleted_rows", deleted_rows)?;
        options.set_item("internal_fields", internal_fields)?;
        options.set_item("schema", schema)?;
        options.set_item("strict_casts", strict_casts)?;
        options.set_item("prefetch", prefetch)?;
        let columns = projection(columns)?;
        let mut scan = match schema {
            Some(schema) => shard.scan().with_schema(schema_of_object(schema)?),
            None => detached(py, || this.columns(&shard, columns, internal_fields))?,
        };
        scan = scan
            .with_offset(offset)
            .with_batch_size(batch_size)
            .with_threads(self::threads(threads))
            .with_deleted_rows(deleted_rows)
            .with_strict_casts(strict_casts)
            .with_prefetch(prefetch);
        if let Some(filter) = filter {
            let at_hand = this.is_near.then_some(&shard);
            scan = scan.with_filter(predicate(filter, &this.schema, at_hand)?);
        }
        if let Some(limit) = limit {
            scan = scan.with_limit(limit);
        }
        if let Some(name) = with_row_number {
            scan = scan.with_row_number(name);
        }
        if let Some(rows) = row_range {
            scan = scan.with_row_range(self::row_range(rows)?);
        }
        let call = (slf, options).into_pyobject(py)?;
        Scan::new(call, scan, this.is_near)
    }

    /// Returns the rows with these numbers, in this order; a number may be repeated. The numbers are a list, a numpy
    /// array, or an Arrow array.
    ///
    /// >>> pa.record_batch(sh.open(path).take([1, 0, 1], columns=["id"]))["id"].to_pylist()
    /// [2, 1, 2]
    #[pyo3(signature = (rows, columns=None))]
    fn take(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        columns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batch> {
        let (shard, rows, columns) = (self.shard()?, row_numbers(rows)?, projection(columns)?);
        let batch = detached(py, || {
            let scan = self.columns(&shard, columns, false)?;
            wait(self.is_near, scan.take_async(&rows))
        })?;
        Ok(Batch(batch))
    }

    /// Checks everything: every checksum, every block, and every column against its statistics, filters and indexes.
    /// ``progress`` counts the columns of all stripes, see :func:`write`.
    ///
    /// >>> report = sh.open(path).verify()
    /// >>> report.is_sound, report.problems
    /// (True, [])
    #[pyo3(signature = (*, threads=None, progress=None))]
    fn verify(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Verification> {
        let (shard, threads) = (self.shard()?, self::threads(threads));
        let follower = Follower::of(progress, "columns")?;
        verify(py, &shard, self.is_near, threads, follower)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scan = slf.call_method0("scan")?;
        scan.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.schema.as_ref())
    }

    /// Returns a table for ``SessionContext.register_table`` of DataFusion's Python package, which must have the same
    /// major version as the library's DataFusion.
    #[cfg(feature = "datafusion")]
    fn __datafusion_table_provider__<'py>(
        &self,
        session: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        crate::datafusion::table_provider(&self.shard()?, &self.source, session)
    }

    /// Returns the first rows, at most ``rows``.
    ///
    /// >>> pa.record_batch(sh.open(path).head(1)).to_pylist()
    /// [{'id': 1, 'name': 'Oslo'}]
    #[pyo3(signature = (rows=5, columns=None))]
    fn head(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] rows: u64,
        columns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batch> {
        let (shard, columns) = (self.shard()?, projection(columns)?);
        let batch = detached(py, || {
            let scan = self
                .columns(&shard, columns, false)?
                .with_limit(rows)
                .with_threads(1);
            all_rows(scan, self.is_near)
        });
        batch.map(Batch)
    }

    /// Returns the rows as a pandas data frame. Needs pandas and pyarrow. The options are the options of :meth:`scan`.
    ///
    /// >>> sh.open(path).to_pandas(columns=["name"], filter="id > 1")["name"].tolist()
    /// ['Lima']
    #[pyo3(signature = (**options))]
    fn to_pandas<'py>(
        slf: &Bound<'py, Self>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scan = slf.call_method("scan", (), options)?;
        shown(slf.py())?.call_method1("to_pandas", (scan,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf.py())?.call_method1("html", (slf, &slf.get().name))
    }

    fn __repr__(&self) -> String {
        let Ok(shard) = self.shard() else {
            return format!("<ShardFile {}: closed>", self.name);
        };
        let deleted = match shard.num_deleted_rows() {
            0 => String::new(),
            deleted => format!(", {deleted} deleted"),
        };
        format!(
            "<ShardFile {}: {}{deleted}, {}, {}>",
            self.name,
            counted(shard.num_rows(), "row"),
            counted(self.schema.fields().len() as u64, "column"),
            counted(shard.num_stripes(), "stripe")
        )
    }
}

/// Returns the module that shows files.
fn shown(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("arrow_shard._show")
}

impl ShardFile {
    /// Returns a batch of statistics, without views unless the shard was opened with views.
    fn shown(&self, py: Python<'_>, batch: arrow_array::RecordBatch) -> PyResult<Batch> {
        if !self.hides_views {
            return Ok(Batch(batch));
        }
        let batch = batch_without_views(batch);
        Ok(Batch(batch.map_err(|error| arrow_exception(py, error))?))
    }
}
