//! Finds the files that the name of a table means.

use arrow_shard::io::is_url;
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::execution::SessionState;
use futures::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use url::Url;

/// Files of one store.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The URL of the file, or of the folder that all files are in. The URL of a folder ends with `/`.
    pub(crate) base: Url,
    pub(crate) place: Place,
    /// In the order of their names, without empty ones.
    pub(crate) files: Vec<ObjectMeta>,
}

/// Whether a name means one file or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    File,
    Folder,
    Glob,
}

impl Found {
    /// Returns the URL of one of the files.
    pub(crate) fn url_of(&self, file: &ObjectMeta) -> Url {
        let mut url = self.base.clone();
        url.set_path(&file.location.as_ref().replace('%', "%25"));
        url
    }

    /// Returns the path of a file below the folder.
    pub(crate) fn below<'a>(&self, file: &'a ObjectMeta) -> &'a str {
        let base = Path::from_url_path(self.base.path()).unwrap_or_default();
        let path = file.location.as_ref();
        let rest = path.strip_prefix(base.as_ref()).unwrap_or(path);
        rest.trim_start_matches('/')
    }
}

/// Whether a name can only be meant as files: it has a character that tables rarely have in their names.
pub(crate) fn is_like_path(name: &str) -> bool {
    name.contains(['/', '\\', '.', '*', '?', '['])
}

/// Finds the files of a name; `None` if it is the name of a table that does not exist.
pub(crate) async fn find(state: &SessionState, name: &str) -> Result<Option<Found>> {
    let Some((base, place, pattern)) = resolve(name)? else {
        return Ok(None);
    };
    let store = state.runtime_env().object_store_registry.get_store(&base)?;
    let path = Path::from_url_path(base.path())?;
    let (base, place, mut files) = match place {
        Place::File => match store.head(&path).await {
            Ok(file) => (base, place, vec![file]),
            Err(object_store::Error::NotFound { .. }) if base.scheme() != "file" => {
                // In a store, only the objects in a folder show that it exists.
                let mut base = base;
                base.set_path(&format!("{}/", base.path()));
                (base, Place::Folder, folder(&store, &path).await?)
            }
            Err(error) => return Err(error.into()),
        },
        Place::Folder => (base, place, folder(&store, &path).await?),
        Place::Glob => (base, place, matching(&store, path, &pattern).await?),
    };
    let some = !files.is_empty();
    files.retain(|file| file.size > 0);
    if files.is_empty() && !is_like_path(name) {
        // A table may have the name of a folder.
        return Ok(None);
    }
    if files.is_empty() {
        let which = if some {
            "the file is empty"
        } else {
            "there is no file"
        };
        return plan_err!("`{name}`: {which}");
    }
    files.sort_unstable_by(|a, b| a.location.cmp(&b.location));
    Ok(Some(Found {
        store,
        base,
        place,
        files,
    }))
}

/// Returns the URL of a file or folder, and the pattern of a glob below it; `None` if nothing has this name.
fn resolve(name: &str) -> Result<Option<(Url, Place, String)>> {
    let (before_glob, pattern) = match split_glob(name) {
        Some((before, pattern)) => (before, pattern),
        None => (name, ""),
    };
    if is_url(name) {
        let url = Url::parse(before_glob).map_err(|e| DataFusionError::External(Box::new(e)))?;
        if url.scheme() != "file" {
            let place = match (pattern.is_empty(), url.path().ends_with('/')) {
                (false, _) => Place::Glob,
                (true, true) => Place::Folder,
                (true, false) => Place::File,
            };
            return Ok(Some((url, place, pattern.to_owned())));
        }
        let Ok(path) = url.to_file_path() else {
            return plan_err!("`{name}` is not a path of this machine");
        };
        let name = format!("{}/{pattern}", path.display());
        return local(name.trim_end_matches('/'));
    }
    local(name)
}

fn local(name: &str) -> Result<Option<(Url, Place, String)>> {
    let path = std::path::Path::new(name);
    let found = match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Some((path, Place::Folder, "")),
        Ok(_) => Some((path, Place::File, "")),
        Err(_) => None,
    };
    let found = match (found, split_glob(name)) {
        (None, Some((before, pattern))) => {
            let before = if before.is_empty() { "." } else { before };
            let folder = std::path::Path::new(before);
            folder.is_dir().then_some((folder, Place::Glob, pattern))
        }
        (found, _) => found,
    };
    let Some((path, place, pattern)) = found else {
        if is_like_path(name) {
            return plan_err!("`{name}`: there is no file{}", similar(path));
        }
        return Ok(None);
    };
    // A link to a file keeps its name, because the suffix shows the format.
    let url = match (place, path.parent(), path.file_name()) {
        (Place::File, Some(parent), Some(file)) => {
            let parent = if parent.as_os_str().is_empty() {
                std::path::Path::new(".")
            } else {
                parent
            };
            Url::from_file_path(parent.canonicalize()?.join(file))
        }
        _ => Url::from_directory_path(path.canonicalize()?),
    };
    match url {
        Ok(url) => Ok(Some((url, place, pattern.to_owned()))),
        Err(()) => plan_err!("`{name}` is not an absolute path"),
    }
}

/// Returns advice for a misspelt name: the most similar one in the same folder.
fn similar(path: &std::path::Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str());
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(std::path::Path::new(".")));
    let (Some(name), Ok(entries)) = (name, entries) else {
        return String::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.take(10_000).collect();
    match crate::names::nearest(name, names.iter().map(String::as_str)) {
        Some(nearest) => {
            let path = folder.map_or_else(|| nearest.into(), |folder| folder.join(nearest));
            format!("; did you mean `{}`?", path.display())
        }
        None => String::new(),
    }
}

/// Splits a name before the first part with a character of globs.
fn split_glob(name: &str) -> Option<(&str, &str)> {
    let first = name.find(['*', '?', '['])?;
    let start = name[..first].rfind('/').map_or(0, |slash| slash + 1);
    Some((&name[..start], &name[start..]))
}

/// Lists a folder with its subfolders. Files and folders are skipped if their names begin with a dot or underscore.
async fn folder(store: &Arc<dyn ObjectStore>, path: &Path) -> Result<Vec<ObjectMeta>> {
    let files: Vec<ObjectMeta> = store.list(Some(path)).try_collect().await?;
    let depth = path.parts().count();
    let is_visible = |file: &ObjectMeta| {
        let mut below = file.location.parts().skip(depth);
        below.all(|part| !part.as_ref().starts_with(['.', '_']))
    };
    Ok(files.into_iter().filter(is_visible).collect())
}

const STRICT: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Lists the files below a folder that match a glob, and no more folders than it asks for.
async fn matching(
    store: &Arc<dyn ObjectStore>,
    base: Path,
    pattern: &str,
) -> Result<Vec<ObjectMeta>> {
    let invalid = |error: glob::PatternError| {
        DataFusionError::Plan(format!("`{pattern}` is not a valid glob: {error}"))
    };
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let mut folders = vec![base];
    for (i, part) in parts.iter().enumerate() {
        if *part == "**" {
            let pattern = Pattern::new(&parts[i..].join("/")).map_err(invalid)?;
            let mut files = Vec::new();
            for folder in folders {
                let depth = folder.parts().count();
                let mut listed = store.list(Some(&folder));
                while let Some(file) = listed.try_next().await? {
                    let below: Vec<_> = file.location.parts().skip(depth).collect();
                    let below: Vec<&str> = below.iter().map(AsRef::as_ref).collect();
                    if pattern.matches_with(&below.join("/"), STRICT) {
                        files.push(file);
                    }
                }
            }
            return Ok(files);
        }
        let pattern = Pattern::new(part).map_err(invalid)?;
        let is_match = |path: &Path| {
            let name = path.filename();
            name.is_some_and(|name| pattern.matches_with(name, STRICT))
        };
        let is_last = i + 1 == parts.len();
        let (mut files, mut below) = (Vec::new(), Vec::new());
        for folder in folders {
            let listed = match store.list_with_delimiter(Some(&folder)).await {
                Err(object_store::Error::NotFound { .. }) => continue,
                listed => listed?,
            };
            if is_last {
                files.extend(
                    listed
                        .objects
                        .into_iter()
                        .filter(|it| is_match(&it.location)),
                );
            } else {
                below.extend(listed.common_prefixes.into_iter().filter(is_match));
            }
        }
        if is_last {
            return Ok(files);
        }
        folders = below;
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    async fn store(names: &[&str]) -> Arc<dyn ObjectStore> {
        let store = InMemory::new();
        for name in names {
            let path = Path::from(*name);
            store.put(&path, "x".into()).await.unwrap();
        }
        Arc::new(store)
    }

    fn names(files: Vec<ObjectMeta>) -> Vec<String> {
        let mut names: Vec<String> = files.iter().map(|it| it.location.to_string()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn a_star_stays_in_its_folder_and_two_stars_do_not() {
        let store = store(&["d/a.csv", "d/x/b.csv", "d/x/y/c.csv", "d/.h.csv", "e/d.csv"]).await;
        for (pattern, want) in [
            ("*.csv", &["d/a.csv"][..]),
            ("*/*.csv", &["d/x/b.csv"]),
            ("x/[a-b].csv", &["d/x/b.csv"]),
            ("**/*.csv", &["d/a.csv", "d/x/b.csv", "d/x/y/c.csv"]),
            ("*/**/c.csv", &["d/x/y/c.csv"]),
            ("*.parquet", &[]),
        ] {
            let found = matching(&store, Path::from("d"), pattern).await.unwrap();
            assert_eq!(names(found), want, "{pattern}");
        }
        assert!(matching(&store, Path::from("d"), "[").await.is_err());
    }

    #[tokio::test]
    async fn a_folder_has_no_hidden_files() {
        let store = store(&[
            "d/a.csv",
            "d/.h.csv",
            "d/_log/b.csv",
            "d/x/c.csv",
            "dd/e.csv",
        ])
        .await;
        let found = folder(&store, &Path::from("d")).await.unwrap();
        assert_eq!(names(found), ["d/a.csv", "d/x/c.csv"]);
    }

    #[test]
    fn globs_begin_at_a_part_of_the_path() {
        assert_eq!(split_glob("a/b*/c"), Some(("a/", "b*/c")));
        assert_eq!(split_glob("*.csv"), Some(("", "*.csv")));
        assert_eq!(
            split_glob("s3://b/d/[x].csv"),
            Some(("s3://b/d/", "[x].csv"))
        );
        assert_eq!(split_glob("a/b"), None);
    }
}
