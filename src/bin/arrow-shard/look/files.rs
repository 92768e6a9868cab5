//! The files that the arguments of a command name: paths, folders, globs and URLs.

use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::folders::files_below;
use crate::location::{open_one_of_many, stored, wait};
use arrow_shard::io::Location;
use arrow_shard::ops::{held_shards_async, list_files_async};
use arrow_shard::read::ShardOptions;
use glob::{MatchOptions, Pattern};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// How names match: `*` matches neither a slash nor a dot at the start of a name.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Returns the files that the arguments name, in the order of the arguments and, for each, of their names.
///
/// A folder means all files below it with the name of a readable format, without hidden files. Rows that several files
/// of a folder hold count once: files that a shard refers to, and shards that another shard contains, are left
/// out. In stores, a folder is a URL that ends with a slash.
///
/// # Errors
/// Fails if a glob matches nothing, or if a folder has no readable file.
pub(crate) fn expanded(
    arguments: &[PathBuf],
    options: &ShardOptions,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if is_standard(argument) {
            files.push(argument.clone());
            continue;
        }
        let location = stored(argument)?;
        for found in matches(argument, &location)? {
            if is_folder(&found) {
                files.extend(readable(&found, options)?);
            } else {
                files.push(found);
            }
        }
    }
    Ok(files)
}

/// Returns the files and folders that a glob matches, or the path itself if it has no wildcards.
fn matches(argument: &Path, location: &Location) -> Result<Vec<PathBuf>, Failure> {
    let is_glob = |text: &str| text.contains(['*', '?', '[']);
    let Some(text) = location.name().to_str().filter(|text| is_glob(text)) else {
        return Ok(vec![argument.to_owned()]);
    };
    let invalid = |e: glob::PatternError| Failure::Usage(format!("`{}`: {e}", argument.display()));
    let mut found = Vec::new();
    if location.path().is_none() {
        let pattern = Pattern::new(text).map_err(invalid)?;
        let literal = text.find(['*', '?', '[']).unwrap_or_default();
        let folder = text[..literal].rfind('/').map_or("", |end| &text[..end]);
        // The pattern may be escaped in the URL, so its length differs.
        let (url, names) = (argument.to_string_lossy(), text.split('/').count());
        let root = url.rsplitn(names + 1, '/').last().unwrap_or_default();
        let folder = location.store().at(folder);
        for file in wait(&folder, list_files_async(folder.clone()))? {
            let name = file.name().to_string_lossy();
            if pattern.matches_with(&name, MATCHING) {
                found.push(PathBuf::from(format!("{root}/{}", escaped(&name))));
            }
        }
    } else if Path::new(text).exists() {
        return Ok(vec![argument.to_owned()]);
    } else {
        for path in glob::glob_with(text, MATCHING).map_err(invalid)? {
            found.push(path.map_err(io::Error::from)?);
        }
    }
    // A stripe file is a part of a shard.
    found.retain(|path| path.extension().is_none_or(|suffix| suffix != "stripe"));
    if found.is_empty() {
        let none = format!("no file matches `{}`", argument.display());
        return Err(Failure::new(none));
    }
    Ok(found)
}

/// Returns the name of an object as a part of a URL.
fn escaped(name: &str) -> String {
    name.replace('%', "%25")
        .replace('#', "%23")
        .replace('?', "%3F")
}

/// Whether a path names a folder.
fn is_folder(path: &Path) -> bool {
    match stored(path) {
        Ok(location) => match location.path() {
            Some(local) => local.is_dir(),
            None => location.name().is_empty() || path.to_string_lossy().ends_with('/'),
        },
        Err(_) => false,
    }
}

/// Returns the files below a folder that a table of it consists of.
fn readable(folder: &Path, options: &ShardOptions) -> Result<Vec<PathBuf>, Failure> {
    let mut files = below(folder)?;
    files.retain(|file| FileFormat::by_name(file).is_some());
    if files.is_empty() {
        return Err(Failure::new(
            "the folder has no file with the name of a readable format, such as .amudai.shard, .parquet or .csv",
        )
        .within(folder.display()));
    }
    without_parts(files, options)
}

/// Returns the files below a folder, by paths that begin with the path of the folder.
fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let location = stored(folder)?;
    let files = wait(&location, files_below(&location))?;
    let paths = files.into_iter().map(|(_, path)| path);
    if location.path().is_some() {
        let folder = Path::new(location.name());
        return Ok(paths.map(|path| joined(folder, &path)).collect());
    }
    let url = folder.to_string_lossy();
    let url = url.trim_end_matches('/');
    let object = |path: PathBuf| format!("{url}/{}", escaped(&path.to_string_lossy()));
    Ok(paths.map(|path| object(path).into()).collect())
}

/// Returns the path of a file in a folder, without `./` before it.
fn joined(folder: &Path, name: &Path) -> PathBuf {
    if folder == Path::new(".") {
        name.to_owned()
    } else {
        folder.join(name)
    }
}

/// Removes files that a shard refers to, and shards that another shard contains.
fn without_parts(mut files: Vec<PathBuf>, options: &ShardOptions) -> Result<Vec<PathBuf>, Failure> {
    let is_shard = |file: &&PathBuf| FileFormat::by_name(file) == Some(FileFormat::Shard);
    let (mut shards, mut parts) = (Vec::new(), HashSet::new());
    for file in files.iter().filter(is_shard) {
        let shard = open_one_of_many(file, options.clone())?;
        for part in shard.referenced_files()? {
            parts.insert(file.with_file_name(part.path()));
        }
        shards.push((file, shard));
    }
    // Only a shard of several files can contain another.
    if parts.is_empty() {
        return Ok(files);
    }
    let locations = shards
        .iter()
        .map(|(file, shard)| Ok((stored(file)?, shard.clone())))
        .collect::<Result<Vec<_>, Failure>>()?;
    let Some((at, _)) = locations.first().cloned() else {
        return Ok(files);
    };
    let held = wait(&at, held_shards_async(locations))?;
    for (contained, _) in held {
        parts.extend(shards.get(contained).map(|(file, _)| PathBuf::clone(file)));
    }
    files.retain(|file| !parts.contains(file));
    Ok(files)
}
