//! Changes shards: merges, deletes and compaction, mostly by writing new directories over existing buffers.

use crate::errors::{invalid, raised};
use crate::location::{self, Location};
use crate::opening::file_columns;
use crate::options::profile;
use crate::predicate::predicate;
use crate::progress::Follower;
use crate::rows::{row_numbers, whole};
use crate::runtime::{threads, wait, wait_to_the_end};
use crate::signals::{detached, hear};
use crate::views::without_views;
use arrow_shard::Result;
use arrow_shard::ops::{
    AttachOptions, CompactOptions, DeleteOptions, EditSummary, PackOptions, ShardEditor,
    UnusedFile, VacuumOptions, attach_with_async, compact_async, compact_to_async, pack_async,
    vacuum_async,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;
use std::time::Duration;

/// The result of a change of a shard.
#[pyclass(module = "arrow_shard", name = "EditSummary", frozen)]
#[derive(Debug)]
pub(crate) struct Edited {
    summary: EditSummary,
    /// The number of rows that were deleted or restored, if the change does that.
    changed: Option<u64>,
}

#[pymethods]
impl Edited {
    /// Number of rows, without deleted ones.
    #[getter]
    fn rows(&self) -> u64 {
        self.summary.num_rows()
    }

    /// Number of deleted rows.
    #[getter]
    fn deleted_rows(&self) -> u64 {
        self.summary.num_deleted_rows()
    }

    /// Number of stripes.
    #[getter]
    fn stripes(&self) -> u64 {
        self.summary.num_stripes()
    }

    /// Number of bytes written.
    #[getter]
    fn bytes(&self) -> u64 {
        self.summary.bytes()
    }

    /// Number of rows that this change deleted or restored; None for other changes.
    #[getter]
    fn changed_rows(&self) -> Option<u64> {
        self.changed
    }

    /// Number of files that the shard needs in addition to its directory file: keep them together, or see ``pack``.
    #[getter]
    fn other_files(&self) -> u64 {
        self.summary.num_other_files()
    }

    /// Whether there was nothing to change, so the file is unchanged.
    #[getter]
    fn is_unchanged(&self) -> bool {
        self.summary.is_unchanged()
    }

    fn __repr__(&self) -> String {
        let summary = &self.summary;
        format!(
            "<EditSummary rows={} deleted_rows={} stripes={} bytes={}>",
            summary.num_rows(),
            summary.num_deleted_rows(),
            summary.num_stripes(),
            summary.bytes()
        )
    }
}

/// A shard that is being changed.
struct Editing {
    editor: ShardEditor,
    at: Location,
}

impl Editing {
    fn open(at: Location) -> Result<Self> {
        let editor = wait(at.is_near(), ShardEditor::open_async(at.0.clone()))?;
        Ok(Self { editor, at })
    }

    fn append(&mut self, other: &Location) -> Result<()> {
        hear()?;
        let name = self.at.beside(other)?.name();
        wait(self.at.is_near(), self.editor.append_async(name))
    }

    /// Returns an error if two shards refer to the same data.
    fn check_distinct(&self) -> Result<()> {
        wait(self.at.is_near(), self.editor.check_distinct_async())
    }

    /// Writes the directory in place, or to a target. An earlier Ctrl-C prevents that. A later one does not interrupt
    /// it: the caller would not know whether the change had happened.
    fn commit(self, target: Option<&Location>, changed: Option<u64>) -> Result<Edited> {
        hear()?;
        let summary = match target {
            None => wait_to_the_end(self.at.is_near(), self.editor.commit_async()),
            Some(target) => {
                let name = self.at.beside(target)?.name();
                wait_to_the_end(self.at.is_near(), self.editor.commit_to_async(name))
            }
        };
        Ok(Edited {
            summary: summary?,
            changed,
        })
    }
}

/// Returns the location of an optional argument.
fn maybe(
    at: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Location>> {
    at.map(|at| Location::of(at, store)).transpose()
}

/// Returns the locations of a list of paths.
fn all(paths: &Bound<'_, PyAny>, store: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Location>> {
    if paths.hasattr("__fspath__")? || paths.is_instance_of::<PyString>() {
        let message = format!("expected a list of paths, found {}", paths.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    let paths = paths.try_iter()?;
    paths.map(|path| Location::of(&path?, store)).collect()
}

/// Writes a shard that refers to the Parquet files of a list. ``columns`` adds columns with one value for all rows of a
/// file: a list of names, each with the values for the files.
#[pyfunction]
#[pyo3(signature = (
    paths, out, *, columns=None, stripe_rows=None, page_map=false, checksum=false, statistics=None, index=None,
    external_files=None, progress=None, store=None,
))]
#[expect(
    clippy::too_many_arguments,
    reason = "the options of Python's function"
)]
pub(crate) fn attach(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    columns: Option<&Bound<'_, PyAny>>,
    stripe_rows: Option<u64>,
    page_map: bool,
    checksum: bool,
    statistics: Option<Vec<String>>,
    index: Option<Vec<String>>,
    external_files: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Edited> {
    let follower = Follower::of(progress, "files")?;
    let (paths, out) = (all(paths, store)?, Location::of(out, store)?);
    let external_files = location::external_files(external_files, store)?;
    let of_one_store = external_files.is_empty();
    let options = AttachOptions::default();
    let stripe_rows = stripe_rows.unwrap_or(options.stripe_rows());
    let options = options
        .with_stripe_rows(stripe_rows)
        .with_page_map(page_map)
        .with_checksums(checksum)
        .with_statistics(statistics.unwrap_or_default())
        .with_index(index.unwrap_or_default())
        .with_external_files(external_files)
        .with_progress(follower.listener());
    let columns = file_columns(py, columns)?;
    let options = columns
        .into_iter()
        .fold(options, |options, (field, values)| {
            options.with_file_column(field, values)
        });
    let summary = detached(py, || {
        let files = paths.iter().map(|path| {
            if of_one_store {
                out.beside(path).cloned()
            } else {
                Ok(path.0.clone())
            }
        });
        let files: Vec<_> = files.collect::<Result<_>>()?;
        let attached = attach_with_async(files, out.0.clone(), options);
        wait_to_the_end(out.is_near(), attached)
    });
    Ok(Edited {
        summary: follower.end(py, summary)?,
        changed: None,
    })
}

/// Writes a shard with the rows of several shards, one after the other. It refers to their buffers, so no row is
/// copied. The shards must be in the folder of ``out``, or in its subfolders.
///
/// >>> sh.merge([path, path], out).rows
/// 4
#[pyfunction]
#[pyo3(signature = (paths, out, *, store=None))]
pub(crate) fn merge(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Edited> {
    let (paths, out) = (all(paths, store)?, Location::of(out, store)?);
    detached(py, || {
        let mut paths = paths.into_iter();
        let first = paths.next();
        let mut editing =
            Editing::open(first.ok_or_else(|| invalid("there is no shard to merge"))?)?;
        for other in paths {
            editing.append(&other)?;
        }
        editing.check_distinct()?;
        editing.commit(Some(&out), None)
    })
}

/// Appends the rows of other shards to a shard, by referring to their buffers. The changed shard replaces the shard at
/// ``path``, or is written to ``to``.
///
/// >>> sh.append(path, [other]).rows
/// 3
#[pyfunction]
#[pyo3(signature = (path, others, *, to=None, store=None))]
pub(crate) fn append(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    others: &Bound<'_, PyAny>,
    to: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Edited> {
    let (at, others, to) = (
        Location::of(path, store)?,
        all(others, store)?,
        maybe(to, store)?,
    );
    detached(py, || {
        let mut editing = Editing::open(at)?;
        for other in &others {
            editing.append(other)?;
        }
        editing.commit(to.as_ref(), None)
    })
}

/// Marks rows as deleted: the rows that match ``where``, a filter as for ``ShardFile.scan``, or the rows with the
/// numbers ``rows``. Scans skip deleted rows; the other rows keep their numbers. The changed shard replaces the shard
/// at ``path``, or is written to ``to``. ``progress`` counts the rows that ``where`` is tested on, see :func:`write`.
///
/// >>> sh.delete(path, sh.col("name") == "Oslo").changed_rows
/// 1
/// >>> sh.open(path).num_rows
/// 1
#[pyfunction]
#[pyo3(signature = (path, r#where=None, *, rows=None, to=None, progress=None, store=None))]
pub(crate) fn delete(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    r#where: Option<&Bound<'_, PyAny>>,
    rows: Option<&Bound<'_, PyAny>>,
    to: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Edited> {
    let (at, to) = (Location::of(path, store)?, maybe(to, store)?);
    let is_near = at.is_near();
    let mut editing = detached(py, || Editing::open(at))?;
    let (schema, _) = without_views(&Arc::new(editing.editor.schema()));
    let condition = r#where.map(|condition| predicate(condition, &schema, None));
    let (condition, rows) = (condition.transpose()?, rows.map(row_numbers).transpose()?);
    let follower = Follower::of(progress, "rows")?;
    let options = DeleteOptions::default().with_progress(follower.listener());
    let editor = &mut editing.editor;
    let deleted = detached(py, || match (&condition, &rows) {
        (Some(condition), None) => wait(is_near, editor.delete_with_async(condition, options)),
        (None, Some(rows)) => wait(is_near, editor.delete_rows_async(rows)),
        _ => Err(invalid("expected either a condition or rows to delete")),
    });
    let deleted = follower.end(py, deleted)?;
    detached(py, || editing.commit(to.as_ref(), Some(deleted)))
}

/// Restores deleted rows: the rows with the numbers ``rows``, or all deleted rows.
///
/// >>> _ = sh.delete(path, rows=[0])
/// >>> sh.undelete(path).changed_rows
/// 1
#[pyfunction]
#[pyo3(signature = (path, *, rows=None, to=None, store=None))]
pub(crate) fn undelete(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    rows: Option<&Bound<'_, PyAny>>,
    to: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Edited> {
    let (at, to) = (Location::of(path, store)?, maybe(to, store)?);
    let is_near = at.is_near();
    let rows = rows.map(row_numbers).transpose()?;
    detached(py, || {
        let mut editing = Editing::open(at)?;
        let back = match rows {
            None => editing.editor.undelete(),
            Some(rows) => wait(is_near, editing.editor.undelete_rows_async(&rows))?,
        };
        editing.commit(to.as_ref(), Some(back))
    })
}

/// Rewrites small stripes, each together with its neighbors, and stripes with many deleted rows, without these rows.
/// Other stripes stay unchanged. Returns None, and changes nothing, if there is no stripe to rewrite.
///
/// A stripe with fewer rows than ``min_rows`` is small; a stripe with a larger share of deleted rows than
/// ``max_deleted`` is rewritten; with ``external``, so are all stripes over Parquet files. ``profile`` is the profile
/// of rewritten stripes, by default ``"balanced"`` whatever the shard had. ``progress`` counts their rows, see
/// :func:`write`.
///
/// >>> _ = sh.delete(path, rows=[0])
/// >>> summary = sh.compact(path)
/// >>> summary.rows, summary.deleted_rows
/// (1, 0)
#[pyfunction]
#[pyo3(signature = (
    path, *, to=None, min_rows=None, max_deleted=None, external=false, profile=None, threads=None,
    progress=None, store=None
))]
#[expect(clippy::too_many_arguments, reason = "Python's arguments have names")]
pub(crate) fn compact(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    to: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] min_rows: Option<u64>,
    max_deleted: Option<f64>,
    external: bool,
    profile: Option<&str>,
    #[pyo3(from_py_with = whole)] threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Edited>> {
    let follower = Follower::of(progress, "rows")?;
    let (at, to) = (Location::of(path, store)?, maybe(to, store)?);
    let mut options = CompactOptions::default()
        .with_threads(self::threads(threads))
        .with_external(external);
    if let Some(rows) = min_rows {
        options = options.with_min_rows(rows);
    }
    if let Some(share) = max_deleted {
        options = options.with_max_deleted(share);
    }
    if let Some(name) = profile {
        options = options.with_profile(raised(py, self::profile(name))?);
    }
    // Ctrl-C interrupts the rewriting of stripes, which are then removed, but not the commit.
    let options = options.with_progress(follower.listener());
    let summary = detached(py, || match &to {
        None => wait_to_the_end(at.is_near(), compact_async(at.0.clone(), options)),
        Some(to) => {
            let name = at.beside(to)?.name();
            wait_to_the_end(at.is_near(), compact_to_async(at.0.clone(), name, options)).map(Some)
        }
    });
    let edited = |summary| Edited {
        summary,
        changed: None,
    };
    Ok(follower.end(py, summary)?.map(edited))
}

/// Writes a shard of several files as one file, ``out``, which can be moved or copied alone. Bytes are copied
/// unchanged, so deleted rows stay deleted. ``overwrite`` replaces a file at ``out``, which may be the shard itself.
/// ``progress`` counts rows, see :func:`write`.
///
/// >>> sh.delete(path, rows=[0]).other_files
/// 2
/// >>> sh.pack(path, out).other_files
/// 0
#[pyfunction]
#[pyo3(signature = (path, out, *, overwrite=false, progress=None, store=None))]
pub(crate) fn pack(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    overwrite: bool,
    progress: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Edited> {
    let follower = Follower::of(progress, "rows")?;
    let (at, out) = (Location::of(path, store)?, Location::of(out, store)?);
    let options = PackOptions::default()
        .with_overwrite(overwrite)
        .with_progress(follower.listener());
    let summary = detached(py, || {
        let out = at.beside(&out)?.clone();
        wait_to_the_end(at.is_near(), pack_async(at.0.clone(), out, options))
    });
    Ok(Edited {
        summary: follower.end(py, summary)?,
        changed: None,
    })
}

/// Removes stripe files in a folder and its subfolders that no shard there refers to, and returns them with their
/// sizes. Files younger than ``min_age`` seconds stay, by default a day; it must be longer than any writer takes.
/// ``dry_run`` only lists the files. ``progress`` counts the files that are read, see :func:`write`.
///
/// >>> sh.vacuum(folder, dry_run=True)
/// []
#[pyfunction]
#[pyo3(signature = (folder, *, min_age=86400.0, dry_run=false, progress=None, store=None))]
pub(crate) fn vacuum(
    py: Python<'_>,
    folder: &Bound<'_, PyAny>,
    min_age: f64,
    dry_run: bool,
    progress: Option<&Bound<'_, PyAny>>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, u64)>> {
    let follower = Follower::of(progress, "files")?;
    let at = Location::of(folder, store)?;
    let parsed = Duration::try_from_secs_f64(min_age)
        .map_err(|e| invalid(format!("min_age is {min_age}: {e}")));
    let age = raised(py, parsed)?;
    let options = VacuumOptions::default()
        .with_min_age(age)
        .with_dry_run(dry_run)
        .with_progress(follower.listener());
    let unused = detached(py, || {
        let unused = wait(at.is_near(), vacuum_async(at.0.clone(), options))?;
        let shown = |file: UnusedFile| (file.location.to_string(), file.bytes);
        Ok(unused.into_iter().map(shown).collect())
    });
    follower.end(py, unused)
}
