//! The pool of open files that the process shares.

use crate::error::is_out_of_descriptors;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of open pooled files. A larger pool would rarely save an `open`, which takes microseconds.
pub(super) const MAX_OPEN_FILES: usize = 64;

/// Pooled files use at most one in this many descriptors of the process. The others are for the caller, and for files
/// that are still being read when the pool closes them.
#[cfg(unix)]
const SHARE: u64 = 4;

/// An open file of the pool.
#[derive(Debug)]
pub(super) struct Open {
    file: File,
    /// Whether the file was read since the pool last considered closing it.
    is_used: AtomicBool,
}

impl Open {
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Marks the file as used.
    pub(super) fn mark(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }
}

/// The open files of the process, in the order in which the pool considers closing them.
pub(super) static POOL: Mutex<VecDeque<Arc<Open>>> = Mutex::new(VecDeque::new());

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic never leaves the pool or a file half changed, so a poisoned lock does no harm.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a file to the pool, and closes others if there are too many. A file that was read since the pool last
/// considered closing it is kept for another round.
pub(super) fn keep(file: File) -> Arc<Open> {
    let open = Arc::new(Open {
        file,
        is_used: AtomicBool::new(true),
    });
    let most = most_open();
    let mut closed = Vec::new();
    let mut pool = lock(&POOL);
    // Two rounds suffice: the first one clears all marks.
    for _ in 0..2 * pool.len() {
        if pool.len() < most {
            break;
        }
        match pool.pop_front() {
            Some(first) if first.is_used.swap(false, Ordering::Relaxed) => pool.push_back(first),
            Some(first) => closed.push(first),
            None => break,
        }
    }
    pool.push_back(open.clone());
    drop(pool);
    // Closing takes time, so it happens after the lock is released.
    drop(closed);
    open
}

/// Opens a file. If the process has no descriptor left, closes the pooled files and tries again.
pub(super) fn with_descriptor<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if is_out_of_descriptors(&error) => {
            let all = std::mem::take(&mut *lock(&POOL));
            drop(all);
            open()
        }
        opened => opened,
    }
}

#[cfg(unix)]
fn most_open() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::Nofile).current;
    let share = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit / SHARE).unwrap_or(usize::MAX)
    });
    share.clamp(1, MAX_OPEN_FILES)
}

#[cfg(not(unix))]
fn most_open() -> usize {
    MAX_OPEN_FILES
}
