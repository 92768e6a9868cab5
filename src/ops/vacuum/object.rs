//! Removes stripe objects of a store that no directory refers to.

use super::VacuumOptions;
use super::other_format::{HEAD_BYTES, TAIL_BYTES, doubtful, is_other_format};
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::MAGIC;
use crate::io::is_own_stripe_file;
use crate::ops::object::{AT_ONCE, place_of};
use crate::ops::place::{FileRole, Place, is_of_another_kind};
use crate::ops::source::node_ids;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

/// An object that no directory refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedObject {
    /// The path of the object, which is removed unless this is a dry run.
    pub path: Path,
    /// The size in bytes.
    pub bytes: u64,
}

/// Finds the stripe objects below a prefix that no directory file there refers to, and removes them, as `vacuum` does
/// with files. `None` is the whole store. Directory files elsewhere are not read.
///
/// A killed writer leaves parts of an upload, which are not listed and stay: set a rule for incomplete multipart
/// uploads in the store.
///
/// ```no_run
/// # use arrow_shard::ops::{VacuumOptions, vacuum_objects};
/// # use object_store::{ObjectStore, path::Path};
/// # async fn clean(store: std::sync::Arc<dyn ObjectStore>) -> arrow_shard::Result<()> {
/// let options = VacuumOptions::default().with_dry_run(true);
/// for object in vacuum_objects(store, Some(&Path::from("tables")), &options).await? {
///     println!("{}: {} bytes", object.path, object.bytes);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails without removing anything if a directory file cannot be read, because it is damaged or was removed in the
/// meantime. If there are stripes to remove, an object that may be a damaged directory file is also an error:
/// [`NotAShard`](ErrorKind::NotAShard) for an object that is empty, or is neither text nor of a known format. Other
/// errors are errors of the store.
pub async fn vacuum_objects(
    store: Arc<dyn ObjectStore>,
    prefix: Option<&Path>,
    options: &VacuumOptions,
) -> Result<Vec<UnusedObject>> {
    // Listed before the directories are read: a stripe that appears later is in use.
    let (stripes, mut directories) = list(&*store, prefix).await?;
    let (mut used, mut read) = (HashSet::new(), HashSet::new());
    let mut doubts = Vec::new();
    let mut work = options.directories();
    // Until a listing has no new directory: a directory that appeared during the reads may have taken over stripes.
    loop {
        directories.retain(|object| read.insert((object.location.clone(), version(object))));
        if directories.is_empty() {
            break;
        }
        work.expect(directories.len());
        let opened = stream::iter(directories)
            .map(|object| used_by(store.clone(), object, options))
            .buffer_unordered(AT_ONCE);
        let mut opened = pin!(opened);
        while let Some(found) = opened.try_next().await? {
            match found {
                Found::Shard(places) => used.extend(places),
                Found::Other => {}
                Found::Doubt(path) => doubts.push(path),
            }
            work.add(1)?;
        }
        directories = list(&*store, prefix).await?.1;
    }
    let is_old = |object: &ObjectMeta| options.is_old(SystemTime::from(object.last_modified));
    let candidates = stripes
        .into_iter()
        .filter(|object| is_old(object) && !used.contains(&place_of(&object.location)));
    let checked = stream::iter(candidates)
        .map(|object| begins_with_magic(&*store, object))
        .buffer_unordered(AT_ONCE);
    let checked: Vec<Option<ObjectMeta>> = checked.try_collect().await?;
    let mut unused: Vec<UnusedObject> = (checked.into_iter().flatten())
        .map(|object| UnusedObject {
            path: object.location,
            bytes: object.size,
        })
        .collect();
    if !unused.is_empty()
        && let Some(doubt) = doubts.iter().min()
    {
        return Err(doubtful().within(doubt.to_string()));
    }
    unused.sort_by(|a, b| a.path.cmp(&b.path));
    if !options.dry_run {
        for object in &unused {
            let removed = store.delete(&object.path).await.map_err(failed);
            removed.within(|| object.path.to_string())?;
        }
    }
    Ok(unused)
}

/// Returns the stripes that this crate wrote, and all other objects.
async fn list(
    store: &dyn ObjectStore,
    prefix: Option<&Path>,
) -> Result<(Vec<ObjectMeta>, Vec<ObjectMeta>)> {
    let listed: Vec<ObjectMeta> = store.list(prefix).try_collect().await.map_err(failed)?;
    let is_own = |object: &ObjectMeta| object.location.filename().is_some_and(is_own_stripe_file);
    Ok(listed.into_iter().partition(is_own))
}

/// Returns the attributes that differ for another object of the same name.
fn version(object: &ObjectMeta) -> (Option<String>, SystemTime, u64) {
    let changed = SystemTime::from(object.last_modified);
    (object.e_tag.clone(), changed, object.size)
}

/// The result of reading an object.
enum Found {
    /// A shard that refers to objects at these places.
    Shard(Vec<Place>),
    /// An object that refers to no others.
    Other,
    /// An object that may be a damaged shard.
    Doubt(Path),
}

async fn used_by(
    store: Arc<dyn ObjectStore>,
    object: ObjectMeta,
    options: &VacuumOptions,
) -> Result<Found> {
    let path = &object.location;
    let place = place_of(path);
    let role = FileRole::of(OsStr::new(path.filename().unwrap_or_default()));
    match Shard::open_object(store.clone(), path, options.shard_options()).await {
        Ok(shard) => {
            let references = async { shard.references(&node_ids(&shard).await?).await };
            let urls = references.await.within(|| path.to_string())?;
            let places = urls.iter().map(|url| place.beside(url));
            Ok(Found::Shard(places.collect()))
        }
        // A data file of a stripe has no directory; a copy of a temporary file may have none yet.
        Err(error)
            if role != FileRole::Shard
                && matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotAShard) =>
        {
            Ok(Found::Other)
        }
        // A missing object is an error: it may have another name now, which was not listed.
        Err(error) if is_of_another_kind(path.as_ref(), &error) => {
            let len = |bytes: usize| (bytes as u64).min(object.size);
            let head = bytes(&*store, path, 0..len(HEAD_BYTES)).await?;
            let tail = object.size - len(TAIL_BYTES)..object.size;
            let tail = bytes(&*store, path, tail).await?;
            if is_other_format(&head, &tail) {
                Ok(Found::Other)
            } else {
                Ok(Found::Doubt(object.location))
            }
        }
        Err(error) => Err(error),
    }
}

/// Returns the object if it begins with the header of a shard.
async fn begins_with_magic(
    store: &dyn ObjectStore,
    object: ObjectMeta,
) -> Result<Option<ObjectMeta>> {
    let head = (MAGIC.len() as u64).min(object.size);
    let head = bytes(store, &object.location, 0..head).await?;
    Ok((*head == MAGIC).then_some(object))
}

async fn bytes(store: &dyn ObjectStore, path: &Path, range: Range<u64>) -> Result<Bytes> {
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let bytes = store.get_range(path, range).await.map_err(failed);
    bytes.within(|| path.to_string())
}

fn failed(error: StoreError) -> Error {
    Error::new(ErrorKind::Io, "the store failed").caused_by(error)
}
