//! The files of folders, either local or in a store.

use crate::failure::Failure;
use arrow_shard::Result;
use arrow_shard::io::{Location, Store};
use arrow_shard::ops::list_files_async;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Lists the files of a folder and its subfolders, sorted and without hidden ones. Each comes with its path below the
/// folder, or its whole path if a symbolic link leads elsewhere.
pub(crate) async fn files_below(folder: &Location) -> Result<Vec<(Location, PathBuf)>> {
    let files = list_files_async(folder.clone()).await?;
    let root = folder.path().and_then(|path| path.canonicalize().ok());
    let root = root.unwrap_or_else(|| PathBuf::from(folder.name()));
    let below = |file: Location| {
        let path = Path::new(file.name());
        let path = path.strip_prefix(&root).unwrap_or(path).to_owned();
        (file, path)
    };
    Ok(files.into_iter().map(below).collect())
}

/// Lists the files of a local folder and its subfolders, as [`files_below`] does. Adds the errors of subfolders that
/// cannot be read, and lists the others.
///
/// # Errors
/// Fails if the folder itself cannot be read.
pub(crate) fn local_files_below(
    folder: &Path,
    failures: &mut Vec<Failure>,
) -> io::Result<Vec<(Location, PathBuf)>> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", folder.display()));
    let root = folder.canonicalize().map_err(named)?;
    let mut paths = Vec::new();
    let walk = WalkDir::new(&root).into_iter();
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name())) {
        match entry {
            Ok(entry) => paths.extend(file_of(&entry, &root)),
            Err(error) => {
                let below = error.path().and_then(|path| path.strip_prefix(&root).ok());
                let place = folder.join(below.unwrap_or(Path::new("")));
                let is_root = error.depth() == 0;
                // Only links that are followed fail without an error of the system.
                let Some(error) = error.into_io_error() else {
                    continue;
                };
                if is_root {
                    return Err(named(error));
                }
                failures.push(Failure::from(error).within(place.display()));
            }
        }
    }
    paths.sort();
    // A symbolic link and its target are one file.
    paths.dedup();
    let located = |path: PathBuf| {
        let below = path.strip_prefix(&root).unwrap_or(&path).to_owned();
        (Store::local().at(path), below)
    };
    Ok(paths.into_iter().map(located).collect())
}

/// Returns the path of a file without links, unless a link leads to a hidden file of the folder. Links to folders are
/// not followed.
fn file_of(entry: &DirEntry, root: &Path) -> Option<PathBuf> {
    if entry.file_type().is_file() {
        return Some(entry.path().to_owned());
    }
    let target = entry.path().canonicalize().ok()?;
    let below = target.strip_prefix(root).unwrap_or(Path::new(""));
    let is_shown = entry.path_is_symlink() && target.is_file();
    (is_shown && !below.iter().any(is_hidden)).then_some(target)
}

fn is_hidden(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(['_', '.'])
}
