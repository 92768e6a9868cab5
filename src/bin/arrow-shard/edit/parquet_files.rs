//! The Parquet files that arguments name: files, folders, and patterns.

use crate::failure::Failure;
use crate::location::{stored, wait};
use arrow_shard::io::Location;
use arrow_shard::ops::list_parquet_files_async;
use arrow_shard::{Error, ErrorKind};
use glob::{MatchOptions, Pattern};
use std::path::{Path, PathBuf, is_separator};

/// How patterns match: `*` does not match a separator, but `**` does.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Returns the files in the order of the arguments; those of a folder or a pattern are sorted by name.
pub(super) fn parquet_files(paths: &[PathBuf]) -> Result<Vec<Location>, Failure> {
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        if let Some(glob) = Glob::of(path) {
            files.extend(glob.files(path)?);
            continue;
        }
        let location = stored(path)?;
        if !is_folder(path, &location) {
            files.push(location);
            continue;
        }
        let found = wait(&location, list_parquet_files_async(&location))?;
        if found.is_empty() {
            return Err(nothing(path, "has no Parquet files"));
        }
        files.extend(found);
    }
    Ok(files)
}

/// Whether an argument names a folder: in a store, if it ends with `/`.
fn is_folder(path: &Path, location: &Location) -> bool {
    match location.path() {
        Some(path) => path.is_dir(),
        None => path.to_string_lossy().ends_with('/'),
    }
}

fn nothing(path: &Path, why: &str) -> Failure {
    let text = format!("`{}` {why}", path.display());
    Error::new(ErrorKind::NotFound, text).into()
}

/// A pattern of the names of files.
struct Glob<'a> {
    /// The folder that contains all files that match.
    folder: &'a Path,
    /// The pattern of their paths below the folder.
    below: &'a str,
}

impl<'a> Glob<'a> {
    /// Returns the pattern of an argument, unless it names a file.
    fn of(path: &'a Path) -> Option<Self> {
        let text = path.to_str()?;
        let first = text.find(['*', '?', '['])?;
        if path.exists() {
            return None;
        }
        let start = text
            .get(..first)?
            .rfind(is_separator)
            .map_or(0, |at| at + 1);
        let (folder, below) = text.split_at_checked(start)?;
        let folder = Path::new(if folder.is_empty() { "." } else { folder });
        Some(Self { folder, below })
    }

    /// Returns the Parquet files that match.
    fn files(&self, path: &Path) -> Result<Vec<Location>, Failure> {
        let folder = stored(self.folder)?;
        let listed = wait(&folder, list_parquet_files_async(&folder))?;
        // Listed files have the names of their folders without symbolic links.
        let name = match folder.path() {
            Some(path) => path.canonicalize()?.into_os_string(),
            None => folder.name().to_owned(),
        };
        let name = name.to_string_lossy();
        let name = name.trim_end_matches(is_separator);
        let separator = if name.is_empty() && folder.path().is_none() {
            ""
        } else {
            "/"
        };
        let pattern = [&Pattern::escape(name), separator, self.below].concat();
        let pattern = Pattern::new(&pattern).map_err(|error| {
            nothing(
                path,
                &format!("is neither a file nor a pattern: {}", error.msg),
            )
        })?;
        let is_found = |file: &Location| {
            let name = file.name().to_string_lossy();
            pattern.matches_with(&name, MATCHING)
        };
        let found: Vec<Location> = listed.into_iter().filter(is_found).collect();
        if found.is_empty() {
            return Err(nothing(path, "matches no Parquet files"));
        }
        Ok(found)
    }
}
