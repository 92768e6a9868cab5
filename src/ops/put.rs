//! Writes the files of a changed shard to its store.

use super::commit::{CommitFiles, EditSummary};
use super::members::all_at_once;
use super::needed_files::NeededFile;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{FormatVersion, HEADER};
use crate::io::{
    ByteRange, Container, ExistingFile, FileContainer, NewFiles, NotWritten, Place, Store,
};
use std::collections::HashSet;

/// Writes the files of a shard with its directory file at `target`, the directory last.
pub(super) async fn put(
    store: &Store,
    target: &Place,
    existing: ExistingFile,
    files: CommitFiles,
) -> Result<EditSummary, NotWritten> {
    let is_replaced = matches!(existing, ExistingFile::ReplacedIf(_));
    // Before the other objects are asked for, which may be many.
    if !store.is_near() && matches!(existing, ExistingFile::Kept) {
        check_new(store, target).await?;
    }
    check_needed(store, target, &files, is_replaced).await?;
    let new = NewFiles {
        directory: files.directory.into(),
        others: files.others,
        kept: files.kept,
        as_they_are: files.as_they_are,
    };
    let names = store.home().write(target, existing, new).await?;
    Ok(files.summary.with_names(names))
}

/// Fails if a file exists.
pub(super) async fn check_new(store: &Store, target: &Place) -> Result<()> {
    match store.home().look(target).await? {
        None => Ok(()),
        Some(_) => {
            let message = "it exists; choose another name";
            Err(Error::new(ErrorKind::AlreadyExists, message).within(target.element()))
        }
    }
}

/// Checks that the directory at `target` can refer to its files. In an asynchronous store, this skips the files of
/// the replaced directory, and files that the write checks by their version.
pub(super) async fn check_needed(
    store: &Store,
    target: &Place,
    files: &CommitFiles,
    is_replaced: bool,
) -> Result<()> {
    let folder = match store.home().container(target.folder())? {
        FileContainer::Blocking(folder) => Some(folder),
        FileContainer::Async(_) => None,
    };
    let compared: HashSet<&Place> = (files.as_they_are.iter())
        .filter(|file| file.version.is_some())
        .map(|file| &file.place)
        .collect();
    let mut distant = Vec::new();
    for needed in &files.needed {
        let place = target.beside(&needed.url);
        match &folder {
            Some(folder) => check(&**folder, needed).map_err(|error| needed.unfit(&error))?,
            None if compared.contains(&place) || (is_replaced && !needed.is_new) => {}
            None => distant.push(check_size(store, place, needed)),
        }
    }
    all_at_once(distant).await
}

/// Checks that a file exists in the folder, is long enough, and begins with the header of the format, if it is of this
/// format.
fn check(folder: &dyn Container, needed: &NeededFile) -> Result<()> {
    let file = match folder.open(&needed.url) {
        // A link to a place that the readers of the sources have been allowed.
        Err(error) if needed.is_external && error.kind() == ErrorKind::ForbiddenUrl => {
            return Ok(());
        }
        opened => opened?,
    };
    let checked = || {
        needed.check_size(file.size()?)?;
        if !needed.is_external {
            let header = file.read_at(ByteRange::with_len(0, HEADER.len() as u64)?)?;
            FormatVersion::parse(&header, "header")?;
        }
        Ok(())
    };
    checked().within(|| format!("file `{}`", needed.url.path()))
}

/// Checks that a file of a store exists and is long enough.
async fn check_size(store: &Store, place: Place, needed: &NeededFile) -> Result<()> {
    let checked = match store.home().look(&place).await? {
        Some(found) => needed.check_size(found.bytes),
        None => Err(Error::new(ErrorKind::NotFound, "the object does not exist")),
    };
    let checked = checked.within(|| place.element());
    checked.map_err(|error| needed.unfit(&error))
}
