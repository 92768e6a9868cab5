//! Opens shards for Python: one, several as one table, or one in memory.

use crate::errors::{arrow_exception, exception, invalid};
use crate::interruptible_file::interruptible;
use crate::literal::literal;
use crate::location::{self, Location, Source, shards_below, table_of};
use crate::runtime::{wait, wait_for_store};
use crate::shard::{Origin, ShardFile};
use crate::signals::detached;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use arrow_shard::bytes::Bytes;
use arrow_shard::io;
use arrow_shard::ops::{
    LeftOut, Overlap, ShardColumn, ShardSet, ShardSetOptions, Unify, list_parquet_files_async,
};
use arrow_shard::{Result, Shard, ShardOptions};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::ffi::CString;

/// Opens the shard at a path or URL. For a URL such as ``s3://bucket/t.amudai.shard``, environment variables such as
/// ``AWS_ACCESS_KEY_ID`` configure the store. With ``store``, from ``arrow_shard.store``, the path is a path in that
/// store. ``~`` at the beginning of a path is the home folder. A shard of a single file may also be ``bytes``, a
/// ``memoryview`` or another buffer, or a binary file object, which is read as a whole.
///
/// Columns of string and binary views are read as strings and binaries, which every library supports; with
/// ``views=True`` they are read as views.
///
/// A shard over Parquet files, from :func:`attach`, may refer to files outside of its folder. ``external_files`` lists
/// the folders that are allowed; by default there are none.
///
/// The file may be used in a ``with`` statement, which closes it.
///
/// >>> with sh.open(path) as f:
/// ...     f.num_rows
/// 2
/// >>> sh.open("nowhere.amudai.shard")
/// Traceback (most recent call last):
///     ...
/// arrow_shard.NotFoundError: not found: file `nowhere.amudai.shard`: there is nothing of this name: ...
#[pyfunction]
#[pyo3(signature = (path, *, store=None, views=false, external_files=None))]
pub(crate) fn open(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    store: Option<&Bound<'_, PyAny>>,
    views: bool,
    external_files: Option<&Bound<'_, PyAny>>,
) -> PyResult<ShardFile> {
    let options = options_with(external_files, store)?;
    if let Some(bytes) = bytes_of(path)? {
        if store.is_some() {
            let message = "a shard in memory is not in a store; pass its path in the store";
            return Err(exception(py, invalid(message)));
        }
        let origin = Origin::new("open", bytes.as_any(), store, views, None)?;
        let all = Bytes::copy_from_slice(bytes.as_bytes());
        return detached(py, || {
            let name = format!("of {} bytes in memory", all.len());
            let shard = Shard::from_bytes_with(all, options)?;
            ShardFile::new(shard, Source::Other { is_near: true }, views, name, origin)
        });
    }
    let location = Location::of(path, store)?;
    let more = PyDict::new(py);
    more.set_item("external_files", external_files)?;
    let found = location.absolute(path)?;
    let origin = Origin::new("open", &found, store, views, Some(&more))?;
    let name = path.str()?.to_string();
    detached(py, || {
        let shard = location.open(options)?;
        ShardFile::new(shard, Source::Shards(vec![location]), views, name, origin)
    })
}

/// Returns the options of a shard whose Parquet files may be in some folders outside of its own.
fn options_with(
    external_files: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<ShardOptions> {
    let files = location::external_files(external_files, store)?;
    Ok(ShardOptions::default().with_external_files(files))
}

/// Returns the bytes of a buffer, or of a binary file object; `None` for a path.
fn bytes_of<'py>(source: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    if source.is_instance_of::<PyString>() || source.hasattr("__fspath__")? {
        return Ok(None);
    }
    let builtins = source.py().import("builtins")?;
    let content = if source.hasattr("read")? {
        source.call_method0("read")?
    } else {
        source.clone()
    };
    if content.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "expected a file object in binary mode",
        ));
    }
    let Ok(view) = builtins.call_method1("memoryview", (&content,)) else {
        return Ok(None);
    };
    Ok(Some(view.call_method0("tobytes")?.cast_into()?))
}

/// The values of a column for each of several files, and the name of its type in pyarrow; without a name, the values
/// have the type.
type Values<'py> = (String, Vec<Bound<'py, PyAny>>, Option<String>);

/// Converts a list of names with their values and perhaps their types.
fn values_of<'py>(columns: Option<&Bound<'py, PyAny>>) -> PyResult<Vec<Values<'py>>> {
    let Some(columns) = columns else {
        return Ok(Vec::new());
    };
    let values = |one: PyResult<Bound<'py, PyAny>>| {
        let one = one?;
        if one.len()? == 2 {
            let (name, values) = one.extract()?;
            return Ok((name, values, None));
        }
        one.extract()
    };
    columns.try_iter()?.map(values).collect()
}

/// Returns columns that have one value for each of several files.
pub(crate) fn file_columns(
    py: Python<'_>,
    columns: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(Field, ArrayRef)>> {
    let columns = values_of(columns)?;
    columns.iter().map(|column| column_of(py, column)).collect()
}

/// Opens several shards of one store, or of this machine, as one table: a list of paths, or all shards of a folder in
/// the order of their names. The table has the rows of all shards one after the other, and all of their columns,
/// matched by name. In a column that a shard lacks, its rows are null. The shards must not change while the table is
/// open. Subfolders are not searched: :func:`dataset` and :func:`list_shards` do that.
///
/// ``columns`` adds columns with one value for all rows of a shard: a list of names, each with the values for the
/// shards of a list of paths, and if all values may be null, ``"int64"``, ``"float64"``, ``"date32"`` or ``"string"``.
/// With ``leave_out``, shards of a list that others contain are left out, as in a folder. ``external_files`` allows
/// folders as in :func:`open`, for a list of paths.
///
/// ``unify`` says what happens if a column has different types in the shards. With ``"strict"``, that is an error. With
/// ``"widen"``, the column gets the narrowest type that holds the values of all shards: see :func:`dataset`.
///
/// >>> table = sh.open_many([path, path], columns=[("year", [2025, 2026])])
/// >>> table.num_rows, table.row_ranges
/// (4, [(0, 2), (2, 4)])
/// >>> pa.table(table.scan(columns=["id"], filter="year = 2026"))["id"].to_pylist()
/// [1, 2]
#[pyfunction]
#[pyo3(signature = (
    paths, *, store=None, views=false, columns=None, leave_out=false, external_files=None, unify="strict"
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn open_many(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    store: Option<&Bound<'_, PyAny>>,
    views: bool,
    columns: Option<&Bound<'_, PyAny>>,
    leave_out: bool,
    external_files: Option<&Bound<'_, PyAny>>,
    unify: &str,
) -> PyResult<ShardFile> {
    let options = options_with(external_files, store)?;
    let options = ShardSetOptions::from(options).with_unify(unify_of(py, unify)?);
    // A string or a path is a folder; any other iterable contains paths of shards.
    let is_folder = paths.hasattr("__fspath__")? || paths.is_instance_of::<PyString>();
    let columns = values_of(columns)?;
    let (name, source, found) = if is_folder {
        if !columns.is_empty() || external_files.is_some() {
            let message = "expected a list of paths, because there are columns or external files";
            return Err(exception(py, invalid(message)));
        }
        let folder = Location::of(paths, store)?;
        let found = folder.absolute(paths)?;
        (paths.str()?.to_string(), Source::Folder(folder), found)
    } else {
        let (mut all, mut found) = (Vec::new(), Vec::new());
        for path in paths.try_iter()? {
            let path = path?;
            let location = Location::of(&path, store)?;
            found.push(location.absolute(&path)?);
            all.push(location);
        }
        let name = format!("{} shards", all.len());
        (
            name,
            Source::Shards(all),
            PyList::new(py, found)?.into_any(),
        )
    };
    let more = PyDict::new(py);
    more.set_item("columns", &columns)?;
    more.set_item("leave_out", leave_out)?;
    more.set_item("external_files", external_files)?;
    more.set_item("unify", unify)?;
    let origin = Origin::new("open_many", &found, store, views, Some(&more))?;
    let columns = columns
        .iter()
        .map(|column| {
            let (field, values) = column_of(py, column)?;
            Ok(ShardColumn::new(field, values))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let overlap = if leave_out {
        Overlap::LeaveOut
    } else {
        Overlap::Refuse
    };
    let (file, left_out) = detached(py, || {
        let mut left_out = Vec::new();
        let set = match &source {
            Source::Folder(folder) if !folder.is_near() => {
                wait_for_store(ShardSet::open_folder_with_async(folder.0.clone(), options))?
            }
            Source::Folder(folder) => {
                let (locations, others) = table_of(folder)?;
                left_out = others;
                open_set(locations, Overlap::Refuse, &[], options)?
            }
            Source::Shards(locations) => open_set(locations.clone(), overlap, &columns, options)?,
            Source::Other { .. } => return Err(invalid("expected paths of shards")),
        };
        left_out.extend_from_slice(set.left_out());
        let source = if columns.is_empty() {
            source
        } else {
            Source::Other {
                is_near: source.is_near(),
            }
        };
        let file = ShardFile::new(set.shard().clone(), source, views, name, origin)?;
        Ok((file.of_set(&set), left_out))
    })?;
    warn_of(py, &left_out)?;
    Ok(file)
}

/// Returns how columns of different types are united.
fn unify_of(py: Python<'_>, unify: &str) -> PyResult<Unify> {
    match unify {
        "strict" => Ok(Unify::Strict),
        "widen" => Ok(Unify::Widen),
        other => {
            let message = format!("unify is \"strict\" or \"widen\", found {other:?}");
            Err(exception(py, invalid(message)))
        }
    }
}

/// Converts a column of files.
fn column_of(py: Python<'_>, (name, values, kind): &Values<'_>) -> PyResult<(Field, ArrayRef)> {
    let arrays: Vec<ArrayRef> = values
        .iter()
        .map(|value| Ok(literal(value)?.array().clone()))
        .collect::<PyResult<_>>()?;
    let valid = arrays.iter().find(|array| array.logical_null_count() == 0);
    let data_type = match (valid, kind.as_deref()) {
        (Some(array), _) => array.data_type().clone(),
        (None, Some("int64")) => DataType::Int64,
        (None, Some("float64")) => DataType::Float64,
        (None, Some("date32")) => DataType::Date32,
        (None, _) => DataType::Utf8,
    };
    let null = new_null_array(&data_type, 1);
    let typed: Vec<&dyn Array> = arrays
        .iter()
        .map(|array| {
            if array.logical_null_count() == 0 {
                &**array
            } else {
                &*null
            }
        })
        .collect();
    let is_nullable = arrays.iter().any(|array| array.logical_null_count() > 0);
    let values = match typed.as_slice() {
        [] => Ok(new_null_array(&data_type, 0)),
        typed => concat(typed),
    };
    let values = values.map_err(|error| arrow_exception(py, error))?;
    Ok((Field::new(name, data_type, is_nullable), values))
}

/// Warns about shards that are not part of the table of their folder.
fn warn_of(py: Python<'_>, left_out: &[LeftOut]) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for left in left_out {
        PyErr::warn(py, &category, &CString::new(left.to_string())?, 1)?;
    }
    Ok(())
}

/// Opens shards of one store, or of this machine, as one table with additional columns.
fn open_set(
    locations: Vec<Location>,
    overlap: Overlap,
    columns: &[ShardColumn],
    options: ShardSetOptions,
) -> Result<ShardSet> {
    let is_near = locations.iter().all(Location::is_near);
    let shards: Vec<io::Location> = locations.into_iter().map(|location| location.0).collect();
    let set = ShardSet::open_with_columns_async(shards, overlap, columns, interruptible, options);
    wait(is_near, set)
}

/// Returns the sorted paths of the shards in a folder, without other files. With ``recursive``, those in its subfolders
/// as well, except for names that begin with ``_`` or ``.``. With ``store``, the paths are paths in the store.
///
/// >>> [name.endswith("cities.amudai.shard") for name in sh.list_shards(folder)]
/// [True]
#[pyfunction]
#[pyo3(signature = (folder, *, recursive=false, store=None))]
pub(crate) fn list_shards(
    py: Python<'_>,
    folder: &Bound<'_, PyAny>,
    recursive: bool,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let at = Location::of(folder, store)?;
    let shards = detached(py, || shards_below(&at, recursive))?;
    let shown = |location: &Location| location.0.to_string();
    Ok(shards.iter().map(shown).collect())
}

/// Returns the sorted paths of the Parquet files in a folder and its subfolders, by their names.
#[pyfunction]
#[pyo3(signature = (folder, *, store=None))]
pub(crate) fn list_parquet_files(
    py: Python<'_>,
    folder: &Bound<'_, PyAny>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let at = Location::of(folder, store)?;
    let listed = list_parquet_files_async(at.0.clone());
    let files = detached(py, || wait(at.is_near(), listed))?;
    Ok(files.iter().map(ToString::to_string).collect())
}
