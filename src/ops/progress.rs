//! How far a change is that takes a while.

use std::fmt;
use std::sync::Arc;

/// How far a change of a shard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditProgress {
    /// Rows that are done; `total` in the end.
    pub done: u64,
    /// All rows that are looked at or written anew.
    pub total: u64,
}

/// Who is told how far a change is.
#[derive(Clone)]
pub(super) struct Listener(pub(super) Arc<dyn Fn(EditProgress) + Send + Sync>);

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

/// Rows of which some are done.
#[derive(Debug)]
pub(super) struct Rows {
    listener: Option<Listener>,
    done: u64,
    total: u64,
}

impl Rows {
    /// Of so many rows none is done.
    pub(super) fn new(listener: Option<Listener>, total: u64) -> Self {
        Self {
            listener,
            done: 0,
            total,
        }
    }

    /// So many more are done.
    pub(super) fn add(&mut self, rows: usize) {
        self.done += rows as u64;
        if let Some(Listener(tell)) = &self.listener {
            tell(EditProgress {
                done: self.done,
                total: self.total,
            });
        }
    }
}
