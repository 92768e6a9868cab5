//! Progress of long-running edits.

use crate::error::Result;
use std::fmt;
use std::sync::Arc;

/// The progress of an edit or a vacuum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditProgress {
    /// Number of rows done, or of directory files for a vacuum. It reaches `total`.
    pub done: u64,
    /// Number of rows to test or rewrite, or of directory files.
    pub total: u64,
}

/// The callback of the caller that receives the progress, and may stop the operation.
#[derive(Clone)]
pub(super) struct Listener(Arc<dyn Fn(EditProgress) -> Result<()> + Send + Sync>);

impl Listener {
    pub(super) fn new(listen: impl Fn(EditProgress) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(listen))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl PartialEq for Listener {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The total and the finished number of rows or files.
#[derive(Debug)]
pub(super) struct Work {
    listener: Option<Listener>,
    done: u64,
    total: u64,
}

impl Work {
    /// Returns work of `total` units, none of them done.
    pub(super) fn new(listener: Option<Listener>, total: u64) -> Self {
        Self {
            listener,
            done: 0,
            total,
        }
    }

    /// Adds `more` units to the total.
    pub(super) fn expect(&mut self, more: usize) {
        self.total += more as u64;
    }

    /// Adds `more` finished units, and calls the listener.
    ///
    /// # Errors
    /// Returns the error of the listener, which stops the operation.
    pub(super) fn add(&mut self, more: usize) -> Result<()> {
        self.done += more as u64;
        match &self.listener {
            None => Ok(()),
            Some(Listener(tell)) => tell(EditProgress {
                done: self.done,
                total: self.total,
            }),
        }
    }
}
