//! Work without the interpreter's lock, which Ctrl-C still ends.

use crate::errors::exception;
use arrow_shard::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// How often signals are looked for.
pub(crate) const HEARING: Duration = Duration::from_millis(50);

thread_local! {
    /// When this thread looks for signals again, if it works for Python code that called it.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
    /// What a signal handler has raised meanwhile.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Does work while other threads of Python run. What signal handlers raise meanwhile comes instead of
/// the result, as soon as the work next asks [`hear`].
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    attended(py, work)?.map_err(|error| exception(py, error))
}

/// As [`detached`], with what the work gives apart from what signal handlers raise.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<Result<T>> {
    py.check_signals()?;
    let before = NEXT.replace(Some(Instant::now() + HEARING));
    let done = py.detach(work);
    NEXT.set(before);
    match RAISED.take() {
        Some(raised) => Err(raised),
        None => {
            if done.is_err() {
                // What failed may be a stream that has heard a signal, and can only tell in words.
                py.check_signals()?;
            }
            Ok(done)
        }
    }
}

/// Whether this thread works for Python code that called it, and looks for signals.
pub(crate) fn is_attended() -> bool {
    NEXT.get().is_some()
}

/// Gives signal handlers a chance, from time to time: only the thread that Python code called runs them.
///
/// # Errors
/// Once one has raised an exception: the work is to end.
pub(crate) fn hear() -> Result<()> {
    let Some(next) = NEXT.get() else {
        return Ok(());
    };
    if is_interrupted() {
        return Err(interrupted());
    }
    let now = Instant::now();
    if now < next {
        return Ok(());
    }
    NEXT.set(Some(now + HEARING));
    match Python::attach(|py| py.check_signals()) {
        Ok(()) => Ok(()),
        Err(raised) => {
            RAISED.set(Some(raised));
            Err(interrupted())
        }
    }
}

/// Whether a signal handler has raised an exception.
pub(crate) fn is_interrupted() -> bool {
    RAISED.with_borrow(Option::is_some)
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Io, "interrupted by a signal")
}
