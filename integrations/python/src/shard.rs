//! The Python class of an open shard, and the functions that open it.

use crate::batch::{ArrowSchema, Batch, schema_of as schema_of_object};
use crate::errors::{arrow_exception, invalid_argument};
use crate::filter::predicate;
use crate::interruptible_file;
use crate::location::{Location, Source, table_of};
use crate::rows::{row_numbers, whole};
use crate::runtime::{threads, wait, wait_for_store};
use crate::scan::{Scan, schema_of};
use crate::signals::detached;
use crate::stripes::{Sorting, StripeInfo};
use crate::values::dict_of;
use crate::verify::{Verification, verify};
use crate::views::{batch_without_views, without_views};
use arrow_schema::SchemaRef;
use arrow_shard::io;
use arrow_shard::ops::{LeftOut, ShardSet};
use arrow_shard::read::ScanBuilder;
use arrow_shard::{Projection, Result, Shard};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyRange, PyString};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::to_schema_pycapsule;
use std::ffi::CString;
use std::ops::Range;

/// An open shard, from :func:`open`, or several shards as one table, from :func:`open_many`. Opening reads the tail of
/// the file; everything else is read when it is needed.
///
/// >>> f = sh.open(path)
/// >>> f.num_rows, f.schema.names
/// (2, ['id', 'name'])
/// >>> pa.table(f.scan(filter=sh.col("id") > 1))["name"].to_pylist()
/// ['Lima']
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct ShardFile {
    pub(crate) shard: Shard,
    pub(crate) is_near: bool,
    /// The schema that Python sees.
    pub(crate) schema: SchemaRef,
    /// Whether stored columns are views and are read as strings or binaries, which every library supports.
    hides_views: bool,
    /// The row numbers of each shard in a table of several.
    rows: Option<Vec<Range<u64>>>,
    name: String,
    #[cfg_attr(
        not(feature = "datafusion"),
        expect(dead_code, reason = "DataFusion opens shards again")
    )]
    source: Source,
}

impl ShardFile {
    fn new(shard: Shard, source: Source, views: bool, name: String) -> Result<Self> {
        let is_near = source.is_near();
        let stored = wait(is_near, shard.schema_async())?;
        let (schema, has_views) = if views {
            (stored, false)
        } else {
            without_views(&stored)
        };
        Ok(Self {
            shard,
            is_near,
            schema,
            hides_views: has_views,
            rows: None,
            name,
            source,
        })
    }

    /// Returns a scan of some columns, in the types that Python sees.
    fn columns(&self, projection: Projection) -> Result<ScanBuilder> {
        let scan = self.shard.scan().with_projection(projection);
        if !self.hides_views {
            return Ok(scan);
        }
        let (schema, _) = without_views(&schema_of(&scan, self.is_near)?);
        Ok(scan.with_schema(schema))
    }
}

/// Opens the shard at a path or URL. For a URL such as ``s3://bucket/t.amudai.shard``, environment variables such as
/// ``AWS_ACCESS_KEY_ID`` configure the store. With ``store``, from ``arrow_shard.store``, the path is a path in that
/// store.
///
/// Columns of string and binary views are read as strings and binaries, which every library supports; with
/// ``views=True`` they are read as views.
///
/// >>> sh.open(path).num_rows
/// 2
/// >>> sh.open("nowhere.amudai.shard")
/// Traceback (most recent call last):
///     ...
/// arrow_shard.NotFoundError: not found: file `nowhere.amudai.shard`: there is nothing of this name: ...
#[pyfunction]
#[pyo3(signature = (path, *, store=None, views=false))]
pub(crate) fn open(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    store: Option<&Bound<'_, PyAny>>,
    views: bool,
) -> PyResult<ShardFile> {
    let location = Location::of(path, store)?;
    let name = path.str()?.to_string();
    detached(py, || {
        let shard = location.open()?;
        ShardFile::new(shard, Source::Shards(vec![location]), views, name)
    })
}

/// Opens several shards of one store, or of this machine, as one table: a list of paths, or all shards of a folder in
/// the order of their names. The table has the rows of all shards one after the other, and all of their columns,
/// matched by name. In a column that a shard lacks, its rows are null. The shards must not change while the table is
/// open.
///
/// >>> table = sh.open_many([path, path])
/// >>> table.num_rows, table.row_ranges
/// (4, [(0, 2), (2, 4)])
#[pyfunction]
#[pyo3(signature = (paths, *, store=None, views=false))]
pub(crate) fn open_many(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    store: Option<&Bound<'_, PyAny>>,
    views: bool,
) -> PyResult<ShardFile> {
    // A string or a path is a folder; any other iterable contains paths of shards.
    let is_folder = paths.hasattr("__fspath__")? || paths.is_instance_of::<PyString>();
    let (name, source) = if is_folder {
        (
            paths.str()?.to_string(),
            Source::Folder(Location::of(paths, store)?),
        )
    } else {
        let all = paths
            .try_iter()?
            .map(|path| Location::of(&path?, store))
            .collect::<PyResult<Vec<_>>>()?;
        (format!("{} shards", all.len()), Source::Shards(all))
    };
    let (file, left_out) = detached(py, || {
        let mut left_out = Vec::new();
        let set = match &source {
            Source::Folder(folder) if !folder.is_near() => {
                wait_for_store(ShardSet::open_folder_async(folder.0.clone()))?
            }
            Source::Folder(folder) => {
                let (locations, others) = table_of(folder)?;
                left_out = others;
                open_set(locations)?
            }
            Source::Shards(locations) => open_set(locations.clone())?,
        };
        left_out.extend_from_slice(set.left_out());
        let mut file = ShardFile::new(set.shard().clone(), source, views, name)?;
        file.rows = Some(set.row_ranges().to_vec());
        Ok((file, left_out))
    })?;
    warn_of(py, &left_out)?;
    Ok(file)
}

/// Warns about shards that are not part of the table of their folder.
fn warn_of(py: Python<'_>, left_out: &[LeftOut]) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for left in left_out {
        PyErr::warn(py, &category, &CString::new(left.to_string())?, 1)?;
    }
    Ok(())
}

/// Opens shards of one store, or of this machine, as one table.
fn open_set(locations: Vec<Location>) -> Result<ShardSet> {
    let is_near = locations.iter().all(Location::is_near);
    let shards: Vec<io::Location> = locations.into_iter().map(|location| location.0).collect();
    if is_near {
        interruptible_file::open_many(shards)
    } else {
        wait_for_store(ShardSet::open_async(shards))
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
    fn num_rows(&self) -> u64 {
        self.shard.num_rows()
    }

    /// Number of deleted rows. They keep their row numbers.
    #[getter]
    fn num_deleted_rows(&self) -> u64 {
        self.shard.num_deleted_rows()
    }

    /// Number of stripes.
    #[getter]
    fn num_stripes(&self) -> u64 {
        self.shard.num_stripes()
    }

    /// The stripes: horizontal slices of the shard, each stored together.
    ///
    /// >>> sh.open(path).stripes
    /// [<StripeInfo 0: rows 0..2>]
    #[getter]
    fn stripes(&self, py: Python<'_>) -> PyResult<Vec<StripeInfo>> {
        let stripes = detached(py, || wait(self.is_near, self.shard.stripes_async()))?;
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
        let properties = detached(py, || wait(self.is_near, self.shard.properties_async()))?;
        let standard = properties.standard_properties.iter();
        // If two properties have the same name, the user's property counts.
        dict_of(py, standard.chain(&properties.custom_properties))
    }

    /// The columns that the rows are sorted by, as the writer declared.
    #[getter]
    fn sorting_columns(&self, py: Python<'_>) -> PyResult<Vec<Sorting>> {
        let columns = detached(py, || {
            wait(self.is_near, self.shard.sorting_columns_async())
        })?;
        Ok(columns.into_iter().map(Sorting).collect())
    }

    /// The row numbers of each shard in a table of several shards: start and end.
    #[getter]
    fn row_ranges(&self) -> Vec<(u64, u64)> {
        let all = self.shard.num_rows() + self.shard.num_deleted_rows();
        match &self.rows {
            Some(rows) => rows.iter().map(|rows| (rows.start, rows.end)).collect(),
            None => vec![(0, all)],
        }
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
        let columns = projection(columns)?;
        let batch = detached(py, || {
            wait(self.is_near, self.shard.statistics_async(columns))
        })?;
        self.shown(py, batch)
    }

    /// Returns statistics of the columns with a row for every stripe, in the columns of :meth:`statistics`.
    #[pyo3(signature = (columns=None))]
    fn stripe_statistics(
        &self,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batch> {
        let columns = projection(columns)?;
        let batch = detached(py, || {
            wait(self.is_near, self.shard.stripe_statistics_async(columns))
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
        &self,
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
        let columns = projection(columns)?;
        let mut scan = match schema {
            Some(schema) => self.shard.scan().with_schema(schema_of_object(schema)?),
            None if internal_fields => {
                let scan = self.shard.scan().with_projection(columns);
                scan.with_internal_fields(true)
            }
            None => detached(py, || self.columns(columns))?,
        };
        scan = scan
            .with_offset(offset)
            .with_batch_size(batch_size)
            .with_threads(self::threads(threads))
            .with_deleted_rows(deleted_rows)
            .with_strict_casts(strict_casts)
            .with_prefetch(prefetch);
        if let Some(filter) = filter {
            let at_hand = self.is_near.then_some(&self.shard);
            scan = scan.with_filter(predicate(filter, &self.schema, at_hand)?);
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
        Scan::new(py, scan, self.is_near)
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
        let (rows, columns) = (row_numbers(rows)?, projection(columns)?);
        let batch = detached(py, || {
            let scan = self.columns(columns)?;
            wait(self.is_near, scan.take_async(&rows))
        })?;
        Ok(Batch(batch))
    }

    /// Checks everything: every checksum, every block, and every column against its statistics, filters and indexes.
    /// ``progress`` is called for every column of every stripe, with its path, the number of columns done, and their
    /// total number.
    ///
    /// >>> report = sh.open(path).verify()
    /// >>> report.is_sound, report.problems
    /// (True, [])
    #[pyo3(signature = (*, threads=None, progress=None))]
    fn verify(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Verification> {
        verify(
            py,
            &self.shard,
            self.is_near,
            self::threads(threads),
            progress,
        )
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
        crate::datafusion::table_provider(&self.shard, &self.source, session)
    }

    fn __repr__(&self) -> String {
        let deleted = match self.shard.num_deleted_rows() {
            0 => String::new(),
            deleted => format!(", {deleted} deleted"),
        };
        format!(
            "<ShardFile {}: {} rows{deleted}, {} columns, {} stripes>",
            self.name,
            self.shard.num_rows(),
            self.schema.fields().len(),
            self.shard.num_stripes()
        )
    }
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
