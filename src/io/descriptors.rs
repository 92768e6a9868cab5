//! The file descriptors that files of the process share.

use crate::error::is_out_of_descriptors;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pooled files that are open at a time at most. More would rarely save an `open`, which takes
/// microseconds.
pub(super) const MOST_OPEN: usize = 64;

/// The share of the descriptors of the process that pooled files may have: the rest is for the caller,
/// and for files that threads are reading while the pool closes them.
#[cfg(unix)]
const SHARE: u64 = 4;

/// An open file of the pool.
#[derive(Debug)]
pub(super) struct Open {
    file: File,
    /// Whether it was read since the pool last looked for one to close.
    is_used: AtomicBool,
}

impl Open {
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Notes that the file is being read.
    pub(super) fn mark(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }
}

/// The open files of the process, in the order in which the pool looks at them.
pub(super) static POOL: Mutex<VecDeque<Arc<Open>>> = Mutex::new(VecDeque::new());

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Neither the pool nor a file is left half changed, so another thread's panic does no harm.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a file to the pool, and closes others if there are too many. A file that was read since the
/// pool looked at it last gets another turn.
pub(super) fn keep(file: File) -> Arc<Open> {
    let open = Arc::new(Open {
        file,
        is_used: AtomicBool::new(true),
    });
    let most = most_open();
    let mut closed = Vec::new();
    let mut pool = lock(&POOL);
    // In the second turn, none of them is marked.
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
    // The system closes files after other threads may use the pool again.
    drop(closed);
    open
}

/// Tries to open a file again, after the files of the pool were closed, if the process has no descriptor
/// left for it.
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
    share.clamp(1, MOST_OPEN)
}

#[cfg(not(unix))]
fn most_open() -> usize {
    MOST_OPEN
}
