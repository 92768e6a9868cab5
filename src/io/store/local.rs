//! Local files as a store.

use super::now_sink::{NowSink, NowSinkFactory};
use super::{
    BoxFuture, DescriptorUse, ExistingFile, FileContainer, FileId, FileState, FileToKeep, Home,
    ListedFile, NewFiles, NotWritten, OpenedFile, SecondNames, ShardSinks, Sinks,
};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::local_file::{describe, describe_folder, existing_folder, version_of};
use crate::io::local_sink::{folder_of, sync_folder};
use crate::io::names::{check_output_name, is_temporary};
use crate::io::place::Place;
use crate::io::temporary_files::is_abandoned_temporary;
use crate::io::url::is_url;
use crate::io::{
    AsyncSink, ByteRange, LocalFile, LocalFolder, LocalSink, PooledFile, ReadAt, Sink, SinkFactory,
    commit_together,
};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Number of bytes copied at a time.
const COPIED: u64 = 1 << 20;

/// Number of bytes at the end of a file that are compared.
const END_BYTES: u64 = 4096;

/// The files of this machine, or those below a folder.
#[derive(Debug, Default)]
pub(super) struct LocalHome {
    /// The absolute path of the folder, free of symbolic links. Names are relative to it.
    root: Option<PathBuf>,
}

impl LocalHome {
    /// Returns the files below an existing folder.
    pub(super) fn below(folder: &Path) -> Result<Self> {
        Ok(Self {
            root: Some(existing_folder(folder)?),
        })
    }

    /// Returns the path of a name.
    ///
    /// # Errors
    /// Returns [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) for a name that may lead out of the folder.
    fn path_to(&self, name: &OsStr) -> Result<PathBuf> {
        let Some(root) = &self.root else {
            return Ok(PathBuf::from(name));
        };
        let path = Path::new(name);
        let is_below =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.components().all(is_below) {
            Ok(root.join(path))
        } else {
            let error = Error::new(
                ErrorKind::ForbiddenUrl,
                "expected a relative path without `..`, below the folder of the store",
            );
            Err(error.within(describe(path)))
        }
    }
}

impl Home for LocalHome {
    fn is_near(&self) -> bool {
        true
    }

    fn has_second_names(&self) -> bool {
        true
    }

    fn id(&self) -> String {
        "local files".to_owned()
    }

    fn join(&self, folder: &OsStr, name: &OsStr) -> OsString {
        Path::new(folder).join(name).into_os_string()
    }

    fn folder(&self, names: &[OsString]) -> Place {
        Place::local(names.iter().cloned())
    }

    fn name_of(&self, place: &Place) -> OsString {
        let path = path_of(place);
        let root = self.root.as_deref();
        let below = root.and_then(|root| path.strip_prefix(root).ok());
        below.map_or_else(|| path.clone(), Path::to_path_buf).into()
    }

    fn find(&self, name: &OsStr) -> Result<Place> {
        let path = self.path_to(name)?;
        let resolved = path.canonicalize().map_err(|error| {
            let is_url = name.to_str().is_some_and(is_url);
            match Error::from(error) {
                error if error.kind() == ErrorKind::NotFound && is_url => Error::new(
                    ErrorKind::NotFound,
                    "there is no such path; for a URL, use `Location::from_url`",
                ),
                error => error,
            }
        });
        Ok(place_of(&resolved.within(|| describe(&path))?))
    }

    fn find_new(&self, name: &OsStr) -> Result<Place> {
        let path = self.path_to(name)?;
        let name = path
            .file_name()
            .ok_or_else(|| Error::invalid("expected a path that ends in a file name"))?;
        Ok(place_of(&LocalFolder::of_file(&path)?.path().join(name)))
    }

    fn describe_folder(&self, name: &OsStr) -> String {
        describe_folder(Path::new(name))
    }

    fn path(&self, name: &OsStr) -> Option<PathBuf> {
        self.path_to(name).ok()
    }

    fn full_name(&self, name: &OsStr) -> OsString {
        let path = self.path_to(name);
        path.map_or_else(|_| name.to_owned(), PathBuf::into_os_string)
    }

    fn resolve(&self, place: Place) -> Option<Place> {
        Some(place_of(&path_of(&place).canonicalize().ok()?))
    }

    fn open(&self, file: &Place, held: DescriptorUse) -> Result<OpenedFile> {
        let path = path_of(file);
        open(&path, path.display().to_string(), held)
    }

    fn open_by_name(&self, name: &OsStr, held: DescriptorUse) -> Result<OpenedFile> {
        let path = path_of(&self.find(name)?);
        open(&path, name.display().to_string(), held)
    }

    fn container(&self, folder: &[OsString]) -> Result<FileContainer> {
        let folder = path_of(&Place::local(folder.iter().cloned()));
        Ok(FileContainer::Blocking(Arc::new(LocalFolder::open(
            folder,
        )?)))
    }

    fn sinks(&self, beside: &Place) -> Result<Sinks> {
        let path = path_of(beside);
        let folder = LocalFolder::of_file(&path)?.with_permissions_of(&path);
        Ok(Sinks::Blocking(Box::new(folder)))
    }

    fn sink<'a>(
        &'a self,
        name: &'a OsStr,
        existing: ExistingFile,
    ) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>> {
        let create = || {
            let sink = sink(&self.path_to(name)?, existing)?;
            Ok(Box::new(NowSink(Some(sink))) as Box<dyn AsyncSink>)
        };
        Box::pin(std::future::ready(create()))
    }

    fn shard_sinks<'a>(
        &'a self,
        name: &'a OsStr,
        overwrite: bool,
    ) -> BoxFuture<'a, Result<ShardSinks>> {
        let create = || {
            let (directory, folder) = LocalFolder::for_shard(&self.path_to(name)?, overwrite)?;
            Ok(ShardSinks {
                directory: Box::new(NowSink(Some(directory))),
                data: Box::new(NowSinkFactory(Box::new(folder))),
            })
        };
        Box::pin(std::future::ready(create()))
    }

    fn write<'a>(
        &'a self,
        target: &'a Place,
        existing: ExistingFile,
        files: NewFiles,
    ) -> BoxFuture<'a, Result<SecondNames, NotWritten>> {
        let path = path_of(target);
        let written = write(&path, existing, &files).within(|| describe(&path));
        Box::pin(std::future::ready(written.map_err(NotWritten::from)))
    }

    fn look<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<Option<FileState>>> {
        let found = match path_of(file).metadata().map_err(Error::from) {
            Ok(found) => Ok(Some(FileState {
                bytes: found.len(),
                version: version_of(&found),
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.within(file.element())),
        };
        Box::pin(std::future::ready(found))
    }

    fn names<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<OsString>>> {
        let path = self.path_to(folder);
        let names = path.and_then(|path| names_in(&path).within(|| describe_folder(&path)));
        Box::pin(std::future::ready(names))
    }

    fn list<'a>(&'a self, folder: &'a OsStr) -> BoxFuture<'a, Result<Vec<ListedFile>>> {
        let list = || {
            let path = self.path_to(folder)?;
            let root = path.canonicalize().map_err(Error::from);
            entries_below(&root.within(|| describe_folder(&path))?)
        };
        Box::pin(std::future::ready(list()))
    }

    fn remove<'a>(&'a self, file: &'a Place) -> BoxFuture<'a, Result<()>> {
        let removed = match std::fs::remove_file(path_of(file)).map_err(Error::from) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.within(|| file.element()),
        };
        Box::pin(std::future::ready(removed))
    }

    fn file_id(&self, file: &Place) -> FileId {
        let found = path_of(file).metadata().ok();
        let version = found.as_ref().and_then(|found| {
            // Elsewhere, a copy has its own time. Then the ends of the files are compared.
            let changed = if cfg!(unix) {
                found.modified().ok()?
            } else {
                SystemTime::UNIX_EPOCH
            };
            Some((found.len(), changed))
        });
        #[cfg(unix)]
        if let Some(found) = &found {
            use std::os::unix::fs::MetadataExt;
            let id = format!("{} {}", found.dev(), found.ino());
            return FileId { id, version };
        }
        let id = file.to_string();
        FileId { id, version }
    }

    fn end(&self, file: &Place) -> Option<Bytes> {
        let file = LocalFile::open(path_of(file)).ok()?;
        let size = file.size().ok()?;
        let range = ByteRange::try_new(size.saturating_sub(END_BYTES), size).ok()?;
        file.read_at(range).ok()
    }
}

/// Returns the path of a place.
fn path_of(place: &Place) -> PathBuf {
    let mut names = place.names().iter();
    let root = match names.as_slice().first() {
        // On Windows, the first name is the drive.
        Some(drive) if cfg!(windows) => {
            names.next();
            format!("{}{MAIN_SEPARATOR}", drive.display())
        }
        _ => MAIN_SEPARATOR.to_string(),
    };
    names.fold(PathBuf::from(root), |path, name| path.join(name))
}

/// Returns the place of an absolute path.
fn place_of(path: &Path) -> Place {
    let names = path.components().filter(|c| *c != Component::RootDir);
    Place::local(names.map(|name| name.as_os_str().to_owned()))
}

/// Opens a file with a name for errors.
fn open(path: &Path, name: String, held: DescriptorUse) -> Result<OpenedFile> {
    let folder = LocalFolder::of_file(path)?;
    let reader: Arc<dyn ReadAt> = match held {
        DescriptorUse::Open => Arc::new(LocalFile::open(path)?.with_name(name)),
        DescriptorUse::Pooled => Arc::new(PooledFile::open(path)?.with_name(name)),
    };
    Ok(OpenedFile::Blocking(reader, Arc::new(folder)))
}

/// Returns the sink of a file with any name that is not reserved.
fn sink(path: &Path, existing: ExistingFile) -> Result<LocalSink> {
    match existing {
        ExistingFile::Kept => LocalSink::create(path),
        ExistingFile::Replaced => LocalSink::create_or_replace(path),
        ExistingFile::ReplacedIf(version) => {
            let target = path.canonicalize().map_err(Error::from);
            let path = target.within(|| describe(path))?;
            let name = path.file_name().unwrap_or_default();
            check_output_name(&name.to_string_lossy()).within(|| describe(&path))?;
            LocalSink::replace(&path, version)
        }
    }
}

/// Writes all files of a shard, the directory last. After an error, no new file remains.
fn write(path: &Path, existing: ExistingFile, files: &NewFiles) -> Result<SecondNames> {
    let mut sink = match existing {
        ExistingFile::Kept => LocalSink::create(path)?,
        ExistingFile::Replaced => LocalSink::create_or_replace(path)?,
        ExistingFile::ReplacedIf(version) => LocalSink::replace(path, version)?,
    };
    sink.write_all(&files.directory)?;
    let folder = LocalFolder::of_file(path)?;
    let mut folder = folder.with_permissions_of(path).with_writer_of(&sink);
    let mut names = SecondNames::default();
    // If one file cannot be cloned, no other is tried.
    let mut may_clone = true;
    let mut written = Vec::new();
    let mut folders = BTreeSet::new();
    let mut finish = || -> Result<()> {
        for (name, bytes) in &files.others {
            let mut other = folder.create(name)?;
            other.write_all(bytes)?;
            other.commit()?;
            written.push(path.with_file_name(name));
        }
        for kept in &files.kept {
            let place = path_of(&kept.file.place);
            written.push(place.with_file_name(&kept.name));
            let kept = keep(kept, &place, &mut may_clone, &mut names);
            kept.within(|| describe(&place))?;
            folders.insert(folder_of(&place).to_owned());
        }
        // The new names are safe before the directory refers to them.
        folders.iter().for_each(|folder| sync_folder(folder));
        sink.commit()
    };
    // A signal does not come between the files: either all of them exist, or none.
    let _together = commit_together();
    if let Err(error) = finish() {
        for path in &written {
            // The first error is reported, and nothing refers to the file.
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(names)
}

/// Gives the bytes of a file a second name, and counts the way it was done. A clone is tried first, because it does not
/// change if the file is overwritten; then a hard link. If both fail, the file is copied. It is also copied on systems
/// that do not record when a file got its name: a vacuum would mistake a new link for an old file. The caller syncs the
/// folder.
fn keep(
    kept: &FileToKeep,
    path: &Path,
    may_clone: &mut bool,
    names: &mut SecondNames,
) -> Result<()> {
    let other = path.with_file_name(&kept.name);
    // The opened file is the one to keep: the name may refer to another file by now.
    let file = LocalFile::open(path)?;
    let expected = &kept.file.version;
    let check = |file: &LocalFile| {
        if expected.is_some() && file.version() != *expected {
            Err(kept.file.conflict())
        } else {
            Ok(())
        }
    };
    check(&file)?;
    let size = file.size()?;
    *may_clone = *may_clone && file.clone_to(&other).is_ok();
    if *may_clone {
        names.cloned.add(size);
        // If the path still names the same version, the clone has the expected bytes.
        return check(&LocalFile::open(path)?);
    }
    if cfg!(unix) && std::fs::hard_link(path, &other).is_ok() {
        names.linked.add(size);
        return check(&LocalFile::open(&other)?);
    }
    names.copied.add(size);
    let mut folder = LocalFolder::of_file(path)?.with_permissions_of(path);
    let mut copy = folder.create(&kept.name)?;
    let mut start = 0;
    while start < size {
        let len = (size - start).min(COPIED);
        copy.write_all(&file.read_at(ByteRange::with_len(start, len)?)?)?;
        start += len;
    }
    copy.commit()?;
    if cfg!(unix) {
        // Keeps the time of the original, as a clone does: `file_id` recognizes copies and clones by it. On Unix, a
        // vacuum uses the time of the name instead.
        let changed = std::fs::metadata(path).and_then(|found| found.modified());
        let copied = std::fs::File::options().write(true).open(&other);
        // If this fails, a table of the folder may count rows twice; no other reader needs the time.
        let _ = changed.and_then(|changed| copied?.set_modified(changed));
    }
    Ok(())
}

/// Returns the names of the regular files in a folder, with links followed.
fn names_in(folder: &Path) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().metadata().is_ok_and(|found| found.is_file()) {
            names.push(entry.file_name());
        }
    }
    Ok(names)
}

/// Returns the files of a folder and its subfolders. Links to folders are not followed.
fn entries_below(root: &Path) -> Result<Vec<ListedFile>> {
    let mut entries = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        let read = std::fs::read_dir(&folder).map_err(Error::from);
        for entry in read.within(|| describe_folder(&folder))? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                entries.extend(entry_of(&entry.path(), false)?);
            } else if kind.is_symlink()
                && let Ok(path) = entry.path().canonicalize()
                && path.is_file()
            {
                entries.extend(entry_of(&path, true)?);
            }
        }
    }
    Ok(entries)
}

/// Returns the present state of a file, or `None` if it no longer exists.
fn entry_of(path: &Path, is_link: bool) -> Result<Option<ListedFile>> {
    // Before the metadata: a writer may rename the file in between.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_abandoned = is_temporary(&name) && is_abandoned_temporary(path);
    let metadata = match path.symlink_metadata().map_err(Error::from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        metadata => metadata.within(|| describe(path))?,
    };
    Ok(Some(ListedFile {
        place: place_of(path),
        bytes: metadata.len(),
        changed: last_change(&metadata).within(|| describe(path))?,
        version: version_of(&metadata),
        is_link,
        is_abandoned,
    }))
}

/// Returns the time when a file was written or got this name, whichever is later: a file with a new name counts as new.
fn last_change(metadata: &Metadata) -> Result<SystemTime> {
    let written = metadata.modified()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let Ok(seconds) = u64::try_from(metadata.ctime()) {
            return Ok(
                written.max(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
            );
        }
    }
    Ok(written)
}
