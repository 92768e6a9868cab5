//! Scans: rows of a shard in order, for Python and for every library that reads Arrow streams.

use crate::attached::attached;
use crate::batch::{ArrowSchema, Batch, columns, row_field};
use crate::interrupt;
use crate::metrics::Metrics;
use crate::runtime::{wait, wait_for_store};
use crate::signals::{InterruptWatch, attended, detached, hear, is_attended};
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_shard::Result;
use arrow_shard::read::{ScanBuilder, ScanMetrics, ShardReader, ShardStream};
use futures_util::TryStreamExt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayReader, to_schema_pycapsule, to_stream_pycapsule};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// A scan of a shard, from ``ShardFile.scan``: its rows in order.
///
/// Each iteration, and each library that reads it, starts a new run: ``pyarrow.table(scan)``,
/// ``polars.DataFrame(scan)``, ``duckdb.sql("from scan")``. It can be pickled if its filter can.
///
/// >>> scan = sh.open(path).scan(columns=["name"], filter=sh.col("id") > 1)
/// >>> pa.table(scan)["name"].to_pylist()
/// ['Lima']
/// >>> sum(batch.num_rows for batch in scan)
/// 1
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct Scan {
    /// The file that made the scan, and the options of the call: a pickle repeats it.
    call: Py<PyTuple>,
    builder: ScanBuilder,
    schema: SchemaRef,
    is_near: bool,
    /// The last run that was started.
    last: Mutex<Option<Arc<Run>>>,
}

impl Scan {
    /// Creates a scan, after building it once on one thread to get its schema. `call` is the file that makes the scan,
    /// and the options of the call.
    pub(crate) fn new(
        call: Bound<'_, PyTuple>,
        builder: ScanBuilder,
        is_near: bool,
    ) -> PyResult<Self> {
        let schema = detached(call.py(), || schema_of(&builder, is_near))?;
        Ok(Self {
            call: call.unbind(),
            builder,
            schema,
            is_near,
            last: Mutex::new(None),
        })
    }

    /// Returns the last run that was started. `start` waits for this lock while it holds the interpreter's lock, so no
    /// caller may keep it.
    fn last_run(&self) -> Option<Arc<Run>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Starts a run.
    fn start(&self, py: Python<'_>) -> PyResult<Arc<Run>> {
        self.start_with(py, self.builder.clone())
    }

    fn start_with(&self, py: Python<'_>, builder: ScanBuilder) -> PyResult<Arc<Run>> {
        let started = detached(py, || Reader::start(builder, self.is_near))?;
        let run = Arc::new(Run {
            done: Mutex::new(started.done()),
            reader: Mutex::new(started),
        });
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(run.clone());
        Ok(run)
    }
}

/// Returns the schema of a scan. It builds the scan with one thread, because other threads would start decoding rows.
pub(crate) fn schema_of(builder: &ScanBuilder, is_near: bool) -> Result<SchemaRef> {
    let builder = builder.clone().with_threads(1);
    Ok(Reader::start(builder, is_near)?.schema())
}

/// Returns the rows of a scan as one batch.
pub(crate) fn all_rows(builder: ScanBuilder, is_near: bool) -> Result<RecordBatch> {
    let mut reader = Reader::start(builder, is_near)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        batches.push(batch);
    }
    Ok(concat_batches(&reader.schema(), &batches)?)
}

#[pymethods]
impl Scan {
    /// The schema of the batches.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.schema.clone())
    }

    /// Returns counters of the last run, at least up to its last batch. ``None`` before the first run, and for scans
    /// without a filter of a shard without deleted rows.
    ///
    /// >>> scan = sh.open(path).scan(filter=sh.col("id") > 100)
    /// >>> pa.table(scan).num_rows, scan.metrics().skipped_by_statistics
    /// (0, 2)
    fn metrics(&self) -> Option<Metrics> {
        self.last_run()?.done().metrics.map(Metrics)
    }

    /// Number of bytes that the last run has read from files and stores, at least up to its last batch: columns, gaps
    /// between them that were read in the same request, and metadata that no earlier scan has read. It does not include
    /// the bytes read to open the shard and to plan the scan.
    ///
    /// >>> scan = sh.open(path).scan()
    /// >>> pa.table(scan).num_rows, scan.bytes_read  # a small shard is read as it is opened
    /// (2, 0)
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.last_run().map_or(0, |last| last.done().bytes_read)
    }

    /// Counts the rows of the scan. It reads only the columns of the filter.
    ///
    /// >>> sh.open(path).scan(filter=sh.col("id") > 1).count()
    /// 1
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let no_columns = self.builder.clone().with_schema(Arc::new(Schema::empty()));
        let run = self.start_with(py, no_columns)?;
        detached(py, || {
            let mut rows = 0;
            while let Some(batch) = run.next_batch()? {
                rows += batch.num_rows() as u64;
            }
            Ok(rows)
        })
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        Ok(BatchIterator(self.start(py)?))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let exported = Exported {
            run: self.start(py)?,
            field: row_field(&self.schema),
            thread: is_main_thread(py)?.then(|| thread::current().id()),
            watch: InterruptWatch::start(py)?,
            created: Instant::now(),
            has_begun: false,
            is_shared: false,
        };
        to_stream_pycapsule(py, Box::new(exported), requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.schema.as_ref())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let scanned = py.import("arrow_shard._pickles")?.getattr("scanned")?;
        Ok((scanned, self.call.bind(py).clone()))
    }

    fn __repr__(&self) -> String {
        format!("<Scan of {}>", columns(&self.schema))
    }
}

/// The batches of one run of a :class:`Scan`.
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct BatchIterator(Arc<Run>);

#[pymethods]
impl BatchIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batch = detached(py, || self.0.next_batch())?;
        Ok(batch.map(Batch))
    }
}

/// A run of a scan.
#[derive(Debug)]
struct Run {
    reader: Mutex<Reader>,
    /// The work of the reader up to the last batch.
    done: Mutex<Done>,
}

/// The work of a run.
#[derive(Debug, Clone, Copy)]
struct Done {
    bytes_read: u64,
    metrics: Option<ScanMetrics>,
}

impl Run {
    fn next_batch(&self) -> Result<Option<RecordBatch>> {
        let mut reader = lock(&self.reader);
        let next = reader.next_batch();
        *lock(&self.done) = reader.done();
        next
    }

    /// Returns the work of the run, at least up to the last batch. It does not wait for a batch that is being read: it
    /// may be called by a handler of a signal that came meanwhile, on the same thread.
    fn done(&self) -> Done {
        match self.reader.try_lock() {
            Ok(reader) => reader.done(),
            Err(_) => *lock(&self.done),
        }
    }
}

/// The batches of a scan.
pub(crate) enum Reader {
    Near(ShardReader),
    Far(Box<ShardStream>),
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Near(_) => "Near",
            Self::Far(_) => "Far",
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A reader that has failed returns its error again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reader {
    pub(crate) fn start(builder: ScanBuilder, is_near: bool) -> Result<Self> {
        if is_near {
            builder.build().map(Self::Near)
        } else {
            wait(false, builder.build_stream()).map(|stream| Self::Far(Box::new(stream)))
        }
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::Near(reader) => arrow_array::RecordBatchReader::schema(reader),
            Self::Far(stream) => stream.schema(),
        }
    }

    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        hear()?;
        match self {
            Self::Near(reader) => Ok(reader.next().transpose()?),
            Self::Far(stream) => {
                wait_for_store(async { stream.try_next().await.map_err(Into::into) })
            }
        }
    }

    fn done(&self) -> Done {
        let (bytes_read, metrics) = match self {
            Self::Near(reader) => (reader.bytes_read(), reader.metrics()),
            Self::Far(stream) => (stream.bytes_read(), stream.metrics()),
        };
        Done {
            bytes_read,
            metrics,
        }
    }
}

/// Returns whether this is the thread on which Python runs handlers of signals.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

/// Time in which an engine that has got a stream asks for its first batch, even on a busy machine.
const BEGINNING: Duration = Duration::from_secs(5);

/// A run that is exported to another library.
struct Exported {
    run: Arc<Run>,
    field: FieldRef,
    /// The main thread of Python, if it exported the run: engines also export on threads of their own. Only this thread
    /// runs handlers of signals, so only it takes the interpreter's lock: the code that holds the lock may be waiting
    /// for another thread.
    thread: Option<ThreadId>,
    /// Notices Ctrl-C on other threads.
    watch: Option<InterruptWatch>,
    created: Instant,
    /// Whether a batch has been asked for.
    has_begun: bool,
    /// Whether another thread has asked for a batch.
    is_shared: bool,
}

impl Iterator for Exported {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let watch = self.watch.as_ref();
        let is_own_thread = self.thread == Some(thread::current().id());
        // Between two batches that Python code asks for, Ctrl-C interrupts something else. But an engine that reads on
        // threads of its own works between two batches, while the thread that called it waits. Such an engine asks for
        // its first batch soon after it has got the stream.
        let starts_anew = if is_own_thread {
            !self.is_shared
        } else {
            !self.has_begun && self.created.elapsed() > BEGINNING
        };
        self.has_begun = true;
        self.is_shared |= !is_own_thread;
        let next = || {
            let next = || self.run.next_batch();
            watch.map_or_else(next, |watch| watch.during(starts_anew, next))
        };
        let told = |error: &arrow_shard::Error| {
            if watch.is_some_and(InterruptWatch::is_pressed) {
                ArrowError::ExternalError(interrupt::TEXT.into())
            } else {
                told(error)
            }
        };
        let asks_for_lock = is_own_thread && !is_attended();
        let batch = if asks_for_lock {
            attached(|py| match attended(py, next) {
                Ok(batch) => batch.map_err(|error| told(&error)),
                Err(raised) => Err(failure(py, &raised)),
            })
        } else {
            next().map_err(|error| told(&error))
        };
        let array = |batch| Arc::new(StructArray::from(batch)) as ArrayRef;
        batch.map(|batch| batch.map(array)).transpose()
    }
}

impl ArrayReader for Exported {
    fn field(&self) -> FieldRef {
        self.field.clone()
    }
}

/// Converts an error for a stream, which has only one text for an error and all of its causes.
fn told(error: &arrow_shard::Error) -> ArrowError {
    ArrowError::ExternalError(format!("{error:#}").into())
}

/// Converts an exception of a signal handler for a stream, which has only texts for errors.
fn failure(py: Python<'_>, raised: &PyErr) -> ArrowError {
    if raised.is_instance_of::<PyKeyboardInterrupt>(py) && interrupt::raise_again(py).is_ok() {
        return ArrowError::ExternalError(interrupt::TEXT.into());
    }
    ArrowError::ExternalError(raised.to_string().into())
}
