//! Writes the files of a changed shard to its store.

use super::commit::{EditSummary, Files, Needed};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{FormatVersion, HEADER};
use crate::io::{ByteRange, Existing, Held, NewFiles, NotWritten, Opened, Place, Store};
use std::collections::HashSet;

/// Writes the files of a shard with its directory file at `target`, the directory last.
pub(super) async fn put(
    store: &Store,
    target: &Place,
    existing: Existing,
    files: Files,
) -> Result<EditSummary, NotWritten> {
    let is_replaced = matches!(existing, Existing::ReplacedIf(_));
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

/// Checks that the directory at `target` can refer to its files. A store that answers later is not asked for files that
/// the replaced directory refers to, and not for those whose version the write compares.
async fn check_needed(
    store: &Store,
    target: &Place,
    files: &Files,
    is_replaced: bool,
) -> Result<()> {
    let is_near = store.is_near();
    let compared: HashSet<&Place> = (files.as_they_are.iter())
        .filter(|file| file.version.is_some())
        .map(|file| &file.place)
        .collect();
    for needed in &files.needed {
        let place = target.beside(&needed.url);
        if is_near || (!compared.contains(&place) && (needed.is_new || !is_replaced)) {
            let checked = check(store, &place, needed).await;
            checked.map_err(|error| match error.kind() {
                ErrorKind::Io => error,
                _ => needed.unfit(&error),
            })?;
        }
    }
    Ok(())
}

/// Checks that a file exists, is long enough, and, if that costs no request, begins with the header of the format.
async fn check(store: &Store, place: &Place, needed: &Needed) -> Result<()> {
    let within = || place.element();
    if let Ok(Opened::Blocking(file, _)) = store.home().open(place, Held::Open) {
        let checked = || {
            needed.check_size(file.size()?)?;
            let header = file.read_at(ByteRange::with_len(0, HEADER.len() as u64)?)?;
            FormatVersion::parse(&header, "header")
        };
        return checked().map(|_| ()).within(within);
    }
    match store.home().look(place).await? {
        Some(found) => needed.check_size(found.bytes).within(within),
        None => {
            let missing = Error::new(ErrorKind::NotFound, "the file does not exist");
            Err(missing.within(within()))
        }
    }
}
