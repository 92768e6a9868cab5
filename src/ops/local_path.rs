//! Converts local paths to places of an edit, and back.

use super::place::Place;
use crate::error::{Error, ErrorKind, Result};
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};

pub(super) fn path_of(place: &Place) -> PathBuf {
    let mut names = place.names().iter();
    let root = match names.as_slice().first() {
        // On Windows, the first name is the drive.
        Some(drive) if cfg!(windows) => {
            names.next();
            format!("{drive}{MAIN_SEPARATOR}")
        }
        _ => MAIN_SEPARATOR.to_string(),
    };
    names.fold(PathBuf::from(root), |path, name| path.join(name))
}

pub(super) fn place_of(path: &Path) -> Result<Place> {
    let names = path.components().filter(|c| *c != Component::RootDir);
    let names = names.map(|name| {
        let name = name.as_os_str().to_str();
        name.map(str::to_owned).ok_or_else(|| {
            let path = path.display();
            Error::new(
                ErrorKind::Unsupported,
                format!("no shard can refer to `{path}`, whose name is not Unicode"),
            )
        })
    });
    Ok(Place::local(names.collect::<Result<Vec<_>>>()?))
}
