//! Stripe objects of a store that no directory refers to any more.

use super::VacuumOptions;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::ops::object::{AT_ONCE, place_of};
use crate::ops::place::{FileRole, Place, is_of_another_kind};
use crate::read::ShardOptions;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

/// An object that no directory refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedObject {
    /// Where it is, or was.
    pub path: Path,
    /// Its size.
    pub bytes: u64,
}

/// As `vacuum`, of the objects below a prefix; `None` stands for all of the store. Directory files
/// elsewhere are not looked at.
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
/// Those of the store, and of a directory file that is damaged or was removed meanwhile: nothing is removed
/// then.
pub async fn vacuum_objects(
    store: Arc<dyn ObjectStore>,
    prefix: Option<&Path>,
    options: &VacuumOptions,
) -> Result<Vec<UnusedObject>> {
    // Before the directories: a stripe that appears later is in use.
    let (stripes, mut directories) = list(&*store, prefix).await?;
    let (mut used, mut read) = (HashSet::new(), HashSet::new());
    let mut work = options.directories();
    // Until there are none that were not read: while one was, another may have taken over its stripes.
    loop {
        directories.retain(|object| read.insert((object.location.clone(), version(object))));
        if directories.is_empty() {
            break;
        }
        work.expect(directories.len());
        let opened = stream::iter(directories)
            .map(|object| used_by(store.clone(), object.location))
            .buffer_unordered(AT_ONCE);
        let mut opened = pin!(opened);
        while let Some(places) = opened.try_next().await? {
            used.extend(places);
            work.add(1)?;
        }
        directories = list(&*store, prefix).await?.1;
    }
    let is_old = |object: &ObjectMeta| options.is_old(SystemTime::from(object.last_modified));
    let unused = stripes
        .into_iter()
        .filter(|object| is_old(object) && !used.contains(&place_of(&object.location)));
    let mut unused: Vec<UnusedObject> = unused
        .map(|object| UnusedObject {
            path: object.location,
            bytes: object.size,
        })
        .collect();
    unused.sort_by(|a, b| a.path.cmp(&b.path));
    if !options.dry_run {
        for object in &unused {
            let removed = store.delete(&object.path).await.map_err(failed);
            removed.within(|| object.path.to_string())?;
        }
    }
    Ok(unused)
}

/// The stripes, and the directories and objects of other kinds.
async fn list(
    store: &dyn ObjectStore,
    prefix: Option<&Path>,
) -> Result<(Vec<ObjectMeta>, Vec<ObjectMeta>)> {
    let listed: Vec<ObjectMeta> = store.list(prefix).try_collect().await.map_err(failed)?;
    let (mut stripes, mut directories) = (Vec::new(), Vec::new());
    for object in listed {
        match FileRole::of(OsStr::new(object.location.filename().unwrap_or_default())) {
            FileRole::Stripes => stripes.push(object),
            FileRole::Shard => directories.push(object),
            FileRole::Temporary => {}
        }
    }
    Ok((stripes, directories))
}

/// What another object of the same name has not.
fn version(object: &ObjectMeta) -> (Option<String>, SystemTime, u64) {
    let changed = SystemTime::from(object.last_modified);
    (object.e_tag.clone(), changed, object.size)
}

/// Where the objects are that a directory refers to.
async fn used_by(store: Arc<dyn ObjectStore>, path: Path) -> Result<Vec<Place>> {
    let place = place_of(&path);
    match Shard::open_object(store, &path, ShardOptions::default()).await {
        Ok(shard) => {
            let urls = shard.urls().await?;
            Ok(urls.iter().map(|url| place.beside(url)).collect())
        }
        // One that was removed meanwhile may have another name now, which was not listed.
        Err(e) if is_of_another_kind(path.as_ref(), &e) => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

fn failed(error: StoreError) -> Error {
    Error::new(ErrorKind::Io, "the store failed").caused_by(error)
}
