//! Removes files of local folders that no directory refers to.

use super::VacuumOptions;
use super::other_format::{HEAD_BYTES, TAIL_BYTES, doubtful, is_other_format};
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::MAGIC;
use crate::io::{is_abandoned_temporary, is_own_stripe_file};
use crate::ops::place::{FileRole, is_of_another_kind};
use crate::ops::source::node_ids;
use crate::read::now;
use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that no directory refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedFile {
    /// The path of the file, which is removed unless this is a dry run.
    pub path: PathBuf,
    /// The size in bytes.
    pub bytes: u64,
}

/// Finds files below a folder that this crate wrote and that no shard needs, and removes them unless
/// [`with_dry_run`](VacuumOptions::with_dry_run) is set. Returns these files:
///
/// * Stripe files that no directory file in the folder or its subfolders refers to. A stripe file begins with the
///   header of the format, and its name is a hexadecimal number and `.amudai.stripe`. Only references of directory
///   files count, not the list of URLs in them.
/// * Temporary files (`.arrow-shard.….tmp`) of killed writers, if no process has them open and they are at least an
///   hour old. A temporary file that is a complete shard stays, and so do the files that it refers to.
///
/// All other files stay.
///
/// Directory files outside of the folder are not read, so the folder must contain all of them: a shard refers only to
/// files in its own folder and in subfolders.
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
/// Fails without removing anything if a directory file cannot be read, with the error of the read. If there are stripe
/// files to remove, a file that may be a damaged directory file is also an error:
/// [`NotAShard`](ErrorKind::NotAShard) for a file that is empty, or is neither text nor of a known format. Other errors
/// are errors of the operating system.
pub fn vacuum(folder: impl AsRef<Path>, options: &VacuumOptions) -> Result<Vec<UnusedFile>> {
    let folder = folder.as_ref();
    let root = folder.canonicalize().map_err(Error::from);
    let root = root.within(|| format!("folder `{}`", folder.display()))?;
    // Listed before the directories are read: a stripe file that appears later is in use.
    let Files {
        mut candidates,
        mut directories,
    } = Files::below(&root)?;
    candidates.retain(|file| options.is_old(file.changed));
    let (mut used, mut read) = (HashSet::new(), HashSet::new());
    let mut doubts = Vec::new();
    let mut work = options.directories();
    // Until a listing has no new directory: a directory that appeared during the reads may have taken over stripes.
    loop {
        directories.retain(|directory| !read.contains(directory));
        if directories.is_empty() {
            break;
        }
        work.expect(directories.len());
        for directory in directories {
            match used_by(&directory, options)? {
                Found::Shard(files) => {
                    used.extend(files);
                    // The shard may be a temporary file, and itself a candidate.
                    used.insert(directory.path.clone());
                }
                Found::Other => {}
                Found::Doubt => doubts.push(directory.path.clone()),
            }
            read.insert(directory);
            work.add(1)?;
        }
        directories = Files::below(&root)?.directories;
    }
    let mut unused = Vec::new();
    for file in candidates.iter().filter(|file| !used.contains(&file.path)) {
        if file.role == FileRole::Temporary {
            unused.push(file);
        } else if begins_with_magic(&file.path)? {
            // A file that no longer exists does not matter.
            match doubts.iter().find(|doubt| doubt.exists()) {
                Some(doubt) => return Err(doubtful().within(place(doubt))),
                None => unused.push(file),
            }
        }
    }
    unused.sort_by(|a, b| a.path.cmp(&b.path));
    if !options.dry_run {
        for file in &unused {
            let removed = std::fs::remove_file(&file.path).map_err(Error::from);
            removed.within(|| place(&file.path))?;
        }
    }
    let unused = unused.into_iter().map(|file| UnusedFile {
        path: file.path.clone(),
        bytes: file.bytes,
    });
    Ok(unused.collect())
}

fn place(path: &Path) -> String {
    format!("file `{}`", path.display())
}

/// A file at the time of the listing.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Listed {
    path: PathBuf,
    role: FileRole,
    bytes: u64,
    changed: SystemTime,
    /// The number of the file that had this name.
    inode: u64,
}

/// The files of a folder and its subfolders, classified by name.
#[derive(Debug, Default)]
struct Files {
    /// Files that may be unused.
    candidates: Vec<Listed>,
    /// Files that may refer to others, and files of other formats.
    directories: Vec<Listed>,
}

impl Files {
    fn below(root: &Path) -> Result<Self> {
        let mut files = Self::default();
        let mut open = vec![root.to_path_buf()];
        while let Some(folder) = open.pop() {
            let place = || format!("folder `{}`", folder.display());
            for entry in std::fs::read_dir(&folder)
                .map_err(Error::from)
                .within(place)?
            {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    open.push(entry.path());
                } else if kind.is_file() {
                    files.add(entry.path())?;
                } else if kind.is_symlink()
                    && let Ok(path) = entry.path().canonicalize()
                    && path.is_file()
                {
                    // The target of a link is read, but never removed by the name of the link.
                    files.directories.extend(listed(path)?);
                }
            }
        }
        Ok(files)
    }

    fn add(&mut self, path: PathBuf) -> Result<()> {
        let Some(file) = listed(path)? else {
            return Ok(());
        };
        match file.role {
            FileRole::Stripes if is_own(&file.path) => self.candidates.push(file),
            FileRole::Shard | FileRole::Stripes => self.directories.push(file),
            FileRole::Temporary => {
                if is_abandoned_temporary(&file.path) {
                    self.candidates.extend(listed(file.path.clone())?);
                }
                self.directories.push(file);
            }
        }
        Ok(())
    }
}

/// Whether the name of a stripe file is one that this crate generates.
fn is_own(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(is_own_stripe_file)
}

/// Returns the present state of a file, or `None` if it no longer exists.
fn listed(path: PathBuf) -> Result<Option<Listed>> {
    let metadata = match path.symlink_metadata().map_err(Error::from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        metadata => metadata.within(|| place(&path))?,
    };
    Ok(Some(Listed {
        role: path.file_name().map_or(FileRole::Shard, FileRole::of),
        bytes: metadata.len(),
        changed: last_change(&metadata).within(|| place(&path))?,
        inode: inode(&metadata),
        path,
    }))
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// Returns the time when a file was written or got this name, whichever is later: a file with a new name counts as new.
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

/// The result of reading a file.
enum Found {
    /// A shard that refers to these files.
    Shard(Vec<PathBuf>),
    /// A file that refers to no others.
    Other,
    /// A file that may be a damaged shard.
    Doubt,
}

fn used_by(file: &Listed, options: &VacuumOptions) -> Result<Found> {
    use ErrorKind::{Corrupt, NotAShard, NotFound};
    let path = &file.path;
    match Shard::open_with(path, options.shard_options()) {
        Ok(shard) => files(&shard, path).map(Found::Shard),
        // A writer may be writing the file, or may have renamed it.
        Err(error)
            if file.role == FileRole::Temporary
                && matches!(error.kind(), Corrupt | NotAShard | NotFound) =>
        {
            Ok(Found::Other)
        }
        // A data file of a stripe has no directory.
        Err(error)
            if file.role == FileRole::Stripes && matches!(error.kind(), Corrupt | NotAShard) =>
        {
            Ok(Found::Other)
        }
        Err(error) if is_of_another_kind(&path.to_string_lossy(), &error) => {
            if other_format(path).within(|| place(path))? {
                Ok(Found::Other)
            } else {
                Ok(Found::Doubt)
            }
        }
        Err(error) => Err(error),
    }
}

/// Returns the files that a directory file refers to.
fn files(shard: &Shard, directory: &Path) -> Result<Vec<PathBuf>> {
    let folder = directory.parent().unwrap_or(Path::new("."));
    let references = async { shard.references(&node_ids(shard).await?).await };
    let urls = now(references).within(|| place(directory))?.into_iter();
    let path = urls.map(|url| {
        let names = url.segments();
        names.fold(folder.to_path_buf(), |path, name| path.join(name))
    });
    // Resolves links to folders on the path. A file that does not exist needs no protection.
    Ok(path.filter_map(|path| path.canonicalize().ok()).collect())
}

/// Whether the content shows that a file has another format.
fn other_format(path: &Path) -> Result<bool> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut head = Vec::new();
    file.by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES as u64)))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES as u64).read_to_end(&mut tail)?;
    Ok(is_other_format(&head, &tail))
}

/// Whether a file begins with the header of a shard. False if it no longer exists.
fn begins_with_magic(path: &Path) -> Result<bool> {
    let mut head = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    match read.map_err(Error::from) {
        Ok(()) => Ok(head == MAGIC),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(_) if path.metadata().is_ok_and(|found| found.len() < 4) => Ok(false),
        Err(error) => Err(error.within(place(path))),
    }
}
