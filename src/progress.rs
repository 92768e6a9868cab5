//! The progress of long operations, and the callback of the caller that follows it.

use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// The progress of a long operation: the argument of the callback that `with_progress` sets in the options of the
/// operation. The callback stops the operation by returning [`ControlFlow::Break`].
///
/// Clones of options share the callback, and its calls never overlap: if two operations use clones, one waits until
/// the call of the other returns. So a callback must neither run an operation with a clone of its own options, nor wait
/// for threads that do.
///
/// ```no_run
/// use arrow_shard::ops::{CompactOptions, compact};
/// use std::ops::ControlFlow;
/// use std::time::{Duration, Instant};
/// let end = Instant::now() + Duration::from_secs(60);
/// let options = CompactOptions::default().with_progress(move |progress| {
///     println!("{} of {} rows", progress.done, progress.total);
///     if Instant::now() < end {
///         ControlFlow::Continue(())
///     } else {
///         ControlFlow::Break(())
///     }
/// });
/// compact("flights.amudai.shard", options)?;
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// A stopped operation changes nothing and fails with [`Stopped`](crate::ErrorKind::Stopped). Only a stopped
/// [verification](crate::Shard::verify_with) returns a result, the report so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Number of finished units: rows, files or columns, as the method `with_progress` says. It reaches `total`.
    pub done: u64,
    /// Number of all units. It may grow while the operation finds more of them.
    pub total: u64,
    /// The column that a verification or an inspection has just finished; `None` in other operations.
    pub field: Option<&'a str>,
}

/// The callback that follows an operation, if the caller has set one.
#[derive(Clone, Default)]
pub(crate) struct Listener(Option<Arc<Callback>>);

type Callback = Mutex<dyn FnMut(Progress<'_>) -> ControlFlow<()> + Send>;

impl Listener {
    pub(crate) fn new(
        progress: impl FnMut(Progress<'_>) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        Self(Some(Arc::new(Mutex::new(progress))))
    }

    /// Calls the callback. Returns whether the operation goes on.
    pub(crate) fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        match &self.0 {
            Some(callback) => {
                let mut callback = callback.lock().unwrap_or_else(PoisonError::into_inner);
                callback(progress)
            }
            None => ControlFlow::Continue(()),
        }
    }

    /// Calls the callback, for an operation that fails when it is stopped.
    ///
    /// # Errors
    /// Returns [`Stopped`](ErrorKind::Stopped) if the callback breaks.
    pub(crate) fn check(&self, progress: Progress<'_>) -> Result<()> {
        match self.report(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::new(
                ErrorKind::Stopped,
                "the callback of `with_progress` has stopped the operation",
            )),
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Listeners are equal if they are clones.
impl PartialEq for Listener {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl Eq for Listener {}

/// Implements `with_progress` for options with a field `listener`. The documentation says when the operation calls the
/// callback, and which units it counts.
macro_rules! with_progress {
    ($options:ident, $(#[$doc:meta])*) => {
        impl $options {
            $(#[$doc])*
            #[must_use]
            pub fn with_progress(
                mut self,
                progress: impl FnMut($crate::Progress<'_>) -> std::ops::ControlFlow<()> + Send + 'static,
            ) -> Self {
                self.listener = $crate::progress::Listener::new(progress);
                self
            }
        }
    };
}

pub(crate) use with_progress;
