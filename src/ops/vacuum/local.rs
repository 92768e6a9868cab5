//! Stripe files of local folders that no directory refers to any more.

use super::VacuumOptions;
use crate::Shard;
use crate::error::{ErrorKind, Result, Within};
use crate::ops::place::FileRole;
use std::collections::HashSet;
use std::fs::{DirEntry, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that no directory refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedFile {
    /// Where it is, or was.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// Removes stripe files below a folder that no directory file in the folder or below refers to, and
/// lists them: files whose names end in `.amudai.stripe`. Shards under other names, temporary files and
/// files of other kinds stay.
///
/// Directory files outside of the folder are not looked at, so that it must be one that holds all of
/// them: a shard refers to files below its own folder.
///
/// ```no_run
/// use arrow_shard::ops::{VacuumOptions, vacuum};
/// for file in vacuum("tables", &VacuumOptions::default().with_dry_run(true))? {
///     println!("{}: {} bytes", file.path.display(), file.bytes);
/// }
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Those of the operating system, and of a directory file that is damaged: nothing is removed then.
pub fn vacuum(folder: impl AsRef<Path>, options: &VacuumOptions) -> Result<Vec<UnusedFile>> {
    let folder = folder.as_ref();
    // Before the directories: a stripe file that appears later is in use.
    let mut candidates = Vec::new();
    let mut directories = Vec::new();
    let root = folder.canonicalize().map_err(crate::Error::from);
    let mut open = vec![root.within(|| format!("folder `{}`", folder.display()))?];
    while let Some(folder) = open.pop() {
        let place = || format!("folder `{}`", folder.display());
        for entry in std::fs::read_dir(&folder)
            .map_err(crate::Error::from)
            .within(place)?
        {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                sort(&entry, options, &mut candidates, &mut directories)?;
            }
        }
    }
    let mut used = HashSet::new();
    let mut work = options.directories(directories.len());
    for directory in &directories {
        match Shard::open(directory) {
            Ok(shard) => used.extend(files(&shard, directory)?),
            Err(error) if error.kind() == ErrorKind::NotAShard => {}
            Err(error) => return Err(error),
        }
        work.add(1);
    }
    candidates.retain(|file: &UnusedFile| !used.contains(&file.path));
    candidates.sort_by(|a, b| a.path.cmp(&b.path));
    if !options.dry_run {
        for file in &candidates {
            let removed = std::fs::remove_file(&file.path).map_err(crate::Error::from);
            removed.within(|| format!("file `{}`", file.path.display()))?;
        }
    }
    Ok(candidates)
}

/// Whether a file may be removed, or may say which may not.
fn sort(
    entry: &DirEntry,
    options: &VacuumOptions,
    candidates: &mut Vec<UnusedFile>,
    directories: &mut Vec<PathBuf>,
) -> Result<()> {
    match FileRole::of(&entry.file_name()) {
        FileRole::Temporary => return Ok(()),
        FileRole::Shard => {
            directories.push(entry.path());
            return Ok(());
        }
        FileRole::Stripes => {}
    }
    let metadata = entry.metadata()?;
    if options.is_old(last_change(&metadata)?) {
        candidates.push(UnusedFile {
            path: entry.path(),
            bytes: metadata.len(),
        });
    }
    Ok(())
}

/// When a file was written, or was given this name: a second name is as good as new.
fn last_change(metadata: &Metadata) -> Result<SystemTime> {
    let written = metadata.modified()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let Ok(seconds) = u64::try_from(metadata.ctime()) {
            return Ok(
                written.max(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
            );
        }
    }
    Ok(written)
}

/// The files that a directory file refers to.
fn files(shard: &Shard, directory: &Path) -> Result<Vec<PathBuf>> {
    let folder = directory.parent().unwrap_or(Path::new("."));
    let urls = crate::read::now(shard.urls())?.into_iter();
    let path = urls.map(|url| {
        let names = url.segments();
        names.fold(folder.to_path_buf(), |path, name| path.join(name))
    });
    // A folder on the way may be a link. What is not there needs no name.
    Ok(path.filter_map(|path| path.canonicalize().ok()).collect())
}
