//! The objects of a store.

use super::{
    BoxFuture, DescriptorUse, ExistingFile, FileContainer, FileState, Home, ListedFile, NewFiles,
    NotWritten, OpenedFile, SecondNames, ShardSinks, Sinks, VersionedFile,
};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::names::check_output_name;
use crate::io::place::Place;
use crate::io::{AsyncSink, ObjectFolder, ObjectReader};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion,
};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// Number of concurrent requests.
const AT_ONCE: usize = 32;

/// The objects below a prefix of a store.
pub(super) struct ObjectHome {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

/// Shows the store by its `Display`, because the `Debug` of a store contains its whole configuration.
impl fmt::Debug for ObjectHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectHome")
            .field("store", &format_args!("{}", self.store))
            .field("prefix", &self.prefix)
            .finish()
    }
}

impl ObjectHome {
    pub(super) fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self { store, prefix }
    }

    /// Returns the path of a name.
    fn path(&self, name: &OsStr) -> Result<Path> {
        let name = name.to_str().ok_or_else(|| {
            Error::invalid("the name of an object is not Unicode")
                .within(name.display().to_string())
        })?;
        let name = Path::parse(name).map_err(|error| {
            let invalid = Error::invalid("the name is no path of an object store");
            invalid.caused_by(error).within(format!("`{name}`"))
        })?;
        Ok(Path::from_iter(self.prefix.parts().chain(name.parts())))
    }

    /// Returns the path of an object, which is not the prefix itself.
    fn file(&self, name: &OsStr) -> Result<Path> {
        let path = self.path(name)?;
        if path.filename().is_none() || path == self.prefix {
            return Err(Error::invalid("the location names no object"));
        }
        Ok(path)
    }

    async fn head(&self, path: &Path) -> Result<Option<object_store::ObjectMeta>> {
        match self.store.head(path).await {
            Ok(found) => Ok(Some(found)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => {
                let message = format!("the store did not answer for `{path}`");
                Err(Error::new(ErrorKind::Io, message).caused_by(error))
            }
        }
    }

    /// Returns the mode of a write, or the error if the present object does not allow it.
    async fn mode(&self, path: &Path, existing: ExistingFile) -> Result<PutMode> {
        match (existing, self.head(path).await?) {
            (ExistingFile::Kept, None) => Ok(PutMode::Create),
            (ExistingFile::Replaced, _) => Ok(PutMode::Overwrite),
            (ExistingFile::Kept, Some(_)) => Err(already_exists()),
            (ExistingFile::ReplacedIf(e_tag), Some(found))
                if found.e_tag.as_ref() == Some(&e_tag) =>
            {
                // Some stores compare the e-tag, and some the version.
                Ok(PutMode::Update(UpdateVersion {
                    e_tag: Some(e_tag),
                    version: found.version,
                }))
            }
            (ExistingFile::ReplacedIf(_), _) => Err(conflict()),
        }
    }

    /// Checks that the objects are still the ones that were opened: otherwise the directory would refer to bytes of
    /// other objects.
    async fn check_unchanged(&self, files: &[VersionedFile]) -> Result<()> {
        let check = |file: VersionedFile| async move {
            match self.head(&path_of(&file.place)).await? {
                Some(found) if found.e_tag == file.version => Ok(()),
                _ => Err(file.conflict()),
            }
        };
        let known = files.iter().filter(|file| file.version.is_some());
        let checks = stream::iter(known.cloned().collect::<Vec<_>>()).map(check);
        checks.buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn write_all(
        &self,
        path: &Path,
        existing: ExistingFile,
        files: NewFiles,
    ) -> Result<SecondNames, NotWritten> {
        // Conflicts are found before anything is written that would have to be removed again.
        let mode = self.mode(path, existing).await?;
        self.check_unchanged(&files.as_they_are).await?;
        let mut written: Vec<Path> = Vec::new();
        for (name, bytes) in files.others {
            let other = beside(path, name);
            let done = self.put(&other, bytes, PutMode::Create).await;
            written.push(other);
            if let Err(error) = done {
                self.discard(&written).await;
                return Err(error.into());
            }
        }
        let Err(error) = self.put(path, files.directory, mode).await else {
            return Ok(SecondNames::default());
        };
        if error.kind() == ErrorKind::Unsupported {
            self.discard(&written).await;
            return Err(error.into());
        }
        Err(NotWritten {
            error,
            may_be_there: true,
        })
    }

    /// Deletes objects that nothing refers to. Errors are ignored, because the caller reports an earlier one.
    async fn discard(&self, objects: &[Path]) {
        for object in objects {
            let _ = self.store.delete(object).await;
        }
    }

    async fn put(&self, path: &Path, bytes: Bytes, mode: PutMode) -> Result<()> {
        let options = PutOptions::from(mode);
        let put = self.store.put_opts(path, bytes.clone().into(), options);
        let Err(error) = put.await else {
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
        // If the response to a write is lost, the client sends it again, and the retry fails because the object exists.
        // So the error does not count if the object has the bytes.
        if let Ok(found) = self.store.get(path).await
            && found.meta.size == bytes.len() as u64
            && found.bytes().await.is_ok_and(|found| found == bytes)
        {
            return Ok(());
        }
        Err(failed.caused_by(error))
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

/// Returns the path of an object with that name in the folder of `path`.
fn beside(path: &Path, name: String) -> Path {
    let mut parts: Vec<_> = path.parts().collect();
    parts.pop();
    Path::from_iter(parts).join(name)
}

/// Returns the place of an object.
fn place_of(path: &Path) -> Place {
    Place::object(path.parts().map(|part| OsString::from(part.as_ref())))
}

fn path_of(place: &Place) -> Path {
    folder_of(place.names())
}

/// Returns the path of the folder with these names.
fn folder_of(names: &[OsString]) -> Path {
    let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
    // They are parts of a path. Encoded again, they would name another object.
    let path = Path::parse(names.join("/"));
    path.unwrap_or_else(|_| Path::from_iter(names.iter().map(|name| &**name)))
}

fn failed(error: StoreError) -> Error {
    Error::new(ErrorKind::Io, "the store failed").caused_by(error)
}

impl Home for ObjectHome {
    fn is_near(&self) -> bool {
        false
    }

    fn has_second_names(&self) -> bool {
        false
    }

    fn id(&self) -> String {
        format!(
            "object store at {:p}",
            Arc::as_ptr(&self.store).cast::<()>()
        )
    }

    fn join(&self, folder: &OsStr, name: &OsStr) -> OsString {
        let mut joined = folder.to_owned();
        if !joined.is_empty() && !joined.as_encoded_bytes().ends_with(b"/") {
            joined.push("/");
        }
        joined.push(name);
        joined
    }

    fn folder(&self, names: &[OsString]) -> Place {
        Place::object(names.iter().cloned())
    }

    fn name_of(&self, place: &Place) -> OsString {
        let path = path_of(place);
        let below = path.prefix_match(&self.prefix).map(Path::from_iter);
        below.unwrap_or(path).to_string().into()
    }

    fn find(&self, name: &OsStr) -> Result<Place> {
        Ok(place_of(&self.file(name)?))
    }

    fn find_new(&self, name: &OsStr) -> Result<Place> {
        let path = self.file(name)?;
        check_output_name(path.filename().unwrap_or_default()).within(|| path.to_string())?;
        Ok(place_of(&path))
    }

    fn describe_folder(&self, name: &OsStr) -> String {
        format!("`{}`", name.display())
    }

    fn object(&self, name: &OsStr) -> Option<(Arc<dyn ObjectStore>, Path)> {
        Some((self.store.clone(), self.path(name).ok()?))
    }

    fn full_name(&self, name: &OsStr) -> OsString {
        let path = self.path(name).map(|path| OsString::from(path.to_string()));
        path.unwrap_or_else(|_| name.to_owned())
    }

    fn resolve(&self, place: Place) -> Option<Place> {
        Some(place)
    }

    fn open(&self, file: &Place, _held: DescriptorUse) -> Result<OpenedFile> {
        let path = path_of(file);
        let folder = ObjectFolder::of_object(self.store.clone(), &path);
        let reader = ObjectReader::new(self.store.clone(), path);
        Ok(OpenedFile::Async(Arc::new(reader), Arc::new(folder)))
    }

    fn container(&self, folder: &[OsString]) -> Result<FileContainer> {
        let folder = ObjectFolder::new(self.store.clone(), folder_of(folder));
        Ok(FileContainer::Async(Arc::new(folder)))
    }

    fn sinks(&self, beside: &Place) -> Result<Sinks> {
        let folder = ObjectFolder::of_object(self.store.clone(), &path_of(beside));
        Ok(Sinks::Async(Box::new(folder)))
    }

    fn sink<'a>(
        &'a self,
        name: &'a OsStr,
        existing: ExistingFile,
    ) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>> {
        Box::pin(async move {
            let path = path_of(&self.find_new(name)?);
            let folder = ObjectFolder::of_object(self.store.clone(), &path);
            let folder = folder.with_overwrite(!matches!(existing, ExistingFile::Kept));
            Ok(Box::new(folder.create_object(&path).await?) as Box<dyn AsyncSink>)
        })
    }

    fn shard_sinks<'a>(
        &'a self,
        name: &'a OsStr,
        overwrite: bool,
    ) -> BoxFuture<'a, Result<ShardSinks>> {
        Box::pin(async move {
            let path = path_of(&self.find_new(name)?);
            let folder = ObjectFolder::of_object(self.store.clone(), &path);
            let folder = folder.with_overwrite(overwrite);
            Ok(ShardSinks {
                directory: Box::new(folder.create_object(&path).await?),
                data: Box::new(folder),
            })
        })
    }

    fn write<'a>(
        &'a self,
        target: &'a Place,
        existing: ExistingFile,
        files: NewFiles,
    ) -> BoxFuture<'a, Result<SecondNames, NotWritten>> {
        Box::pin(async move {
            let path = path_of(target);
            let written = self.write_all(&path, existing, files).await;
            written.map_err(|failed| NotWritten {
                error: failed.error.within(path.to_string()),
                ..failed
            })
        })
    }

    fn look<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<Option<FileState>>> {
        Box::pin(async move {
            let found = self.head(&path_of(file)).await?;
            Ok(found.map(|found| FileState {
                bytes: found.size,
                version: found.e_tag,
            }))
        })
    }

    fn names<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<OsString>>> {
        Box::pin(async move {
            let path = self.path(folder)?;
            let listed = self.store.list_with_delimiter(Some(&path)).await;
            let listed = listed.map_err(|error| {
                let message = format!("the store failed to list `{path}`");
                Error::new(ErrorKind::Io, message).caused_by(error)
            })?;
            let names = listed
                .objects
                .iter()
                .filter_map(|object| object.location.filename());
            Ok(names.map(OsString::from).collect())
        })
    }

    fn list<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<ListedFile>>> {
        Box::pin(async move {
            let path = self.path(folder)?;
            let listed = self.store.list(Some(&path)).map_ok(|object| ListedFile {
                place: place_of(&object.location),
                bytes: object.size,
                changed: SystemTime::from(object.last_modified),
                version: object.e_tag,
                is_link: false,
                is_abandoned: false,
            });
            listed.try_collect().await.map_err(failed)
        })
    }

    fn remove<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let path = path_of(file);
            match self.store.delete(&path).await {
                Err(StoreError::NotFound { .. }) => Ok(()),
                removed => removed.map_err(failed).within(|| path.to_string()),
            }
        })
    }
}
