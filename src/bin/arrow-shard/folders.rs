//! The files of folders, either local or in a store.

use arrow_shard::Result;
use arrow_shard::io::Location;
use arrow_shard::ops::list_files_async;
use std::path::{Path, PathBuf};

/// Lists the files of a folder and its subfolders, sorted and without hidden ones. Each comes with its path below the
/// folder, or its whole path if a symbolic link leads elsewhere.
pub(crate) async fn files_below(folder: &Location) -> Result<Vec<(Location, PathBuf)>> {
    let files = list_files_async(folder.clone()).await?;
    let root = folder.path().and_then(|path| path.canonicalize().ok());
    let root = root.unwrap_or_else(|| PathBuf::from(folder.name()));
    let below = |file: Location| {
        let path = Path::new(file.name());
        let path = path.strip_prefix(&root).unwrap_or(path).to_owned();
        (file, path)
    };
    Ok(files.into_iter().map(below).collect())
}
