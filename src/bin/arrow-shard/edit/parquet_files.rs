//! The Parquet files that arguments name: files, folders, and globs.

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::input::{glob_matches, is_folder};
use crate::location::{stored, wait};
use arrow_shard::io::Location;
use arrow_shard::ops::list_parquet_files_async;
use arrow_shard::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Returns the files in the order of the arguments, each with the path by which the argument leads to it; the files of
/// a folder or a glob are sorted by name. Other files that a glob matches, and folders, are skipped.
pub(super) fn parquet_files(paths: &[PathBuf]) -> Result<Vec<(Location, PathBuf)>, Failure> {
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        if let Some(mut found) = glob_matches(path)? {
            found.retain(|path| FileFormat::by_name(path) == Some(FileFormat::Parquet));
            if found.is_empty() {
                return Err(nothing(path, "matches no Parquet files"));
            }
            for file in found {
                if !is_folder(&file)? {
                    files.push((stored(&file)?, file));
                }
            }
            continue;
        }
        let location = stored(path)?;
        if !is_folder(path)? {
            files.push((location, path.clone()));
            continue;
        }
        let found = wait(&location, list_parquet_files_async(&location))?;
        if found.is_empty() {
            return Err(nothing(path, "has no Parquet files"));
        }
        let root = location.path().and_then(|path| path.canonicalize().ok());
        files.extend(found.into_iter().map(|file| {
            let name = PathBuf::from(file.name());
            let below = root.as_ref().and_then(|root| name.strip_prefix(root).ok());
            let name = below.map(|below| path.join(below)).unwrap_or(name);
            (file, name)
        }));
    }
    Ok(files)
}

fn nothing(path: &Path, why: &str) -> Failure {
    let text = format!("`{}` {why}", path.display());
    Error::new(ErrorKind::NotFound, text).into()
}
