//! Ctrl-C during a stream that another library reads. The stream can pass on only a text, so the library raises its own
//! exception with this text, and `KeyboardInterrupt` must follow.
//!
//! If the signal were set again, it would strike while Python prints the library's exception, and both messages would
//! be lost. Instead, this module schedules `KeyboardInterrupt` for the next line of Python code. If the program does
//! not catch the library's exception, there is no such line. Then a hook shows `KeyboardInterrupt` with the traceback
//! of the library's exception.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, PoisonError};

/// The text of the library's exception.
pub(crate) const TEXT: &str = "KeyboardInterrupt: a scan of a shard was interrupted";

/// The hook that was set before ours.
static PREVIOUS: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

/// Raises Ctrl-C again for the code that reads a stream. The caller is the thread that has received the signal.
pub(crate) fn raise_again(py: Python<'_>) -> PyResult<()> {
    if schedule(py, py.get_type::<PyKeyboardInterrupt>().as_any()).is_err() {
        py.import("_thread")?.call_method0("interrupt_main")?;
        return Ok(());
    }
    let mut previous = PREVIOUS.lock().unwrap_or_else(PoisonError::into_inner);
    if previous.is_none() {
        let system = py.import("sys")?;
        *previous = Some(system.getattr("excepthook")?.unbind());
        system.setattr("excepthook", wrap_pyfunction!(show, py)?)?;
    }
    Ok(())
}

/// Schedules an exception for the next line of Python code of this thread, or none.
fn schedule(py: Python<'_>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
    let thread = py.import("_thread")?.call_method0("get_ident")?;
    let ctypes = py.import("ctypes")?;
    let thread = ctypes.call_method1("c_ulong", (thread,))?;
    let object = if exception.is_none() {
        exception.clone()
    } else {
        ctypes.call_method1("py_object", (exception,))?
    };
    let functions = ctypes.getattr("pythonapi")?;
    functions.call_method1("PyThreadState_SetAsyncExc", (thread, object))?;
    Ok(())
}

/// Shows an uncaught exception. Code in Python would receive the scheduled exception, so this is a native function.
#[pyfunction]
fn show(py: Python<'_>, kind: Py<PyAny>, value: Py<PyAny>, traceback: Py<PyAny>) -> PyResult<()> {
    schedule(py, py.None().bind(py))?;
    let previous = PREVIOUS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(previous) = previous else {
        return Ok(());
    };
    let previous = previous.into_bound(py);
    py.import("sys")?
        .setattr(intern!(py, "excepthook"), &previous)?;
    let is_ours = value.bind(py).str()?.to_string().contains(TEXT);
    let shown = if is_ours {
        let interrupt = PyKeyboardInterrupt::new_err(()).into_value(py);
        interrupt.setattr(py, intern!(py, "__traceback__"), &traceback)?;
        let kind = py.get_type::<PyKeyboardInterrupt>().into_any();
        PyTuple::new(
            py,
            [
                kind,
                interrupt.into_bound(py).into_any(),
                traceback.into_bound(py),
            ],
        )?
    } else {
        PyTuple::new(py, [kind, value, traceback])?
    };
    previous.call1(shown)?;
    Ok(())
}
