//! Lists the files of a folder and its subfolders.

use crate::error::Result;
use crate::io::{Location, Place};
use crate::read::ready_now;
use std::ffi::OsString;

/// Lists the files of a folder and its subfolders, sorted by name. It skips files and folders with names that begin
/// with `_` or `.`, as other readers of tables do.
///
/// # Errors
/// Returns the errors of the store, such as [`NotFound`](crate::ErrorKind::NotFound) for a missing local folder, and
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if it is asynchronous: use [`list_files_async`].
pub fn list_files(folder: impl Into<Location>) -> Result<Vec<Location>> {
    let folder = folder.into();
    folder.store().check_near("list_files_async")?;
    ready_now(list_files_async(folder))
}

/// Lists the files of a folder and its subfolders, in any store: the asynchronous form of [`list_files`].
///
/// # Errors
/// Returns the errors of the store.
pub async fn list_files_async(folder: impl Into<Location>) -> Result<Vec<Location>> {
    let folder = folder.into();
    let home = folder.home();
    let listed = home.list(folder.name()).await?;
    let mut places: Vec<Place> = listed.into_iter().map(|file| file.place).collect();
    // The names above the folder do not matter.
    let above = home.find(folder.name()).ok();
    places.retain(|place| {
        let above = above.as_ref().map_or(&[][..], Place::names);
        let below = place.names().strip_prefix(above);
        !below.unwrap_or_else(|| place.names()).iter().any(is_hidden)
    });
    let mut names: Vec<_> = places.iter().map(|place| home.name_of(place)).collect();
    names.sort();
    // A symbolic link and its target are one file.
    names.dedup();
    Ok(names.iter().map(|name| folder.store().at(name)).collect())
}

fn is_hidden(name: &OsString) -> bool {
    name.to_string_lossy().starts_with(['_', '.'])
}
