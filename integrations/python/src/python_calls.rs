//! Keeps threads of scans out of Python code while the interpreter ends.

use crate::attached::attached;
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Whether the interpreter is about to end.
static ENDS: AtomicBool = AtomicBool::new(false);
/// Number of running calls of Python code by threads of scans.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A counted call; dropping it ends the count.
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

/// Calls Python code from any thread of a scan.
///
/// # Errors
/// Returns the exception of the code, or an error if the interpreter is about to end.
pub(crate) fn call<T>(code: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, ArrowError> {
    let counted = Counted::new();
    if ENDS.load(Ordering::SeqCst) {
        let message = "the interpreter ends".to_owned();
        return Err(ArrowError::ExternalError(message.into()));
    }
    // The caller of the scan gets the exception itself.
    let called = attached(code).map_err(|raised| ArrowError::ExternalError(Box::new(raised)));
    drop(counted);
    called
}

/// Prevents new calls, and waits for running ones.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    ENDS.store(true, Ordering::SeqCst);
    py.detach(|| {
        while CALLS.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(1));
        }
    });
}
