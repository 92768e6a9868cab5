//! The end of the interpreter, which threads of ours must not be in the midst of Python code at.

use arrow_schema::ArrowError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Whether the interpreter is about to end.
static ENDS: AtomicBool = AtomicBool::new(false);
/// Calls of Python code that threads of scans are in.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A call that is counted.
struct Counted;

impl Counted {
    fn new() -> Self {
        CALLS.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Calls Python code from whatever thread a scan uses.
///
/// # Errors
/// What the code raises, and once the interpreter is about to end.
pub(crate) fn call<T>(code: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, ArrowError> {
    let counted = Counted::new();
    if ENDS.load(Ordering::SeqCst) {
        let message = "the interpreter ends".to_owned();
        return Err(ArrowError::ExternalError(message.into()));
    }
    // Whoever waits for the scan gets the exception itself.
    let called = Python::attach(code).map_err(|raised| ArrowError::ExternalError(Box::new(raised)));
    drop(counted);
    called
}

/// Waits for the calls that are under way, and lets none begin.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    ENDS.store(true, Ordering::SeqCst);
    py.detach(|| {
        while CALLS.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(1));
        }
    });
}
