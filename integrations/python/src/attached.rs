//! Takes the interpreter's lock where pyo3 may be wrong about it.
//!
//! pyo3 counts per thread whether it holds the lock. A function of this module that Python called is counted. If it
//! calls Python code, and that code calls a library that releases the lock and reads a stream of ours, the count still
//! says that the lock is held: `Python::attach` would then use the interpreter without the lock.

use pyo3::ffi::{PyGILState_Ensure, PyGILState_Release, PyGILState_STATE};
use pyo3::prelude::*;

/// The interpreter's lock, taken by the interpreter's own count.
struct Lock(PyGILState_STATE);

impl Lock {
    #[expect(unsafe_code, reason = "pyo3 has no function that asks the interpreter")]
    fn take() -> Self {
        // SAFETY: this code is a part of an extension module, so the interpreter is initialized. A thread may take the
        // lock several times.
        Self(unsafe { PyGILState_Ensure() })
    }
}

impl Drop for Lock {
    #[expect(unsafe_code, reason = "see `take`")]
    fn drop(&mut self) {
        // SAFETY: `attached` creates and drops the lock on one thread.
        unsafe { PyGILState_Release(self.0) }
    }
}

/// Runs code with the interpreter's lock, on a thread that may hold it or not.
pub(crate) fn attached<T>(code: impl FnOnce(Python<'_>) -> T) -> T {
    let _lock = Lock::take();
    Python::attach(code)
}
