//! How far a change is that takes a while.

use crate::error::Result;
use std::fmt;
use std::sync::Arc;

/// How far a change of a shard is, or a vacuum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditProgress {
    /// Rows that are done, or directory files of a vacuum; `total` in the end.
    pub done: u64,
    /// All rows that are looked at or written anew, or all directory files.
    pub total: u64,
}

/// Who is told how far a change is, and may end it.
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

/// Rows, or files, of which some are done.
#[derive(Debug)]
pub(super) struct Work {
    listener: Option<Listener>,
    done: u64,
    total: u64,
}

impl Work {
    /// Of so much none is done.
    pub(super) fn new(listener: Option<Listener>, total: u64) -> Self {
        Self {
            listener,
            done: 0,
            total,
        }
    }

    /// There are so many more than was known.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(super) fn expect(&mut self, more: usize) {
        self.total += more as u64;
    }

    /// So many more are done.
    ///
    /// # Errors
    /// Those of whoever is told.
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
