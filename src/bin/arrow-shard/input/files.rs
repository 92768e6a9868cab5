//! The files that the arguments of a command name: files, the files of folders, and the matches of globs.

use super::folder_files::{below, is_folder};
use super::globs::{glob_matches, no_match};
#[cfg(unix)]
use super::own_output;
use super::repeated_files::{needed, repeated};
use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::lance_names::is_lance;
use crate::location::{NamedFiles, stored};
use arrow_shard::read::ShardOptions;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Extension of a file that belongs to a shard and is not read alone.
const STRIPE_EXTENSION: &str = "stripe";

/// Files to read.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The files in the order of their rows.
    pub(crate) paths: Vec<PathBuf>,
    /// Whether each file was found in a folder or by a glob.
    is_found: Vec<bool>,
    /// Reasons why files of folders are not read.
    pub(crate) notes: Vec<String>,
}

impl Files {
    /// Finds the files in the order of the arguments. The files of a folder or a glob are in the order of their names.
    /// A folder may hold files of any name if `asked` is their format.
    ///
    /// Rows that several files of a folder hold count once: shards that another shard contains, and files that a shard
    /// refers to, are left out. A glob names each of its files, as it does in a shell.
    ///
    /// # Errors
    /// Fails if a glob matches nothing, or if a folder has no readable file.
    pub(crate) fn find(
        inputs: &[PathBuf],
        asked: Option<FileFormat>,
        options: &ShardOptions,
    ) -> Result<Self, Failure> {
        let mut files = Self::default();
        for input in inputs {
            if is_standard(input) || is_lance(input) {
                files.push(input.clone(), false);
                continue;
            }
            match glob_matches(input)? {
                Some(found) => files.add_matches(input, found, asked, options)?,
                None if !is_folder(input)? => files.push(input.clone(), false),
                None if files.add_folder(input, asked, options)? => {}
                None => {
                    return Err(Failure::new(
                        "the folder has no file with the name of a readable format, such as .amudai.shard, .parquet \
                         or .csv, nor has any directory in it",
                    )
                    .within(input.display()));
                }
            }
        }
        #[cfg(unix)]
        own_output::check(&files.paths)?;
        Ok(files)
    }

    /// Returns the files that are read and those that they need, to compare outputs with.
    pub(crate) fn sources<'a>(&'a self, options: &'a ShardOptions) -> Sources<'a> {
        let mut read = HashMap::new();
        for (file, is_found) in self.paths.iter().zip(&self.is_found) {
            *read.entry(whole(file)).or_insert(false) |= is_found;
        }
        Sources {
            files: self,
            options,
            read,
            needed: OnceCell::new(),
        }
    }

    /// Whether the file at `path` is read.
    pub(crate) fn have(&self, path: &Path) -> bool {
        let path = whole(path);
        self.paths.iter().any(|file| whole(file) == path)
    }

    fn push(&mut self, path: PathBuf, is_found: bool) {
        self.paths.push(path);
        self.is_found.push(is_found);
    }

    /// Adds the files that a glob matches, and the files of folders that it matches, each of them once.
    fn add_matches(
        &mut self,
        glob: &Path,
        found: Vec<PathBuf>,
        asked: Option<FileFormat>,
        options: &ShardOptions,
    ) -> Result<(), Failure> {
        let first = self.paths.len();
        for path in found.into_iter().filter(|path| !is_stripe(path)) {
            // In a store, a glob matches objects only.
            if path.is_dir() {
                self.add_folder(&path, asked, options)?;
            } else {
                self.push(path, true);
            }
        }
        if self.paths.len() == first {
            return Err(no_match(glob));
        }
        let mut added = self.paths.split_off(first);
        added.sort();
        added.dedup();
        self.paths.append(&mut added);
        self.is_found.truncate(self.paths.len());
        Ok(())
    }

    /// Adds the files of a folder that a table of it consists of. Returns whether there are any.
    fn add_folder(
        &mut self,
        folder: &Path,
        asked: Option<FileFormat>,
        options: &ShardOptions,
    ) -> Result<bool, Failure> {
        let is_readable = |path: &PathBuf| asked.or_else(|| FileFormat::by_name(path)).is_some();
        let files = below(folder)?.into_iter().filter(|path| !is_stripe(path));
        let (read, unknown): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(is_readable);
        self.note(folder, &unknown, "name shows no format");
        let repeated = repeated(&read, options)?;
        let (repeated, read): (Vec<PathBuf>, Vec<PathBuf>) =
            read.into_iter().partition(|path| repeated.contains(path));
        self.note(folder, &repeated, "rows are in a shard of the folder");
        let is_readable = !read.is_empty();
        for path in read {
            self.push(path, true);
        }
        Ok(is_readable)
    }

    /// Notes that files of a folder are left out.
    fn note(&mut self, folder: &Path, files: &[PathBuf], reason: &str) {
        let Some(first) = files.first() else {
            return;
        };
        let (number, owner) = match files.len() {
            1 => ("1 file".to_owned(), "its"),
            many => (format!("{many} files"), "their"),
        };
        self.notes.push(format!(
            "{number} of {} left out, because {owner} {reason}: {}",
            folder.display(),
            first.display()
        ));
    }
}

/// The files that a command reads, without links and `..`, to compare any number of outputs with.
pub(crate) struct Sources<'a> {
    files: &'a Files,
    options: &'a ShardOptions,
    /// Whether a folder or a glob has each file.
    read: HashMap<PathBuf, bool>,
    /// The files that shards need in addition to their directory files, each with one of the shards.
    needed: OnceCell<HashMap<PathBuf, &'a Path>>,
}

impl<'a> Sources<'a> {
    /// Whether a folder or a glob has the file at `path`.
    pub(crate) fn have_found(&self, path: &Path) -> bool {
        self.read.get(&whole(path)).copied().unwrap_or_default()
    }

    /// Whether the file at `path` is read.
    pub(crate) fn have(&self, path: &Path) -> bool {
        self.read.contains_key(&whole(path))
    }

    /// Returns a shard among the files that needs the existing file at `path` in addition to its directory file. Shards
    /// that cannot be opened are ignored; reading them fails.
    pub(crate) fn shard_over(&self, path: &Path) -> Option<&'a Path> {
        if !path.is_file() {
            return None;
        }
        let needed = self.needed.get_or_init(|| {
            let shards = self.files.paths.iter().filter(|file| !is_standard(file));
            let parts = shards.flat_map(|shard| {
                let parts = needed(shard, self.options).into_iter();
                parts.map(move |part| (whole(&part), shard.as_path()))
            });
            // The first shard over a file is named.
            let mut all = HashMap::new();
            parts.for_each(|(part, shard)| {
                all.entry(part).or_insert(shard);
            });
            all
        });
        needed.get(&whole(path)).copied()
    }
}

/// Returns the files that arguments name, with those that globs match, except for stripe files.
///
/// # Errors
/// Fails if a glob matches nothing.
pub(crate) fn with_matches(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match matches(argument)? {
            Some(mut found) => paths.append(&mut found),
            None => paths.push(argument.clone()),
        }
    }
    Ok(paths)
}

/// Returns the files and local folders that a glob matches, except for stripe files; `None` if the argument has no
/// wildcards.
fn matches(argument: &Path) -> Result<Option<Vec<PathBuf>>, Failure> {
    let Some(mut found) = glob_matches(argument)? else {
        return Ok(None);
    };
    found.retain(|path| !is_stripe(path));
    if found.is_empty() {
        return Err(no_match(argument));
    }
    Ok(Some(found))
}

/// Returns the shards that arguments name, each once: files, the matches of globs, and the shards of folders and of
/// their subfolders.
///
/// # Errors
/// Fails if a glob or a folder has no shard.
pub(crate) fn shards(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let (mut shards, mut named) = (Vec::new(), NamedFiles::default());
    for argument in arguments {
        let mut found = Vec::new();
        match matches(argument)? {
            Some(matches) => {
                for path in matches {
                    if path.is_dir() {
                        found.append(&mut shards_below(&path)?);
                    } else {
                        found.push(path);
                    }
                }
            }
            None if is_folder(argument)? => found = shards_below(argument)?,
            None => found.push(argument.clone()),
        }
        if found.is_empty() {
            return Err(Failure::new("there are no shards").within(argument.display()));
        }
        for path in found {
            if named.insert(&stored(&path)?) {
                shards.push(path);
            }
        }
    }
    Ok(shards)
}

/// Returns the shards of a folder and of its subfolders, by their names.
fn shards_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = below(folder)?;
    found.retain(|file| FileFormat::by_name(file) == Some(FileFormat::Shard));
    Ok(found)
}

/// Returns the path without links and `..`, if the file exists.
fn whole(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn is_stripe(path: &Path) -> bool {
    path.extension() == Some(OsStr::new(STRIPE_EXTENSION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path, inputs: &[&str]) -> Result<Vec<String>, Failure> {
        let inputs: Vec<PathBuf> = inputs.iter().map(|input| folder.join(input)).collect();
        let files = Files::find(&inputs, None, &ShardOptions::default())?;
        let name = |path: &PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
        Ok(files.paths.iter().map(name).collect())
    }

    #[test]
    fn folders_and_globs_are_files_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir_all(folder.join("b/_x")).unwrap();
        for name in [
            "c.csv",
            "a.csv",
            "b/2.ndjson",
            "b/10.csv.gz",
            "b/read.me",
            "b/.h.csv",
            "b/_x/y.csv",
            "[1].csv",
        ] {
            fs::write(folder.join(name), "").unwrap();
        }
        let all = ["[1].csv", "a.csv", "b/10.csv.gz", "b/2.ndjson", "c.csv"];
        assert_eq!(names(folder, &["."]).unwrap(), all);
        assert_eq!(
            names(folder, &["c.csv", "b"]).unwrap(),
            ["c.csv", "b/10.csv.gz", "b/2.ndjson"]
        );
        assert_eq!(
            names(folder, &["*.csv"]).unwrap(),
            ["[1].csv", "a.csv", "c.csv"]
        );
        assert_eq!(names(folder, &["**/*.ndjson"]).unwrap(), ["b/2.ndjson"]);
        // The glob matches the folder and its files.
        assert_eq!(
            names(folder, &["**/[b1-9]*"]).unwrap(),
            ["b/10.csv.gz", "b/2.ndjson"]
        );
        fs::create_dir_all(folder.join("empty")).unwrap();
        assert_eq!(
            names(folder, &["[be]*"]).unwrap(),
            ["b/10.csv.gz", "b/2.ndjson"]
        );
        assert!(names(folder, &["empty"]).is_err());
        assert!(names(folder, &["e*"]).is_err());
        // A file of that very name is not a pattern.
        assert_eq!(names(folder, &["[1].csv"]).unwrap(), ["[1].csv"]);
        assert_eq!(names(folder, &["none.csv"]).unwrap(), ["none.csv"]);
        assert!(names(folder, &["*.parquet"]).is_err());
        assert!(names(folder, &["b/_x/../.."]).is_ok());
        let error = names(folder, &["[.csv"]);
        assert!(matches!(error, Err(Failure::Usage(_))), "{error:?}");
    }
}
