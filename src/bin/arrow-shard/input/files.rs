//! The files that the arguments of a command name: files, the files of folders, and the matches of globs.

#[cfg(feature = "cloud")]
use super::objects::listed_objects;
use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::lance_names::is_lance;
use crate::location::{Location, stored, wait};
use arrow_shard::ops::{LeftOut, held_by_others_async};
use glob::{MatchOptions, glob_with};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// End of the name of a file that belongs to a shard and is not read alone.
const STRIPE_FILE_SUFFIX: &str = ".amudai.stripe";

/// Wildcards match neither a `/` nor the dot of a hidden name.
const GLOB: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

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
    pub(crate) fn find(inputs: &[PathBuf], asked: Option<FileFormat>) -> Result<Self, Failure> {
        let mut files = Self::default();
        for input in inputs {
            files.add(input, asked)?;
        }
        Ok(files)
    }

    /// Whether a folder or a glob has the file at `path`.
    pub(crate) fn have(&self, path: &Path) -> bool {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let path = whole(path);
        let mut found = self.paths.iter().zip(&self.is_found);
        found.any(|(file, is_found)| *is_found && whole(file) == path)
    }

    fn add(&mut self, input: &Path, asked: Option<FileFormat>) -> Result<(), Failure> {
        if is_standard(input) || is_lance(input) {
            self.push(input, false);
            return Ok(());
        }
        #[cfg(feature = "cloud")]
        if let Some(objects) = listed_objects(input, GLOB)? {
            let is_glob = input.to_string_lossy().contains('*');
            return self.add_found(input, objects, |path| is_glob || is_wanted(path, asked));
        }
        let Some(local) = local(input)? else {
            self.push(input, false);
            return Ok(());
        };
        if local.is_dir() {
            return self.add_found(input, walked(&local)?, |path| is_wanted(path, asked));
        }
        let pattern = local
            .to_str()
            .filter(|text| text.contains(['*', '?', '[']) && !local.exists());
        let Some(pattern) = pattern else {
            self.push(input, false);
            return Ok(());
        };
        let matches = glob_with(pattern, GLOB)
            .map_err(|e| Failure::Usage(format!("the glob `{pattern}` is invalid: {e}")))?;
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for path in matches {
            let path = path.map_err(|e| Failure::new(e.to_string()))?;
            if path.is_dir() {
                // The shell would name the folder, too.
                folders.extend(walked(&path)?);
            } else {
                files.push(path);
            }
        }
        let is_match = |path: &Path| files.iter().any(|file| file == path);
        let mut all = [files.clone(), folders].concat();
        all.sort();
        self.add_found(input, all, |path| is_match(path) || is_wanted(path, asked))
    }

    fn push(&mut self, path: &Path, is_found: bool) {
        self.paths.push(path.to_owned());
        self.is_found.push(is_found);
    }

    /// Adds the files of a folder or a glob that `is_read` accepts.
    fn add_found(
        &mut self,
        input: &Path,
        found: Vec<PathBuf>,
        is_read: impl Fn(&Path) -> bool,
    ) -> Result<(), Failure> {
        let (read, left_out): (Vec<_>, Vec<_>) = found
            .into_iter()
            .filter(|path| !is_stripe(path))
            .partition(|path| is_read(path));
        if read.is_empty() {
            let is_folder = input.is_dir() || input.to_string_lossy().ends_with('/');
            let why = if is_folder {
                "no file in this directory has a name that shows its format"
            } else {
                "no file matches this pattern"
            };
            return Err(Failure::new(why).within(input.display()));
        }
        if let Some(first) = left_out.first() {
            self.notes.push(format!(
                "{} of {} left out, because its name shows no format: {}",
                match left_out.len() {
                    1 => "1 file".to_owned(),
                    many => format!("{many} files"),
                },
                input.display(),
                first.display()
            ));
        }
        let held = held(&read);
        for path in &read {
            match held.iter().find(|(shard, _)| shard == path) {
                Some((_, note)) => self.notes.push(note.to_string()),
                None => self.push(path, true),
            }
        }
        Ok(())
    }
}

/// Returns the path of a local file, or `None` for an object.
fn local(input: &Path) -> Result<Option<PathBuf>, Failure> {
    Ok(match Location::of(input)? {
        Location::Local(path) => Some(path),
        #[cfg(feature = "cloud")]
        Location::Object(_) => None,
    })
}

fn is_stripe(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy);
    name.is_some_and(|name| name.ends_with(STRIPE_FILE_SUFFIX))
}

/// Whether a file of a folder is read: any file in a known format, or one with a name that shows it.
fn is_wanted(path: &Path, asked: Option<FileFormat>) -> bool {
    asked.or_else(|| FileFormat::by_name(path)).is_some()
}

/// Returns the files below a folder, in the order of their names. Names that begin with `.` or `_` are skipped: they
/// belong to other programs.
fn walked(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_hidden = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() > 0 && name.starts_with(['.', '_'])
    };
    let mut files = Vec::new();
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(|entry| !is_hidden(entry)) {
        let entry = entry.map_err(|e| Failure::new(e.to_string()))?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// Returns the shards with rows that another one of these shards also refers to, as a merged one does: they would be read
/// twice.
fn held(paths: &[PathBuf]) -> Vec<(PathBuf, LeftOut)> {
    let mut folders: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
    for path in paths {
        if FileFormat::by_name(path) == Some(FileFormat::Shard)
            && let Some(folder) = path.parent()
        {
            folders.entry(folder).or_default().push(path);
        }
    }
    let mut all = Vec::new();
    for (folder, shards) in folders.into_iter().filter(|(_, shards)| shards.len() > 1) {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let held = stored(folder).and_then(|folder| wait(&folder, held_by_others_async(&folder)));
        let named = |name: &str| {
            let name = Path::new(name).file_name();
            shards.iter().find(|shard| shard.file_name() == name)
        };
        // A damaged shard fails when it is read.
        for other in held.unwrap_or_default() {
            if let (Some(shard), Some(_)) = (named(other.shard()), named(other.held_by())) {
                all.push((shard.to_path_buf(), other));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path, inputs: &[&str]) -> Result<Vec<String>, Failure> {
        let inputs: Vec<PathBuf> = inputs.iter().map(|input| folder.join(input)).collect();
        let files = Files::find(&inputs, None)?;
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
        // A file of that very name is not a pattern.
        assert_eq!(names(folder, &["[1].csv"]).unwrap(), ["[1].csv"]);
        assert_eq!(names(folder, &["none.csv"]).unwrap(), ["none.csv"]);
        assert!(names(folder, &["*.parquet"]).is_err());
        assert!(names(folder, &["b/_x/../.."]).is_ok());
        let error = names(folder, &["[.csv"]);
        assert!(matches!(error, Err(Failure::Usage(_))), "{error:?}");
    }
}
