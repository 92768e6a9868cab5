//! The work of long operations.

use crate::error::Result;
use crate::progress::{Listener, Progress};

/// The total and the finished number of rows or files.
#[derive(Debug, Default)]
pub(super) struct WorkProgress {
    listener: Listener,
    done: u64,
    total: u64,
}

impl WorkProgress {
    /// Returns work of `total` units, none of them done.
    pub(super) fn new(listener: Listener, total: u64) -> Self {
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
    /// Returns [`Stopped`](crate::ErrorKind::Stopped) if the listener stops the operation.
    pub(super) fn add(&mut self, more: usize) -> Result<()> {
        self.set(self.done + more as u64)
    }

    /// Sets the number of finished units, and calls the listener.
    ///
    /// # Errors
    /// Returns [`Stopped`](crate::ErrorKind::Stopped) if the listener stops the operation.
    pub(super) fn set(&mut self, done: u64) -> Result<()> {
        self.done = done;
        let progress = Progress {
            done,
            total: self.total,
            field: None,
        };
        self.listener.check(progress)
    }
}
