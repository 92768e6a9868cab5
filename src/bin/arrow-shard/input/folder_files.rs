//! The files of a folder and its subfolders.

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::folders::files_below;
use crate::location::{exists, stored, wait};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Whether a path names a folder. In stores, its URL ends with a slash, or has neither the name of a format nor an
/// object, but objects below it.
pub(crate) fn is_folder(path: &Path) -> Result<bool, Failure> {
    let location = stored(path)?;
    if let Some(local) = location.path() {
        return Ok(local.is_dir());
    }
    if location.name().is_empty() || path.to_string_lossy().ends_with('/') {
        return Ok(true);
    }
    if FileFormat::by_name(path).is_some() {
        return Ok(false);
    }
    // Stores that cannot be listed have no folders.
    let is_listed = || wait(&location, files_below(&location)).is_ok_and(|files| !files.is_empty());
    Ok(!exists(path)? && is_listed())
}

/// Returns the files below a folder in the order of their names, by paths that begin with the path of the folder. Names
/// that begin with `.` or `_` are skipped: they belong to other programs.
pub(super) fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let location = stored(folder)?;
    if location.path().is_some() {
        return walked(Path::new(location.name()));
    }
    let url = folder.to_string_lossy();
    let url = url.trim_end_matches('/');
    let files = wait(&location, files_below(&location))?;
    let object = |path: PathBuf| format!("{url}/{}", escaped(&path.to_string_lossy()));
    let mut urls: Vec<PathBuf> = files
        .into_iter()
        .map(|(_, path)| object(path).into())
        .collect();
    urls.sort();
    Ok(urls)
}

/// Escapes the characters of an object's name that have a meaning in URLs.
pub(super) fn escaped(name: &str) -> String {
    name.replace('%', "%25")
        .replace('?', "%3F")
        .replace('#', "%23")
}

/// Returns the files below a local folder. Unlike the library, it follows links to folders, and returns the names of
/// links, because the names of folders may be values of columns. A file that several names lead to appears once.
fn walked(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    let is_read = |path: &Path| FileFormat::by_name(path).is_some();
    for entry in walk(folder, &['.', '_'], is_read) {
        let entry = entry?;
        if entry.file_type().is_file() && known.insert(entry.path().canonicalize()?) {
            files.push(shortened(entry.into_path()));
        }
    }
    Ok(files)
}

/// Returns a folder and the files and folders below it, through links. Names that begin with one of the characters are
/// skipped, and so are links that lead back to themselves or to a folder above, and links that lead nowhere, unless
/// they matter: then they are errors.
pub(super) fn walk(
    folder: &Path,
    hidden: &'static [char],
    matters: fn(&Path) -> bool,
) -> impl Iterator<Item = Result<DirEntry, Failure>> {
    let is_hidden = move |name: &OsStr| name.to_string_lossy().starts_with(hidden);
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    let entries = walk.into_iter();
    let entries =
        entries.filter_entry(move |entry| entry.depth() == 0 || !is_hidden(entry.file_name()));
    entries.filter_map(move |entry| match entry {
        Err(e) if is_loop(&e) => None,
        // A hidden link may lead nowhere, such as the lock of an editor.
        Err(e) if e.depth() > 0 && name(&e).is_some_and(is_hidden) => None,
        Err(e) => match dangling(&e) {
            Some(link) if !matters(link) => None,
            Some(link) => {
                let why = "the link leads to a file that does not exist";
                Some(Err(Failure::new(why).within(link.display())))
            }
            None => Some(Err(Failure::new(e.to_string()))),
        },
        Ok(entry) => Some(Ok(entry)),
    })
}

/// Returns the link that leads nowhere, if that is the error.
fn dangling(error: &walkdir::Error) -> Option<&Path> {
    let is_missing = error.io_error()?.kind() == io::ErrorKind::NotFound;
    error.path().filter(|path| is_missing && path.is_symlink())
}

fn name(error: &walkdir::Error) -> Option<&OsStr> {
    error.path()?.file_name()
}

/// Whether a link leads to a folder above it, or links lead to each other.
fn is_loop(error: &walkdir::Error) -> bool {
    #[cfg(unix)]
    let is_closed =
        |e: &io::Error| e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    let is_closed = |_: &io::Error| false;
    error.loop_ancestor().is_some() || error.io_error().is_some_and(is_closed)
}

/// Returns the path without `./` before it.
fn shortened(path: PathBuf) -> PathBuf {
    match path.strip_prefix(".") {
        Ok(short) => short.to_owned(),
        Err(_) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_urls() {
        assert_eq!(escaped("a%b?c#d e"), "a%25b%3Fc%23d e");
    }

    #[cfg(unix)]
    #[test]
    fn a_linked_file_has_the_name_of_the_link_and_appears_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["days", "elsewhere", "days/_hidden"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        for name in ["elsewhere/1.csv", "days/2.csv", "days/_hidden/3.csv"] {
            std::fs::write(path(name), "a\n1\n").unwrap();
        }
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(path(target), path(name)).unwrap();
        };
        link("elsewhere", "days/year=2024");
        link("elsewhere/1.csv", "days/year=2025.csv");
        link("days/2.csv", "days/3.csv");
        link("nowhere", "days/readme");
        let found = below(&path("days")).unwrap();
        assert_eq!(found, ["days/2.csv", "days/year=2024/1.csv"].map(path));
        link("nowhere", "days/4.csv");
        let error = format!("{:?}", below(&path("days")).unwrap_err());
        assert!(
            error.contains("4.csv") && error.contains("does not exist"),
            "{error}"
        );
    }
}
