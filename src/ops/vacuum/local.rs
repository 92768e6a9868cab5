//! Stripe files of local folders that no directory refers to any more.

use super::VacuumOptions;
use crate::Shard;
use crate::error::{Result, Within};
use crate::ops::place::{FileRole, is_of_another_kind};
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
    let root = folder.canonicalize().map_err(crate::Error::from);
    let root = root.within(|| format!("folder `{}`", folder.display()))?;
    // Before the directories: a stripe file that appears later is in use.
    let Files {
        mut stripes,
        mut directories,
    } = Files::below(&root)?;
    stripes.retain(|file| options.is_old(file.changed));
    let (mut used, mut read) = (HashSet::new(), HashSet::new());
    let mut work = options.directories();
    // Until there are none that were not read: while one was, another may have taken over its stripes.
    loop {
        directories.retain(|directory| !read.contains(directory));
        if directories.is_empty() {
            break;
        }
        work.expect(directories.len());
        for directory in directories {
            match Shard::open(&directory.path) {
                Ok(shard) => used.extend(files(&shard, &directory.path)?),
                Err(e) if is_of_another_kind(&directory.path.to_string_lossy(), &e) => {}
                Err(e) => return Err(e),
            }
            read.insert(directory);
            work.add(1)?;
        }
        directories = Files::below(&root)?.directories;
    }
    let unused = stripes
        .into_iter()
        .filter(|file| !used.contains(&file.path));
    let mut unused: Vec<UnusedFile> = unused
        .map(|file| UnusedFile {
            path: file.path,
            bytes: file.bytes,
        })
        .collect();
    unused.sort_by(|a, b| a.path.cmp(&b.path));
    if !options.dry_run {
        for file in &unused {
            let removed = std::fs::remove_file(&file.path).map_err(crate::Error::from);
            removed.within(|| format!("file `{}`", file.path.display()))?;
        }
    }
    Ok(unused)
}

/// A file, as it was when the folder was listed.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Listed {
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
    /// Which file had the name.
    inode: u64,
}

/// The files of a folder and those below, as their names tell them apart.
#[derive(Debug, Default)]
struct Files {
    stripes: Vec<Listed>,
    /// Directory files, and those of other kinds.
    directories: Vec<Listed>,
}

impl Files {
    fn below(root: &Path) -> Result<Self> {
        let mut files = Self::default();
        let mut open = vec![root.to_path_buf()];
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
                    let to = match FileRole::of(&entry.file_name()) {
                        FileRole::Temporary => continue,
                        FileRole::Shard => &mut files.directories,
                        FileRole::Stripes => &mut files.stripes,
                    };
                    to.push(listed(&entry)?);
                }
            }
        }
        Ok(files)
    }
}

fn listed(entry: &DirEntry) -> Result<Listed> {
    let path = entry.path();
    let place = || format!("file `{}`", path.display());
    let metadata = entry.metadata().map_err(crate::Error::from).within(place)?;
    Ok(Listed {
        bytes: metadata.len(),
        changed: last_change(&metadata).within(place)?,
        inode: inode(&metadata),
        path,
    })
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
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
