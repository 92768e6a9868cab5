//! Temporary files for unfinished outputs, and the removal of files that killed writers left.
//!
//! The name of a file identifies its writer: `.arrow-shard.WRITER.tmp` is the first file of a writer, and
//! `.arrow-shard.WRITER-ANY.tmp` another one, which may be closed already. Files are locked while they are open. Other
//! machines may not see locks, so a writer updates the time of its first file whenever it closes another file.

use super::local_file::describe_folder;
use super::names::{TEMPORARY_PREFIX as PREFIX, TEMPORARY_SUFFIX as SUFFIX, writer_of};
use super::uncommitted_files::{absolute, is_listed};
use crate::error::{Result, Within};
use std::collections::BTreeMap;
use std::fs::{File, Metadata, Permissions, symlink_metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};
use tempfile::NamedTempFile;

/// Minimum age of an unlocked file to be removed, and the interval at which a process looks for such files.
const STALE: Duration = Duration::from_secs(60 * 60);

/// The writer of temporary files, which may own several.
#[derive(Debug, Clone)]
pub(super) struct TemporaryWriter {
    name: String,
    /// The first file, while it is open.
    first: Weak<File>,
}

impl TemporaryWriter {
    /// Returns the writer with the file at `path` as its first file.
    pub(super) fn of_first(path: &Path, file: &Arc<File>) -> Self {
        let name = path.file_name().and_then(|name| name.to_str());
        Self {
            name: name.and_then(writer_of).unwrap_or_default().to_owned(),
            first: Arc::downgrade(file),
        }
    }

    /// Whether the first file is open. It protects the writer's closed files from removal.
    pub(super) fn is_open(&self) -> bool {
        self.first.strong_count() > 0
    }

    /// Updates the time of the first file, to show that the writer is active.
    pub(super) fn touch(&self) {
        if let Some(first) = self.first.upgrade() {
            // If this fails, the lock still protects the files from processes on the same machine.
            let _ = first.set_modified(SystemTime::now());
        }
    }
}

/// Creates a temporary file in a folder, with these permissions or the default ones. It belongs to `writer`, or to a
/// new writer. The file is locked, if locks are supported. Errors name the folder, because the user does not know the
/// file.
pub(super) fn create(
    folder: &Path,
    permissions: Option<&Permissions>,
    writer: Option<&TemporaryWriter>,
) -> Result<NamedTempFile> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(permissions) = permissions {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(permissions.mode());
    }
    let prefix = match writer {
        Some(writer) => format!("{PREFIX}{}-", writer.name),
        None => PREFIX.to_owned(),
    };
    let create = || {
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(SUFFIX)
            // By default, the builder makes the file accessible only to its owner, and its errors name the file.
            .make_in(folder, |path| options.open(path))?;
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            // The umask must not restrict explicit permissions.
            file.as_file().set_permissions(permissions.clone())?;
        }
        // No other process has the file, so the lock fails only if locks are unsupported. Then no temporary file is
        // ever removed as stale.
        let _ = file.as_file().try_lock();
        Ok(file)
    };
    create().within(|| format!("creating a file in {}", describe_folder(folder)))
}

/// Removes the files of killed writers from a folder, unless this process has checked the folder recently. Errors are
/// ignored.
pub(super) fn remove_stale(folder: &Path) {
    if is_due(folder) {
        sweep(folder);
    }
}

/// Whether the folder has not been checked for a while. Marks it as checked now.
fn is_due(folder: &Path) -> bool {
    static LOOKED: Mutex<BTreeMap<PathBuf, Instant>> = Mutex::new(BTreeMap::new());
    let now = Instant::now();
    let mut looked = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    looked.retain(|_, then| now.duration_since(*then) < STALE);
    let folder = absolute(folder);
    let is_due = !looked.contains_key(&folder);
    if is_due {
        looked.insert(folder, now);
    }
    is_due
}

fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_abandoned_temporary(&path) {
            // Another process may have removed the file.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether a file is a temporary file of a writer that was killed at least an hour ago.
pub(crate) fn is_abandoned_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(writer) = name.and_then(writer_of) else {
        return false;
    };
    let first = path.with_file_name(format!("{PREFIX}{writer}{SUFFIX}"));
    !is_listed(path) && is_abandoned(path) == Some(true) && is_abandoned(&first) != Some(false)
}

/// Whether a file is old and no process holds it, or `None` if it does not exist.
fn is_abandoned(path: &Path) -> Option<bool> {
    let metadata = match symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(e) => return (e.kind() != ErrorKind::NotFound).then_some(false),
    };
    // A writer creates only regular files, and opening something else might block forever.
    if !metadata.is_file() {
        return None;
    }
    if !is_old(&metadata) {
        return Some(false);
    }
    // Some file systems require write access for locks.
    let writable = File::options().read(true).write(true).open(path);
    match writable.or_else(|_| File::open(path)) {
        // If locks are unsupported, this is an error, too, and the file counts as held.
        Ok(file) => Some(file.try_lock().is_ok()),
        Err(e) => (e.kind() != ErrorKind::NotFound).then_some(false),
    }
}

fn is_old(metadata: &Metadata) -> bool {
    let now = SystemTime::now();
    let age = |changed| now.duration_since(changed).unwrap_or_default();
    metadata
        .modified()
        .is_ok_and(|changed| age(changed) >= STALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a file look this old.
    fn age(path: &Path, age: Duration) {
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    /// Creates a writer with its first file.
    fn begin(folder: &Path) -> (Arc<File>, tempfile::TempPath, TemporaryWriter) {
        let (file, path) = create(folder, None, None).unwrap().into_parts();
        let file = Arc::new(file);
        let writer = TemporaryWriter::of_first(&path, &file);
        (file, path, writer)
    }

    #[test]
    fn old_files_that_nobody_holds_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (file, live, writer) = begin(folder);
        let closed = create(folder, None, Some(&writer)).unwrap();
        let closed = closed.into_temp_path();
        let open = create(folder, None, Some(&writer)).unwrap();
        let name = closed.file_name().unwrap().to_str().unwrap();
        assert_eq!(writer_of(name), Some(&*writer.name));
        let young = folder.join(".arrow-shard.young1.tmp");
        let others = ["mine.tmp", ".arrow-shard.txt", "t.shard"].map(|name| folder.join(name));
        let stale = [
            ".arrow-shard.killed.tmp",
            ".arrow-shard.killed-abc.tmp",
            ".arrow-shard.gone-1.tmp",
        ];
        let stale = stale.map(|name| folder.join(name));
        for file in stale.iter().chain(&others).chain([&young]) {
            std::fs::write(file, "x").unwrap();
            age(file, 2 * STALE);
        }
        age(&young, STALE / 2);
        for file in [&*live, &closed, open.path()] {
            age(file, 2 * STALE);
        }
        sweep(folder);
        for file in &stale {
            assert!(!file.exists(), "{}", file.display());
        }
        let kept = others.iter().map(|file| &**file);
        for file in kept.chain([&*young, &*live, &closed, open.path()]) {
            assert!(file.exists(), "{}", file.display());
        }
        // The first file is closed, so closed files are no longer protected.
        assert!(writer.is_open());
        drop((file, live));
        assert!(!writer.is_open());
        sweep(folder);
        assert!(!closed.exists() && open.path().exists());
    }

    /// Simulates a process on another machine, which does not see the lock.
    #[test]
    fn a_writer_that_was_at_work_keeps_its_old_files() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (file, path, writer) = begin(folder);
        let closed = create(folder, None, Some(&writer)).unwrap();
        let closed = closed.into_temp_path();
        file.unlock().unwrap();
        for path in [&*path, &*closed] {
            age(path, 2 * STALE);
        }
        writer.touch();
        sweep(folder);
        assert!(path.exists() && closed.exists());
        age(&path, 2 * STALE);
        sweep(folder);
        assert!(!path.exists() && !closed.exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let path = |name: &str| folder.join(name);
        let pipe = std::process::Command::new("mkfifo")
            .arg(path(".arrow-shard.a.tmp"))
            .status();
        assert!(pipe.unwrap().success());
        std::os::unix::fs::symlink("elsewhere", path(".arrow-shard.b.tmp")).unwrap();
        std::fs::create_dir(path(".arrow-shard.c.tmp")).unwrap();
        let old = path(".arrow-shard.a-1.tmp");
        std::fs::write(&old, "x").unwrap();
        age(&old, 2 * STALE);
        let then = SystemTime::now() - 2 * STALE;
        let pipe = File::options()
            .read(true)
            .write(true)
            .open(path(".arrow-shard.a.tmp"));
        pipe.unwrap().set_modified(then).unwrap();
        let (done, swept) = std::sync::mpsc::channel();
        let (whole, sender) = (folder.to_path_buf(), done);
        std::thread::spawn(move || {
            sweep(&whole);
            sender.send(()).unwrap();
        });
        swept.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 3);
        assert!(!old.exists());
    }

    #[test]
    fn a_folder_is_looked_at_once_in_a_while() {
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        assert!(is_due(first.path()) && is_due(second.path()));
        assert!(!is_due(first.path()) && !is_due(second.path()));
    }
}
