//! The objects that a URL of a folder or a glob names.

use crate::failure::Failure;
use crate::location::{is_url, stored, wait};
use arrow_shard::{Error, ErrorKind};
use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::ObjectStore;
use object_store::path::Path as ObjectPath;
use std::path::{Path, PathBuf};

/// Returns the URLs of the objects that a URL names: of all objects below, if it ends with `/`, or of those that match,
/// if it contains a `*`. They are in the order of their names; names that begin with `.` or `_` are skipped. Returns
/// `None` for other paths and for local files.
pub(super) fn listed_objects(
    url: &Path,
    options: MatchOptions,
) -> Result<Option<Vec<PathBuf>>, Failure> {
    let Some(text) = url.to_str().filter(|text| is_url(text)) else {
        return Ok(None);
    };
    let Some((folder, rest)) = folder_of(text) else {
        return Ok(None);
    };
    let location = stored(Path::new(folder))?;
    let Some((store, prefix)) = location.object() else {
        return Ok(None);
    };
    let pattern = (!rest.is_empty()).then(|| Pattern::new(rest)).transpose();
    let pattern =
        pattern.map_err(|e| Failure::Usage(format!("the glob `{text}` is invalid: {e}")))?;
    let listed = wait(&location, async {
        let objects = store.list(Some(&prefix)).try_collect::<Vec<_>>().await;
        objects.map_err(|e| {
            let message = format!("the store failed to list `{folder}`");
            Error::new(ErrorKind::Io, message).caused_by(e)
        })
    })?;
    let mut names: Vec<String> = listed
        .iter()
        .filter_map(|object| name_below(&object.location, &prefix))
        .filter(|name| match &pattern {
            Some(pattern) => pattern.matches_with(name, options),
            None => !name.split('/').any(|part| part.starts_with(['.', '_'])),
        })
        .collect();
    names.sort();
    let urls = names
        .iter()
        .map(|name| PathBuf::from(format!("{folder}{}", escaped(name))));
    Ok(Some(urls.collect()))
}

/// Splits a URL into the folder to list and the pattern for names below it.
fn folder_of(url: &str) -> Option<(&str, &str)> {
    if url.ends_with('/') {
        return Some((url, ""));
    }
    let star = url.find('*')?;
    let end = url[..star].rfind('/')? + 1;
    Some(url.split_at(end))
}

/// Returns the name of an object below a folder.
fn name_below(object: &ObjectPath, folder: &ObjectPath) -> Option<String> {
    let parts: Vec<_> = object.prefix_match(folder)?.collect();
    let names: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    Some(names.join("/"))
}

/// Escapes characters with a meaning in URLs.
fn escaped(name: &str) -> String {
    name.replace('%', "%25")
        .replace('?', "%3F")
        .replace('#', "%23")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_listed_up_to_the_first_wildcard() {
        for (url, want) in [
            ("s3://b/days/", Some(("s3://b/days/", ""))),
            ("s3://b/days/*.csv", Some(("s3://b/days/", "*.csv"))),
            ("s3://b/d*/x/*.csv", Some(("s3://b/", "d*/x/*.csv"))),
            ("s3://b/days/a.csv", None),
            ("https://h/a.csv?sig=x", None),
        ] {
            assert_eq!(folder_of(url), want, "{url}");
        }
    }

    #[test]
    fn names_are_escaped_in_urls() {
        assert_eq!(escaped("a%b?c#d e"), "a%25b%3Fc%23d e");
    }
}
