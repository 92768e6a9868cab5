//! Reports the progress of long calls to a Python function or a bar.

use crate::attached::attached;
use crate::signals::{hear, is_interrupted};
use arrow_schema::ArrowError;
use arrow_shard::{Error, Progress, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// What the argument `progress` of a call asks for.
pub(crate) struct Follower {
    callback: Option<Arc<Py<PyAny>>>,
    /// Whether the callback is a bar, which is closed at the end.
    is_bar: bool,
    /// The exception of the callback, which has stopped the operation.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Follower {
    /// Returns a follower: none for `None` and `False`, a bar of tqdm for `True`, or a function that is called with the
    /// number of units done, and of all units if it is known.
    pub(crate) fn of(progress: Option<&Bound<'_, PyAny>>, unit: &str) -> PyResult<Self> {
        let mut is_bar = false;
        let callback = match progress {
            None => None,
            Some(value) if value.is_instance_of::<PyBool>() => {
                is_bar = value.is_truthy()?;
                let module = value.py().import("arrow_shard._progress")?;
                let bar = || module.call_method1("bar", (unit,));
                is_bar.then(bar).transpose()?
            }
            Some(value) if value.is_callable() => Some(value.clone()),
            Some(value) => {
                let found = value.get_type().name()?;
                let message = format!("progress: expected a bool or a function, found {found}");
                return Err(PyTypeError::new_err(message));
            }
        };
        Ok(Self {
            callback: callback.map(|callback| Arc::new(callback.unbind())),
            is_bar,
            raised: Arc::default(),
        })
    }

    /// Returns a function that follows an operation. It stops the operation if the callback or a signal handler raises
    /// an exception.
    pub(crate) fn listener(
        &self,
    ) -> impl FnMut(Progress<'_>) -> ControlFlow<()> + Send + use<> + 'static {
        let (callback, raised) = (self.callback.clone(), self.raised.clone());
        move |progress| {
            // A signal may have arrived without a read after it, which would have noticed it.
            if hear().is_err() || is_interrupted() {
                return ControlFlow::Break(());
            }
            let Some(callback) = &callback else {
                return ControlFlow::Continue(());
            };
            let done = (progress.done, progress.total);
            match attached(|py| callback.call1(py, done).map(drop)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    ControlFlow::Break(())
                }
            }
        }
    }

    /// Tells how many units are done.
    ///
    /// # Errors
    /// Returns the exception of the callback.
    pub(crate) fn tell(&self, done: u64, total: Option<u64>) -> Result<()> {
        let Some(callback) = &self.callback else {
            return Ok(());
        };
        attached(|py| callback.call1(py, (done, total)).map(drop))
            .map_err(|raised| Error::from(ArrowError::ExternalError(Box::new(raised))))
    }

    /// Closes the bar. Returns the result of the operation, or the exception of the callback that has stopped it.
    pub(crate) fn end<T>(self, py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
        if self.is_bar
            && let Some(bar) = &self.callback
        {
            bar.call_method0(py, "close")?;
        }
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match raised.take() {
            Some(raised) => Err(raised),
            None => result,
        }
    }
}
