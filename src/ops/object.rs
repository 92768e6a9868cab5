//! Shards in object stores.

use super::commit::{EditSummary, Files, Naming, Needed, Referred};
use super::editor::ShardEditor;
use super::overlap::{object_id, refuse};
use super::place::{FileRole, Place};
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::{check_output_name, names_of};
use crate::read::ShardOptions;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    UpdateVersion,
};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// Number of concurrent requests.
pub(super) const AT_ONCE: usize = 32;

impl ShardEditor {
    /// Opens the shard with the object at `path` as its directory file.
    ///
    /// Use the asynchronous methods of the editor, and [`commit_object`](Self::commit_object) or
    /// [`commit_object_to`](Self::commit_object_to).
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open_object`].
    pub async fn open_object(store: Arc<dyn ObjectStore>, path: &Path) -> Result<Self> {
        Self::open_object_with(store, path, ShardOptions::default()).await
    }

    /// Opens the shard with the object at `path` as its directory file, with options, such as limits for a shard that
    /// you do not trust. [`append_object`](Self::append_object) opens other shards with the same options.
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open_object`].
    pub async fn open_object_with(
        store: Arc<dyn ObjectStore>,
        path: &Path,
        options: ShardOptions,
    ) -> Result<Self> {
        let shard = Shard::open_object(store, path, options.clone()).await?;
        let editor = Self::of(shard, place_of(path)).await?;
        Ok(editor.with_options(options))
    }

    /// Appends the stripes of another shard in the same store, with the object at `path` as its directory file:
    /// `append` for objects.
    ///
    /// # Errors
    /// Returns the errors of [`Shard::open_object`], [`SchemaMismatch`](ErrorKind::SchemaMismatch) if columns of the
    /// same name have different types, and [`Unsupported`](ErrorKind::Unsupported) if fixed-size lists of
    /// `Wire::Reference` would be combined with stripes of `Wire::Spec`. After an error, the editor is unchanged.
    pub async fn append_object(&mut self, store: Arc<dyn ObjectStore>, path: &Path) -> Result<()> {
        let shard = Shard::open_object(store, path, self.options().clone()).await?;
        self.append_at(shard, place_of(path)).await
    }

    /// Checks that no two shards of this editor refer to the same data: `check_distinct` for objects.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument), which names two of the shards, or errors of the
    /// metadata.
    pub async fn check_distinct_objects(&self) -> Result<()> {
        refuse(self.sources(), object_id).await
    }

    /// Replaces the directory of the shard that was opened. Readers that have the shard open must open it again,
    /// because reads of the directory file require the old object. Reads of stripe files continue to work. Without
    /// [changes](Self::has_changes), the object is not touched.
    ///
    /// # Errors
    /// Returns [`Conflict`](ErrorKind::Conflict) if the object, or the object of an appended shard, has been replaced
    /// since it was opened;
    /// [`Unsupported`](ErrorKind::Unsupported) if the object holds rows as well, so that other shards may refer to it,
    /// or if the store has no conditional writes; errors of the metadata; or errors of the store.
    pub async fn commit_object(self, store: Arc<dyn ObjectStore>) -> Result<EditSummary> {
        Ok(self.put_into(store, None).await?)
    }

    /// Writes the directory file as the object at `target`, which must not exist. The shards that it refers to must be
    /// in its folder, or in subfolders. If an object holds rows as well as a directory, it must never be replaced
    /// afterwards. This method checks that it has not been replaced shortly before it writes the directory, and every
    /// read compares the checksums of the bytes.
    ///
    /// # Errors
    /// Returns [`Conflict`](ErrorKind::Conflict) if one of the objects has been replaced since it was opened,
    /// [`AlreadyExists`](ErrorKind::AlreadyExists), [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) for shards outside of the
    /// folder, errors of the metadata, or errors of the store.
    pub async fn commit_object_to(
        self,
        store: Arc<dyn ObjectStore>,
        target: &Path,
    ) -> Result<EditSummary> {
        Ok(self.put_into(store, Some(target)).await?)
    }

    /// Writes the directory to `target`, or in place.
    pub(super) async fn put_into(
        self,
        store: Arc<dyn ObjectStore>,
        target: Option<&Path>,
    ) -> Result<EditSummary, NotCommitted> {
        let (path, to, files) = match target {
            Some(target) => {
                let name = target.filename().unwrap_or_default();
                check_output_name(name).within(|| target.to_string())?;
                let files = self.files(Some(&place_of(target)), Naming::AsItIs).await?;
                (target.clone(), To::New, files)
            }
            None if !self.has_changes() => return Ok(self.unchanged().await?),
            None => {
                let e_tag = self.version().ok_or_else(|| {
                    Error::unsupported(
                        "the store does not tell one object from another of the same name",
                    )
                })?;
                self.check_replaceable().await?;
                let path = path_of(self.place());
                let files = self.files(None, Naming::AsItIs).await?;
                (path, To::Replace(e_tag), files)
            }
        };
        let written = write(&*store, &path, files, to).await;
        written.map_err(|failed| NotCommitted {
            error: failed.error.within(path.to_string()),
            ..failed
        })
    }
}

/// How to treat an existing object of the same name.
enum To {
    /// It is an error, and the object stays.
    New,
    /// It is replaced if it has this e-tag.
    Replace(String),
}

/// The error of a directory that was not written, as far as the client knows.
#[derive(Debug)]
pub(super) struct NotCommitted {
    pub(super) error: Error,
    /// Whether the directory may exist nevertheless: a store may have completed the request before it failed. The
    /// objects that the directory refers to must stay then.
    pub(super) may_be_there: bool,
}

impl From<Error> for NotCommitted {
    fn from(error: Error) -> Self {
        Self {
            error,
            may_be_there: false,
        }
    }
}

impl From<NotCommitted> for Error {
    fn from(failed: NotCommitted) -> Self {
        failed.error
    }
}

/// Lists the objects of a folder that may be shards by their names, sorted. It skips objects in subfolders, stripe
/// files, and temporary files, as [`list_shards`](super::list_shards) does. `None` is the root of the store.
///
/// # Errors
/// Returns the errors of the store.
pub async fn list_shard_objects(
    store: Arc<dyn ObjectStore>,
    folder: Option<&Path>,
) -> Result<Vec<ObjectMeta>> {
    let listed = store.list_with_delimiter(folder).await.map_err(|error| {
        let folder = folder.map_or("", |folder| folder.as_ref());
        let message = format!("the store failed to list `{folder}`");
        Error::new(ErrorKind::Io, message).caused_by(error)
    })?;
    let mut objects = listed.objects;
    objects.retain(|object| {
        let name = object.location.filename().unwrap_or_default();
        FileRole::of(OsStr::new(name)) == FileRole::Shard
    });
    objects.sort_by(|a, b| a.location.cmp(&b.location));
    Ok(objects)
}

/// Writes the objects of a shard, the directory last.
async fn write(
    store: &dyn ObjectStore,
    path: &Path,
    files: Files,
    to: To,
) -> Result<EditSummary, NotCommitted> {
    let is_replaced = matches!(to, To::Replace(_));
    // Conflicts are found before anything is written that would have to be removed again.
    let mode = mode(store, path, to).await?;
    check_unchanged(store, &files.as_they_are).await?;
    check_needed(store, path, &files, is_replaced).await?;
    let mut written: Vec<Path> = Vec::new();
    for (name, bytes) in files.others {
        let other = beside(path, name);
        let done = put(store, &other, bytes, PutMode::Create).await;
        written.push(other);
        if let Err(error) = done {
            delete_all(store, &written).await;
            return Err(error.into());
        }
    }
    let Err(error) = put(store, path, files.directory.into(), mode).await else {
        return Ok(files.summary);
    };
    if error.kind() == ErrorKind::Unsupported {
        delete_all(store, &written).await;
        return Err(error.into());
    }
    Err(NotCommitted {
        error,
        may_be_there: true,
    })
}

/// Returns the mode of the write, or the error if the present object does not allow it.
async fn mode(store: &dyn ObjectStore, path: &Path, to: To) -> Result<PutMode> {
    let found = match store.head(path).await {
        Ok(found) => Some(found),
        Err(StoreError::NotFound { .. }) => None,
        Err(error) => {
            let failed = Error::new(ErrorKind::Io, "the store failed to tell what is there");
            return Err(failed.caused_by(error));
        }
    };
    match (to, found) {
        (To::New, None) => Ok(PutMode::Create),
        (To::New, Some(_)) => Err(already_exists()),
        (To::Replace(e_tag), Some(found)) if found.e_tag.as_ref() == Some(&e_tag) => {
            // Some stores compare the e-tag, and some the version.
            Ok(PutMode::Update(UpdateVersion {
                e_tag: Some(e_tag),
                version: found.version,
            }))
        }
        (To::Replace(_), _) => Err(conflict()),
    }
}

fn already_exists() -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        "the object exists; choose another name",
    )
}

fn conflict() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "the object was replaced or removed meanwhile, and is left as it is; open it again and repeat the \
         change",
    )
}

/// Deletes objects that nothing refers to. Errors are ignored, because the caller reports an earlier one.
pub(super) async fn delete_all(store: &dyn ObjectStore, objects: &[Path]) {
    for object in objects {
        let _ = store.delete(object).await;
    }
}

/// Returns the path of an object with that name in the folder of `path`.
pub(super) fn beside(path: &Path, name: String) -> Path {
    let mut parts: Vec<_> = path.parts().collect();
    parts.pop();
    Path::from_iter(parts).join(name)
}

/// Checks that the objects are still the ones that were opened: otherwise the directory would refer to bytes of other
/// objects.
async fn check_unchanged(store: &dyn ObjectStore, files: &[Referred]) -> Result<()> {
    let check = |file: Referred| async move {
        if file.version.is_none() {
            return Ok(());
        }
        match store.head(&path_of(&file.place)).await {
            Ok(found) if found.e_tag == file.version => Ok(()),
            Ok(_) | Err(StoreError::NotFound { .. }) => Err(file.conflict()),
            Err(error) => {
                let message = format!("the store failed to tell of `{}`", file.place);
                Err(Error::new(ErrorKind::Io, message).caused_by(error))
            }
        }
    };
    let checks = stream::iter(files.to_vec()).map(check);
    checks.buffer_unordered(AT_ONCE).try_collect().await
}

/// Checks that the directory at `path` can refer to its objects. Skips objects that the replaced directory refers to,
/// and objects with a version that `check_unchanged` has compared.
async fn check_needed(
    store: &dyn ObjectStore,
    path: &Path,
    files: &Files,
    is_replaced: bool,
) -> Result<()> {
    let compared: HashSet<Path> = (files.as_they_are.iter())
        .filter(|file| file.version.is_some())
        .map(|file| path_of(&file.place))
        .collect();
    let place = place_of(path);
    let needed: Vec<(Path, Needed)> = (files.needed.iter())
        .map(|needed| (path_of(&place.beside(&needed.url)), needed.clone()))
        .filter(|(object, needed)| !compared.contains(object) && (needed.is_new || !is_replaced))
        .collect();
    let check = |(object, needed): (Path, Needed)| async move {
        let checked = match store.head(&object).await {
            Ok(found) => needed.check_size(found.size),
            Err(error @ StoreError::NotFound { .. }) => {
                let missing = Error::new(ErrorKind::NotFound, "the object does not exist");
                Err(missing.caused_by(error))
            }
            Err(error) => {
                let message = format!("the store did not answer for `{object}`");
                return Err(Error::new(ErrorKind::Io, message).caused_by(error));
            }
        };
        checked.map_err(|error| needed.unfit(&error.within(format!("`{object}`"))))
    };
    let checks = stream::iter(needed).map(check);
    checks.buffer_unordered(AT_ONCE).try_collect().await
}

async fn put(store: &dyn ObjectStore, path: &Path, bytes: Bytes, mode: PutMode) -> Result<()> {
    let options = PutOptions::from(mode);
    let Err(error) = store.put_opts(path, bytes.clone().into(), options).await else {
        return Ok(());
    };
    let failed = match &error {
        StoreError::AlreadyExists { .. } => already_exists(),
        StoreError::Precondition { .. } | StoreError::NotFound { .. } => conflict(),
        StoreError::NotImplemented { .. } | StoreError::NotSupported { .. } => {
            let message = "the store has no conditional writes; commit to another name";
            return Err(Error::unsupported(message).caused_by(error));
        }
        _ => Error::new(ErrorKind::Io, "the store failed to write the object"),
    };
    // If the response to a write is lost, the client sends it again, and the retry fails because the object exists. So
    // the error does not count if the object has the bytes.
    if let Ok(found) = store.get(path).await
        && found.meta.size == bytes.len() as u64
        && found.bytes().await.is_ok_and(|found| found == bytes)
    {
        return Ok(());
    }
    Err(failed.caused_by(error))
}

pub(super) fn place_of(path: &Path) -> Place {
    Place::object(names_of(path))
}

pub(super) fn path_of(place: &Place) -> Path {
    Path::from_iter(place.names().iter().map(String::as_str))
}
