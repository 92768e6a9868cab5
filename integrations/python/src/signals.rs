//! Runs work without the interpreter's lock, and lets Ctrl-C interrupt it.

use crate::attached::attached;
use crate::errors::exception;
use crate::sigint;
use arrow_shard::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two checks for signals.
pub(crate) const HEARING: Duration = Duration::from_millis(50);

thread_local! {
    /// The time of this thread's next check for signals; `None` unless Python code called this thread.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The exception that a signal handler has raised during the work.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Whether Ctrl-C has been pressed, on threads that read for other libraries.
    static WATCHED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs work while other Python threads run. If a signal handler raises an exception, the work ends at its next call of
/// [`hear`], and the exception is returned instead of the result.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    attended(py, work)?.map_err(|error| exception(py, error))
}

/// Runs work like [`detached`], but returns the result of the work separately from an exception of a signal handler.
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
                // The error may come from a stream that received a signal, and could pass it on only as text.
                py.check_signals()?;
            }
            Ok(done)
        }
    }
}

/// Returns whether Python code called this thread, so it checks for signals.
pub(crate) fn is_attended() -> bool {
    NEXT.get().is_some()
}

/// Notices Ctrl-C for work on threads of other libraries. Python runs its handlers on the main thread only, which may
/// be waiting for such a thread.
#[derive(Debug)]
pub(crate) struct InterruptWatch {
    is_pressed: Arc<AtomicBool>,
    id: SigId,
}

impl InterruptWatch {
    /// Starts a watch. Returns `None` if the program handles Ctrl-C otherwise than by `KeyboardInterrupt`: the work
    /// does not have to end then.
    pub(crate) fn start(py: Python<'_>) -> PyResult<Option<Self>> {
        // The watch would miss an earlier Ctrl-C that no handler has received yet.
        py.check_signals()?;
        let signal = py.import("signal")?;
        let handler = signal.call_method1("getsignal", (SIGINT,))?;
        if !handler.is(&signal.getattr("default_int_handler")?) {
            return Ok(None);
        }
        let is_pressed = Arc::new(AtomicBool::new(false));
        // Python's own handler runs as well.
        let id = sigint::hooked(|| signal_hook::flag::register(SIGINT, is_pressed.clone()))?;
        Ok(Some(Self { is_pressed, id }))
    }

    /// Runs a part of some work on this thread until it ends or Ctrl-C is pressed. `starts_anew` tells whether an
    /// earlier Ctrl-C does not count, because it has interrupted something else.
    pub(crate) fn during<T>(&self, starts_anew: bool, work: impl FnOnce() -> T) -> T {
        if starts_anew {
            self.is_pressed.store(false, Ordering::Relaxed);
        }
        let before = WATCHED.replace(Some(self.is_pressed.clone()));
        let done = work();
        WATCHED.set(before);
        done
    }

    pub(crate) fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }
}

impl Drop for InterruptWatch {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.id);
    }
}

/// Runs pending signal handlers from time to time, on threads that Python code called. On all threads, looks whether
/// Ctrl-C has been pressed during an [`InterruptWatch`]: Python runs no handler on other threads than the main one.
///
/// # Errors
/// Returns an error if a signal handler has raised an exception, or Ctrl-C has been pressed: the work must end.
pub(crate) fn hear() -> Result<()> {
    let Some(next) = NEXT.get() else {
        return check_watch();
    };
    if is_interrupted() {
        return Err(interrupted());
    }
    let now = Instant::now();
    if now < next {
        return Ok(());
    }
    NEXT.set(Some(now + HEARING));
    match attached(|py| py.check_signals()) {
        Ok(()) => check_watch(),
        Err(raised) => {
            RAISED.set(Some(raised));
            Err(interrupted())
        }
    }
}

/// Fails if Ctrl-C has been pressed during the watch of this thread.
fn check_watch() -> Result<()> {
    let is_pressed = |watched: &Arc<AtomicBool>| watched.load(Ordering::Relaxed);
    if WATCHED.with_borrow(|watched| watched.as_ref().is_some_and(is_pressed)) {
        Err(interrupted())
    } else {
        Ok(())
    }
}

/// Returns whether a signal handler has raised an exception.
pub(crate) fn is_interrupted() -> bool {
    RAISED.with_borrow(Option::is_some)
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Io, "interrupted by a signal")
}
