//! Temporary files beside those that are written, and what is left of writers that were killed.
//!
//! A name tells whose a file is: `.arrow-shard.WRITER.tmp` is that of a writer, which holds a lock on it
//! for as long as it writes, and `.arrow-shard.WRITER-ANY.tmp` is another file of that writer, which may
//! be closed already.

use super::local_file::describe_folder;
use crate::error::{Result, Within};
use std::fs::{File, Permissions};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// How the name of a temporary file begins and ends.
const PREFIX: &str = ".arrow-shard.";
const SUFFIX: &str = ".tmp";

/// Age from which on a file that nobody holds is removed: some file systems have no locks.
const STALE: Duration = Duration::from_secs(60 * 60);

/// A new file in a folder, with these permissions or with those of any new file: that of `writer`, or of
/// a new one. Errors name the folder: nobody has heard of the file.
pub(super) fn create(
    folder: &Path,
    permissions: Option<&Permissions>,
    writer: Option<&str>,
) -> Result<NamedTempFile> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(permissions) = permissions {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(permissions.mode());
    }
    let prefix = match writer {
        Some(writer) => format!("{PREFIX}{writer}-"),
        None => PREFIX.to_owned(),
    };
    let create = || {
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(SUFFIX)
            // A file that the builder opens is its owner's only, and its errors name it.
            .make_in(folder, |path| options.open(path))?;
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            // The umask has no say in what somebody has chosen.
            file.as_file().set_permissions(permissions.clone())?;
        }
        if writer.is_none() {
            // Without locks, the age alone tells.
            drop(file.as_file().lock());
        }
        Ok(file)
    };
    create().within(|| format!("creating a file in {}", describe_folder(folder)))
}

/// Whether a file of that name is one that a sink has not committed.
pub(crate) fn is_temporary(name: &str) -> bool {
    writer_of(name).is_some()
}

/// The writer of a temporary file.
pub(super) fn writer_of(name: &str) -> Option<&str> {
    let writer = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    Some(writer.split_once('-').map_or(writer, |(writer, _)| writer))
}

/// Removes the files in a folder of writers that were killed, as far as that goes.
pub(super) fn remove_stale(folder: &Path) {
    let now = SystemTime::now();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(writer) = name.to_str().and_then(writer_of) else {
            continue;
        };
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let age = changed.map(|changed| now.duration_since(changed).unwrap_or_default());
        if age.is_ok_and(|age| age >= STALE) && !is_alive(folder, writer) {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a writer still has its file, or nobody knows.
fn is_alive(folder: &Path, writer: &str) -> bool {
    match File::open(folder.join(format!("{PREFIX}{writer}{SUFFIX}"))) {
        Ok(file) => file.try_lock().is_err(),
        Err(e) => e.kind() != std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a file as old as that.
    fn age(path: &Path, age: Duration) {
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn old_files_that_nobody_holds_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let live = create(folder, None, None).unwrap();
        let name = live.path().file_name().unwrap().to_str().unwrap();
        let writer = writer_of(name).unwrap().to_owned();
        let closed = create(folder, None, Some(&writer)).unwrap();
        let closed = closed.into_temp_path();
        assert_eq!(
            writer_of(closed.file_name().unwrap().to_str().unwrap()),
            Some(&*writer)
        );
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
        for file in [live.path(), &closed] {
            age(file, 2 * STALE);
        }
        remove_stale(folder);
        for file in &stale {
            assert!(!file.exists(), "{}", file.display());
        }
        for file in others
            .iter()
            .map(|file| &**file)
            .chain([&*young, live.path(), &closed])
        {
            assert!(file.exists(), "{}", file.display());
        }
        // The writer ends, and leaves what it had closed.
        drop(live);
        remove_stale(folder);
        assert!(!closed.exists());
    }
}
