//! Shards in object stores.

use super::commit::{EditSummary, Files, Naming, Referred};
use super::editor::ShardEditor;
use super::place::Place;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::names_of;
use crate::read::ShardOptions;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion,
};
use std::sync::Arc;

/// Objects that are asked for at a time.
pub(super) const AT_ONCE: usize = 32;

impl ShardEditor {
    /// As `open`, of a shard whose directory file is the object at `path`.
    ///
    /// Use the asynchronous methods then, and [`commit_object`](Self::commit_object) or
    /// [`commit_object_to`](Self::commit_object_to).
    ///
    /// # Errors
    /// Those of [`Shard::open_object`].
    pub async fn open_object(store: Arc<dyn ObjectStore>, path: &Path) -> Result<Self> {
        let shard = Shard::open_object(store, path, ShardOptions::default()).await?;
        Self::of(shard, place_of(path)).await
    }

    /// As `append`, of a shard in the same store, whose directory file is the object at `path`.
    ///
    /// # Errors
    /// Those of [`Shard::open_object`], [`SchemaMismatch`](ErrorKind::SchemaMismatch) for columns of one
    /// name whose types are not the same, and [`Unsupported`](ErrorKind::Unsupported) for shards of two
    /// [wires](crate::write::Wire). The editor is then as it was.
    pub async fn append_object(&mut self, store: Arc<dyn ObjectStore>, path: &Path) -> Result<()> {
        let shard = Shard::open_object(store, path, ShardOptions::default()).await?;
        self.append_at(shard, place_of(path)).await
    }

    /// Replaces the directory of the shard that was opened. Whoever has it open must open it again: reads
    /// of the directory file are conditional on the object that it was. Those of stripe files go on.
    ///
    /// # Errors
    /// [`Conflict`](ErrorKind::Conflict) if the object, or one of those that were appended, has been replaced
    /// since it was opened;
    /// [`Unsupported`](ErrorKind::Unsupported) if the object holds rows as well, so that other shards may
    /// refer to it, or if the store has no conditional writes; those of the metadata and of the store.
    pub async fn commit_object(self, store: Arc<dyn ObjectStore>) -> Result<EditSummary> {
        let path = path_of(self.place());
        let e_tag = self.version().ok_or_else(|| {
            Error::unsupported("the store does not tell one object from another of the same name")
        })?;
        let files = self.files(None, Naming::AsItIs).await?;
        let mode = PutMode::Update(UpdateVersion {
            e_tag: Some(e_tag),
            version: None,
        });
        let written = write(&*store, &path, files, mode).await;
        written.within(|| path.to_string())
    }

    /// Writes the directory file as the object at `target`, which must not exist. The shards that it refers
    /// to must be in its folder, or in folders below. Objects that hold rows beside a directory must never be
    /// replaced after that: it is checked that none has been until the directory is written, and a read
    /// checks its bytes by their checksums.
    ///
    /// # Errors
    /// [`Conflict`](ErrorKind::Conflict) if one of the objects has been replaced since it was opened,
    /// [`AlreadyExists`](ErrorKind::AlreadyExists), [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) for shards
    /// elsewhere, those of the metadata and of the store.
    pub async fn commit_object_to(
        self,
        store: Arc<dyn ObjectStore>,
        target: &Path,
    ) -> Result<EditSummary> {
        let place = place_of(target);
        let files = self.files(Some(&place), Naming::AsItIs).await?;
        let written = write(&*store, target, files, PutMode::Create).await;
        written.within(|| target.to_string())
    }
}

/// Writes the objects of a shard, the directory last.
async fn write(
    store: &dyn ObjectStore,
    path: &Path,
    files: Files,
    mode: PutMode,
) -> Result<EditSummary> {
    let mut written: Vec<Path> = Vec::new();
    let mut done = check_unchanged(store, &files.as_they_are).await;
    if done.is_err() {
        return done.map(|()| files.summary);
    }
    for (name, bytes) in files.others {
        let other = beside(path, name);
        done = put(store, &other, bytes, PutMode::Create).await;
        written.push(other);
        if done.is_err() {
            break;
        }
    }
    if done.is_ok() {
        done = put(store, path, files.directory.into(), mode).await;
    }
    let error = match done {
        Ok(()) => return Ok(files.summary),
        Err(error) => error,
    };
    if is_not_written(&error) {
        delete_all(store, &written).await;
    }
    Err(error)
}

/// Whether it is known of a failed commit that the directory is not there, which refers to what was written
/// before.
pub(super) fn is_not_written(error: &Error) -> bool {
    use ErrorKind::{AlreadyExists, Conflict, ForbiddenUrl, Unsupported};
    [AlreadyExists, Conflict, ForbiddenUrl, Unsupported].contains(&error.kind())
}

/// Deletes objects that nothing refers to, as far as that goes: there is an error to tell already.
pub(super) async fn delete_all(store: &dyn ObjectStore, objects: &[Path]) {
    for object in objects {
        let _ = store.delete(object).await;
    }
}

/// The object of that name in the folder of another.
pub(super) fn beside(path: &Path, name: String) -> Path {
    let mut parts: Vec<_> = path.parts().collect();
    parts.pop();
    Path::from_iter(parts).join(name)
}

/// Refuses objects that are not those that were opened: the directory would refer to bytes of others.
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

async fn put(store: &dyn ObjectStore, path: &Path, bytes: Bytes, mode: PutMode) -> Result<()> {
    let options = PutOptions::from(mode);
    let put = store.put_opts(path, bytes.into(), options).await;
    put.map(drop).map_err(|error| {
        let (kind, message) = match &error {
            StoreError::AlreadyExists { .. } => {
                (ErrorKind::AlreadyExists, "the object exists; choose another name")
            }
            StoreError::Precondition { .. } | StoreError::NotFound { .. } => (
                ErrorKind::Conflict,
                "the object was replaced or removed meanwhile, and is left as it is; open it again and \
                 repeat the change",
            ),
            StoreError::NotImplemented { .. } | StoreError::NotSupported { .. } => (
                ErrorKind::Unsupported,
                "the store has no conditional writes; commit to another name",
            ),
            _ => (ErrorKind::Io, "the store failed to write the object"),
        };
        Error::new(kind, message).caused_by(error)
    })
}

pub(super) fn place_of(path: &Path) -> Place {
    Place::new(names_of(path))
}

pub(super) fn path_of(place: &Place) -> Path {
    Path::from_iter(place.names().iter().map(String::as_str))
}
