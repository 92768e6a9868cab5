//! Writes shards.

use crate::batch::Rows;
use crate::errors::{exception, invalid_argument, raised};
use crate::file_object::FileObject;
use crate::location::Location;
use crate::options::writer_options;
use crate::progress::Follower;
use crate::runtime::{wait_for_store, wait_to_the_end};
use crate::signals::{detached, hear};
use arrow_array::RecordBatch;
use arrow_shard::io::{LocalTarget, Sink};
use arrow_shard::write::{AsyncShardWriter, ShardSummary, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result};
use object_store::ObjectStore;
use object_store::path::Path as ObjectPath;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of writing a shard.
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct WriteSummary(ShardSummary);

#[pymethods]
impl WriteSummary {
    /// Number of rows.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.num_rows()
    }

    /// Number of stripes.
    #[getter]
    fn stripes(&self) -> u64 {
        self.0.num_stripes()
    }

    /// Bytes of all files.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Names of the stripe files of a two-level shard, in the folder of its directory file.
    #[getter]
    fn stripe_files(&self) -> Vec<String> {
        self.0.stripe_files().to_vec()
    }

    fn __repr__(&self) -> String {
        let (rows, stripes, bytes) = (self.0.num_rows(), self.0.num_stripes(), self.0.bytes());
        format!("<WriteSummary rows={rows} stripes={stripes} bytes={bytes}>")
    }
}

/// Writes rows to a new shard, which becomes visible once all rows are written, or not at all. ``data`` is any object
/// with ``__arrow_c_stream__`` or ``__arrow_c_array__``: a table, a record batch or a reader of pyarrow, a data frame
/// of polars or pandas, a relation of DuckDB, a scan. ``num_rows`` is the number of its rows for ``progress``.
///
/// The options correspond to ``WriterOptions`` in Rust; ``arrow_shard.write`` of the package lists them by name.
#[pyfunction]
#[pyo3(signature = (data, path, *, store=None, progress=None, num_rows=None, **options))]
pub(crate) fn write(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    path: &Bound<'_, PyAny>,
    store: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
    num_rows: Option<u64>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<WriteSummary> {
    let mut counter = RowCounter {
        follower: Follower::of(progress, "rows")?,
        total: num_rows,
        done: 0,
    };
    if path.hasattr("write")? && !path.hasattr("__fspath__")? {
        if store.is_some() {
            let message = "a file object is not in a store; pass the path in the store";
            return Err(invalid_argument(py, message));
        }
        return to_stream(data, path, writer_options(py, options)?, counter);
    }
    let location = Location::of(path, store)?;
    let options = writer_options(py, options)?;
    let mut rows = Rows::of(data)?;
    let summary = detached(py, || match location.object() {
        Some((store, path)) => to_object(&mut rows, store, &path, options, &mut counter),
        None => to_file(
            &mut rows,
            Path::new(location.0.name()),
            options,
            &mut counter,
        ),
    });
    // Dropping the rows here, with the interpreter's lock, lets their Python source clean up.
    drop(rows);
    counter.follower.end(py, summary).map(WriteSummary)
}

/// Counts the rows that are written, between checks for signals.
struct RowCounter {
    follower: Follower,
    total: Option<u64>,
    done: u64,
}

impl RowCounter {
    fn add(&mut self, rows: usize) -> Result<()> {
        self.done += rows as u64;
        self.follower.tell(self.done, self.total)?;
        hear()
    }
}

/// Rows to encode between two checks for signals.
const PIECE: usize = 1 << 16;

/// Splits a batch into pieces of at most [`PIECE`] rows.
fn pieces(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    let rows = batch.num_rows();
    let starts = (0..rows).step_by(PIECE);
    starts.map(move |start| batch.slice(start, PIECE.min(rows - start)))
}

fn to_file(
    rows: &mut Rows,
    path: &Path,
    options: WriterOptions,
    counter: &mut RowCounter,
) -> Result<ShardSummary> {
    let writer = ShardWriter::create_with(path, rows.schema().clone(), options)?;
    write_all(rows, writer, counter)
}

/// Writes rows to a binary file object of Python.
fn to_stream(
    data: &Bound<'_, PyAny>,
    stream: &Bound<'_, PyAny>,
    options: WriterOptions,
    mut counter: RowCounter,
) -> PyResult<WriteSummary> {
    let mut rows = Rows::of(data)?;
    let sink = FileObject::new(stream);
    let summary = detached(data.py(), || {
        let writer = ShardWriter::try_new(sink, rows.schema().clone(), options)?;
        write_all(&mut rows, writer, &mut counter)
    });
    drop(rows);
    counter.follower.end(data.py(), summary).map(WriteSummary)
}

/// Writes rows, and checks for signals between them.
fn write_all<S: Sink>(
    rows: &mut Rows,
    mut writer: ShardWriter<S>,
    counter: &mut RowCounter,
) -> Result<ShardSummary> {
    hear()?;
    for batch in rows {
        for piece in pieces(&batch?) {
            writer.write(&piece)?;
            counter.add(piece.num_rows())?;
        }
    }
    writer.flush_stripe()?;
    hear()?;
    writer.finish()
}

fn to_object(
    rows: &mut Rows,
    store: Arc<dyn ObjectStore>,
    path: &ObjectPath,
    options: WriterOptions,
    counter: &mut RowCounter,
) -> Result<ShardSummary> {
    let schema = rows.schema().clone();
    let create = AsyncShardWriter::create_object(store, path, schema, options);
    let mut writer = wait_for_store(create)?;
    match send(rows, &mut writer, counter) {
        // Making the shard visible is not interrupted: the caller would not know whether it exists.
        Ok(()) => wait_to_the_end(false, writer.finish()),
        Err(error) => {
            // Uploaded parts are removed, even after Ctrl-C. The caller gets the first error.
            drop(wait_to_the_end(false, writer.abort()));
            Err(error)
        }
    }
}

/// Sends all rows, so only the directory remains to be written.
fn send(rows: &mut Rows, writer: &mut AsyncShardWriter, counter: &mut RowCounter) -> Result<()> {
    hear()?;
    for batch in rows {
        for piece in pieces(&batch.map_err(Error::from)?) {
            wait_for_store(writer.write(&piece))?;
            counter.add(piece.num_rows())?;
        }
    }
    wait_for_store(writer.flush_stripe())?;
    hear()
}

/// Returns the file that an output at a local path creates or replaces, after following symbolic links.
#[pyfunction]
#[pyo3(signature = (path, *, overwrite))]
pub(crate) fn output_file(py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<OsString> {
    let target = raised(py, LocalTarget::find(&path))?;
    if let (LocalTarget::File(file), false) = (&target, overwrite) {
        let text = format!(
            "the file {} exists; pass overwrite=True to replace it",
            file.display()
        );
        return Err(exception(py, Error::new(ErrorKind::AlreadyExists, text)));
    }
    Ok(raised(py, target.into_path())?.into_os_string())
}
