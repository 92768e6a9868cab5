//! The temporary files of this process, for programs that exit without dropping their values.

use crate::error::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tempfile::NamedTempFile;

/// The temporary files of all sinks that have not been dropped.
static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A commit of several files holds a read lock.
static COMMITS: RwLock<()> = RwLock::new(());

fn files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The entry of a temporary file in the list, which lives as long as the file.
#[derive(Debug)]
pub(super) struct Listed(PathBuf);

impl Listed {
    /// Creates a file and adds it to the list, while holding the lock of the list.
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

/// Whether a file is a temporary file of this process.
pub(super) fn is_listed(path: &Path) -> bool {
    files().contains(&absolute(path))
}

/// Returns the absolute path, because the program may change its working directory.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Makes [`discard_uncommitted`] wait until all files of a shard are visible.
pub(crate) fn commit_together() -> RwLockReadGuard<'static, ()> {
    COMMITS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Proof that the temporary files have been deleted. While this value lives, creating, committing or dropping a
/// [`LocalSink`](super::LocalSink) and finishing a [`ShardWriter`](crate::ShardWriter) block, so the thread that holds
/// it must do none of these.
#[derive(Debug)]
#[must_use = "sinks are created again as soon as it is dropped"]
pub struct Discarded {
    _commits: RwLockWriteGuard<'static, ()>,
    _files: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Deletes the temporary files of all uncommitted [`LocalSink`](super::LocalSink)s of this process. A program that
/// exits on a signal calls it, because its values are not dropped. If a shard of several files is being committed, the
/// function waits for the end of the commit, so that either all files exist or none.
///
/// The function takes locks and allocates memory, so call it from a thread that waits for signals, not from a signal
/// handler. Sinks that are still in use fail.
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
        // The file may have been committed or deleted in the meantime.
        let _ = std::fs::remove_file(file);
    }
    Discarded {
        _commits: commits,
        _files: files,
    }
}
