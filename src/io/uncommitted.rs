//! The temporary files of this process, for programs that end without dropping their values.

use crate::error::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tempfile::NamedTempFile;

/// The temporary files of all sinks that have not been dropped.
static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Read by those who make several files visible one after the other.
static COMMITS: RwLock<()> = RwLock::new(());

fn files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that a temporary file exists, for as long as it lives.
#[derive(Debug)]
pub(super) struct Listed(PathBuf);

impl Listed {
    /// Creates a file and lists it, with nobody looking in between.
    pub(super) fn create(
        create: impl FnOnce() -> Result<NamedTempFile>,
    ) -> Result<(NamedTempFile, Self)> {
        let mut files = files();
        let file = create()?;
        let path = absolute(file.path());
        files.insert(path.clone());
        Ok((file, Self(path)))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        files().remove(&self.0);
    }
}

/// Whether a file is a temporary one of this process.
pub(super) fn is_listed(path: &Path) -> bool {
    files().contains(&absolute(path))
}

/// The program may change its folder.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Keeps [`discard_uncommitted`] waiting until all files of a shard are visible.
pub(crate) fn commit_together() -> RwLockReadGuard<'static, ()> {
    COMMITS.read().unwrap_or_else(PoisonError::into_inner)
}

/// The temporary files are gone. As long as this lives, no [`LocalSink`](super::LocalSink) is created
/// and no shard of several files committed: whoever tries waits.
#[derive(Debug)]
#[must_use = "sinks are created again as soon as it is dropped"]
pub struct Discarded {
    _commits: RwLockWriteGuard<'static, ()>,
    _files: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Deletes the temporary files of all [`LocalSink`](super::LocalSink)s of this process that are not
/// committed. A program that is about to end on a signal calls it, because its values are not dropped
/// then. If a shard of several files is being committed, it waits until that is done, so that all of
/// them are there or none.
///
/// It takes locks and allocates: call it on a thread that waits for signals, not in a handler. Sinks
/// that are still in use fail.
///
/// ```no_run
/// # fn wait_for_signal() {}
/// std::thread::spawn(|| {
///     wait_for_signal();
///     let _discarded = arrow_shard::io::discard_uncommitted();
///     std::process::exit(1);
/// });
/// ```
pub fn discard_uncommitted() -> Discarded {
    let commits = COMMITS.write().unwrap_or_else(PoisonError::into_inner);
    let mut files = files();
    for file in std::mem::take(&mut *files) {
        // One that has been committed or deleted meanwhile is not there any more.
        let _ = std::fs::remove_file(file);
    }
    Discarded {
        _commits: commits,
        _files: files,
    }
}
