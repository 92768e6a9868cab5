//! Local files and folders with names that match a pattern. Unlike the iterator of the crate `glob`, it takes names
//! that are not UTF-8, and ends in loops of links.

use super::folder_files::walk;
use crate::failure::Failure;
use glob::{MatchOptions, Pattern, PatternError};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf, is_separator};

/// Wildcards match neither a `/` nor the dot of a hidden name.
pub(super) const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Characters that begin a wildcard.
pub(super) const WILDCARDS: [char; 3] = ['*', '?', '['];

/// A part of a pattern between slashes.
enum Part {
    /// The folder itself, and all folders below.
    Recursive,
    Literal(PathBuf),
    Pattern(Pattern),
}

/// A pattern of paths.
pub(super) struct PathPattern {
    /// The drive and the root folder, if the pattern has them.
    root: PathBuf,
    parts: Vec<Part>,
    /// Whether only folders match.
    needs_folder: bool,
}

impl PathPattern {
    /// Parses a pattern.
    pub(super) fn new(pattern: &str) -> Result<Self, PatternError> {
        // Also finds errors that span parts.
        Pattern::new(pattern)?;
        let (mut root, mut parts) = (PathBuf::new(), Vec::new());
        for component in Path::new(pattern).components() {
            let text = component.as_os_str().to_string_lossy();
            parts.push(match component {
                Component::Prefix(_) | Component::RootDir => {
                    root.push(component);
                    continue;
                }
                Component::Normal(_) if text == "**" => Part::Recursive,
                Component::Normal(_) if text.contains(WILDCARDS) => {
                    Part::Pattern(Pattern::new(&text)?)
                }
                _ => Part::Literal(PathBuf::from(component.as_os_str())),
            });
        }
        Ok(Self {
            root,
            parts,
            needs_folder: pattern.ends_with(is_separator),
        })
    }

    /// Returns the files and folders that match.
    pub(super) fn matches(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut found = Vec::new();
        add_matches(&self.root, &self.parts, &mut found)?;
        if self.needs_folder {
            found.retain(|path| path.is_dir());
        }
        Ok(found)
    }
}

/// Adds the paths below a folder that match all parts.
fn add_matches(folder: &Path, parts: &[Part], found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let Some((part, rest)) = parts.split_first() else {
        found.push(folder.to_owned());
        return Ok(());
    };
    match part {
        Part::Literal(name) => {
            let path = folder.join(name);
            if rest.is_empty() && !path.exists() {
                return Ok(());
            }
            add_matches(&path, rest, found)
        }
        Part::Pattern(pattern) => {
            for path in entries(folder)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_match = pattern.matches_with(&name, MATCHING);
                if is_match && (rest.is_empty() || path.is_dir()) {
                    add_matches(&path, rest, found)?;
                }
            }
            Ok(())
        }
        Part::Recursive => {
            let folders = folders_below(folder)?;
            // At the end, the pattern matches the folders below.
            if !rest.is_empty() {
                add_matches(folder, rest, found)?;
            }
            folders
                .iter()
                .try_for_each(|folder| add_matches(folder, rest, found))
        }
    }
}

/// Returns the paths in a folder; none if the folder does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = match fs::read_dir(or_current(folder)) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        listed => listed,
    };
    let names = listed.and_then(|entries| {
        let path = |entry: io::Result<fs::DirEntry>| Ok(folder.join(entry?.file_name()));
        entries.map(path).collect()
    });
    names.map_err(|e: io::Error| Failure::from(e).within(folder.display()))
}

/// Returns a path that the system accepts: the empty one is the current folder.
fn or_current(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

/// Returns the folders below a folder, except for hidden ones.
fn folders_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let start = or_current(folder);
    if !start.is_dir() {
        return Ok(Vec::new());
    }
    let mut folders = Vec::new();
    for entry in walk(start, &['.'], |_| false) {
        let entry = entry?;
        if entry.depth() > 0 && entry.file_type().is_dir() {
            let below = entry.path().strip_prefix(start).unwrap_or(entry.path());
            folders.push(folder.join(below));
        }
    }
    Ok(folders)
}
