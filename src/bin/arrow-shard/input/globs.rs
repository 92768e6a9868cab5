//! Files whose names match a pattern, either local or in a store.

use super::folder_files::escaped;
use super::local_globs::{MATCHING, PathPattern, WILDCARDS};
use crate::failure::Failure;
use crate::location::{stored, wait};
use arrow_shard::io::{Location, is_url};
use arrow_shard::ops::list_files_async;
use glob::{Pattern, PatternError};
use std::path::{Path, PathBuf};

/// Returns the files and folders that a glob matches, in the order of their names, or `None` for a path without
/// wildcards, or of a local file with exactly that name.
pub(crate) fn glob_matches(argument: &Path) -> Result<Option<Vec<PathBuf>>, Failure> {
    let location = stored(argument)?;
    let Some(name) = location.name().to_str() else {
        return Ok(None);
    };
    let invalid = |e: PatternError| {
        let pattern = argument.display();
        Failure::Usage(format!("`{pattern}` is neither a file nor a pattern: {e}"))
    };
    let mut found = if location.path().is_none() {
        let url = argument.to_string_lossy();
        if !has_wildcards(&url) {
            return Ok(None);
        }
        let pattern = Pattern::new(name).map_err(invalid)?;
        objects(&location, name, &pattern, &url)?
    } else if name.contains(WILDCARDS) && !Path::new(name).exists() {
        let mut found = PathPattern::new(name).map_err(invalid)?.matches()?;
        found.retain(|path| !is_hidden(path, name));
        found
    } else {
        return Ok(None);
    };
    found.sort();
    found.dedup();
    Ok(Some(found))
}

/// Returns the error for a glob that matches nothing.
pub(crate) fn no_match(glob: &Path) -> Failure {
    Failure::new(format!("no file matches `{}`", glob.display()))
}

/// Whether a URL is a pattern. A `?` begins the query of a URL, and a host may have brackets.
fn has_wildcards(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let name = rest.split_once('/').map_or("", |(_, name)| name);
    let name = name.split(['?', '#']).next().unwrap_or_default();
    is_url(url) && name.contains(['*', '['])
}

/// Returns the URLs of the objects whose names match. Hidden ones are skipped.
fn objects(
    location: &Location,
    name: &str,
    pattern: &Pattern,
    url: &str,
) -> Result<Vec<PathBuf>, Failure> {
    let folder = location.store().at(literal_folder(name));
    // The pattern may be escaped in the URL, so its length differs.
    let parts = name.split('/').count();
    let root = url.rsplitn(parts + 1, '/').last().unwrap_or_default();
    let mut found = Vec::new();
    for file in wait(&folder, list_files_async(folder.clone()))? {
        let file = file.name().to_string_lossy();
        if file == name {
            // An object with exactly that name is not a pattern.
            return Ok(vec![url.into()]);
        }
        if pattern.matches_with(&file, MATCHING) {
            found.push(format!("{root}/{}", escaped(&file)).into());
        }
    }
    Ok(found)
}

/// Returns the folder of all matches: the pattern up to the last slash before a wildcard.
fn literal_folder(pattern: &str) -> &str {
    let literal = pattern.find(WILDCARDS).unwrap_or(pattern.len());
    let end = pattern[..literal].rfind('/');
    end.map_or("", |end| &pattern[..end])
}

/// Whether a wildcard matches a name that begins with `_`, which belongs to another program. Such names match only
/// patterns that spell the `_`.
fn is_hidden(path: &Path, pattern: &str) -> bool {
    let folder = Path::new(literal_folder(pattern));
    let rest = Path::new(pattern).strip_prefix(folder).ok();
    let below = path.strip_prefix(folder).unwrap_or(path);
    let has_underscore = |path: &Path| {
        let mut names = path.components();
        names.any(|name| name.as_os_str().to_string_lossy().starts_with('_'))
    };
    has_underscore(below) && !rest.is_some_and(has_underscore)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_listed_up_to_the_first_wildcard() {
        for (pattern, want) in [
            ("days/*.csv", "days"),
            ("d*/x/*.csv", ""),
            ("a/b/[1-9]/x", "a/b"),
            ("/data/a?.csv", "/data"),
        ] {
            assert_eq!(literal_folder(pattern), want, "{pattern}");
        }
    }

    #[test]
    fn wildcards_in_urls_are_in_the_name_of_the_object() {
        for (url, want) in [
            ("s3://b/days/*.csv", true),
            ("s3://b/[1-9].csv", true),
            ("s3://b/days/", false),
            ("https://h/a.csv?sig=*", false),
            ("http://[::1]:9000/a.csv", false),
        ] {
            assert_eq!(has_wildcards(url), want, "{url}");
        }
    }

    #[test]
    fn names_that_begin_with_an_underscore_match_if_the_pattern_spells_it() {
        for (path, pattern, want) in [
            ("a/_x.csv", "a/*.csv", true),
            ("a/_x/y.csv", "**/*.csv", true),
            ("a/_x.csv", "a/_*.csv", false),
            ("_a/x.csv", "_a/*.csv", false),
            ("a/x_.csv", "a/*.csv", false),
        ] {
            assert_eq!(is_hidden(Path::new(path), pattern), want, "{path}");
        }
    }
}
