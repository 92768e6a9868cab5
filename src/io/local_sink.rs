//! Local files that become visible only when they are complete.

use super::local_file::{describe, existing_folder, version_of};
use super::local_target::LocalTarget;
use super::names::check_output_name;
use super::sink::{ExistingFile, Sink, State};
use super::temporary_files::{self, TemporaryWriter};
use super::uncommitted_files::Listed;
use crate::error::{Error, ErrorKind, Result, Within};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempPath;

/// Number of bytes collected before a write to the file. Larger pieces are written directly.
const BUFFER_BYTES: usize = 1 << 18;

/// A local file that becomes visible under its name when it is committed.
///
/// Until then, the bytes are in a temporary file in the same folder, and dropping the sink deletes it. A commit syncs
/// the file, renames it, and syncs the folder if the system supports that. A file that replaces another one has its
/// permissions from the first byte on.
///
/// A killed process leaves its temporary file, `.arrow-shard.….tmp`, in the folder. Processes that create sinks in the
/// folder look for such files at most once an hour, and remove files that are at least an hour old and not locked by
/// any process. A [sealed](Sink::seal) sink no longer locks its file. Sealed files from a
/// [`LocalFolder`](super::LocalFolder) are protected by the folder's first sink until that sink is sealed, committed or
/// dropped. Commit other sealed sinks within an hour if other processes write to the folder.
#[derive(Debug)]
pub struct LocalSink {
    state: State<Temporary>,
    path: PathBuf,
    existing: ExistingFile,
    /// The writer that owns the temporary file.
    writer: TemporaryWriter,
    /// The last field, so that it is dropped after the file has been deleted.
    _listed: Listed,
}

/// The temporary file.
#[derive(Debug)]
enum Temporary {
    /// Not a [`NamedTempFile`](tempfile::NamedTempFile), because its errors name the temporary file.
    Open(BufWriter<Arc<File>>, TempPath),
    /// The file is synced and closed.
    Sealed(TempPath),
}

impl Temporary {
    fn seal(self) -> Result<TempPath> {
        match self {
            Self::Sealed(path) => Ok(path),
            Self::Open(file, path) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.sync_all()?;
                Ok(path)
            }
        }
    }
}

impl LocalSink {
    /// Creates a sink for a new file at `path`, which must not exist now or at the commit.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](ErrorKind::AlreadyExists) if the file exists,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if `path` is a pipe, a device, a socket or a symbolic link to
    /// nothing, or if the name is reserved for data files of shards (`….amudai.stripe`) or temporary files
    /// (`.arrow-shard.….tmp`), [`NotFound`](ErrorKind::NotFound) if the folder does not exist, or the errors of the
    /// operating system.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_for(target_of(path.as_ref())?, None, None)
    }

    /// Creates a sink like [`create`](Self::create), with these permissions, and for a writer that may have other
    /// files.
    pub(super) fn create_for(
        path: impl AsRef<Path>,
        permissions: Option<&Permissions>,
        writer: Option<&TemporaryWriter>,
    ) -> Result<Self> {
        let path = path.as_ref();
        Self::open(path, ExistingFile::Kept, permissions, writer).within(|| describe(path))
    }

    /// Creates a sink that replaces the file at `path` if it still has this [`version`](super::ReadAt::version). If
    /// several such sinks are committed, the first one succeeds, and the others fail. On systems without file locks,
    /// two sinks that are committed at the same instant may both replace the file.
    ///
    /// The commit fails with [`Conflict`](ErrorKind::Conflict) if the file has another version or no longer exists.
    pub(crate) fn replace(path: &Path, version: String) -> Result<Self> {
        let replaced = permissions(path);
        let existing = ExistingFile::ReplacedIf(version);
        Self::open(path, existing, replaced.as_ref(), None).within(|| describe(path))
    }

    /// Creates a sink for a file at `path`; the commit replaces an existing regular file. If `path` is a symbolic link,
    /// the link stays, and its target is replaced.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](ErrorKind::AlreadyExists) if `path` is a folder, or the other errors of
    /// [`create`](Self::create). The commit fails with [`Conflict`](ErrorKind::Conflict) if by then `path` is something
    /// other than a regular file.
    pub fn create_or_replace(path: impl AsRef<Path>) -> Result<Self> {
        let target = target_of(path.as_ref())?;
        let path = target.as_path();
        let replaced = permissions(path);
        Self::open(path, ExistingFile::Replaced, replaced.as_ref(), None).within(|| describe(path))
    }

    fn open(
        path: &Path,
        existing: ExistingFile,
        permissions: Option<&Permissions>,
        writer: Option<&TemporaryWriter>,
    ) -> Result<Self> {
        check_name(path)?;
        // Does not follow links, because a rename replaces the link itself.
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    "a folder of this name exists; choose another name",
                ));
            }
            Ok(_) if existing == ExistingFile::Kept => return Err(already_exists()),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e.into()),
        }
        let folder = folder_of(path);
        existing_folder(folder)?;
        if writer.is_none() {
            temporary_files::remove_stale(folder);
        }
        let create = || temporary_files::create(folder, permissions, writer);
        let (file, listed) = Listed::create(create)?;
        let (file, temporary) = file.into_parts();
        let file = Arc::new(file);
        let writer = match writer {
            Some(writer) => writer.clone(),
            None => TemporaryWriter::of_first(&temporary, &file),
        };
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self {
            writer,
            state: State::Open(Temporary::Open(file, temporary)),
            path: path.to_path_buf(),
            existing,
            _listed: listed,
        })
    }

    /// Returns the writer that owns the temporary files of this sink and of its companions.
    pub(super) fn writer(&self) -> &TemporaryWriter {
        &self.writer
    }

    /// Returns the final path of the file. If the sink was created with the path of a symbolic link, this is the target
    /// of the link.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Sink for LocalSink {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let write = |file: &mut Temporary| match file {
            Temporary::Open(file, _) => Ok(file.write_all(bytes)?),
            Temporary::Sealed(_) => Err(Error::invalid("the file is sealed and takes no more")),
        };
        self.state.write(write).within(|| describe(&self.path))
    }

    fn seal(&mut self) -> Result<()> {
        self.state
            .replace(|file| Ok(Temporary::Sealed(file.seal()?)))
            .within(|| describe(&self.path))?;
        self.writer.touch();
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let (path, existing) = (&self.path, &self.existing);
        self.state
            .commit(|file| persist(file.seal()?, path, existing))
            .within(|| describe(path))
    }
}

/// Returns the path of the file that a sink for `path` creates or replaces.
fn target_of(path: &Path) -> Result<PathBuf> {
    check_new_name(path).within(|| describe(path))?;
    let target = LocalTarget::find(path)?.into_path()?;
    // The target of a link may have another name.
    check_new_name(&target).within(|| describe(path))?;
    Ok(target)
}

/// Fails if the path has no file name, or a reserved one.
fn check_new_name(path: &Path) -> Result<()> {
    check_name(path)?;
    let name = path.file_name().unwrap_or_default();
    check_output_name(&name.to_string_lossy())
}

fn check_name(path: &Path) -> Result<()> {
    match path.file_name() {
        Some(_) => Ok(()),
        None => Err(Error::invalid("expected a path that ends in a file name")),
    }
}

/// Returns the permissions of a file, or `None` if `path` does not name a regular file.
pub(super) fn permissions(path: &Path) -> Option<Permissions> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    metadata.is_file().then(|| metadata.permissions())
}

fn persist(file: TempPath, path: &Path, existing: &ExistingFile) -> Result<()> {
    // Processes that replace a file hold its lock, so that they take turns.
    let _locked = match existing {
        ExistingFile::Kept => None,
        ExistingFile::Replaced => {
            check_replaceable(path)?;
            lock(path).ok().flatten()
        }
        ExistingFile::ReplacedIf(version) => match lock(path)? {
            Some(locked) if is_still(version, &locked, path) => Some(locked),
            _ => return Err(conflict()),
        },
    };
    let renamed = match existing {
        ExistingFile::Kept => file.persist_noclobber(path),
        ExistingFile::Replaced | ExistingFile::ReplacedIf(_) => file.persist(path),
    };
    renamed.map_err(|e| match e.error.kind() {
        io::ErrorKind::AlreadyExists => already_exists(),
        _ => Error::from(e.error),
    })?;
    sync_folder(folder_of(path));
    Ok(())
}

/// Fails if the path is anything but a regular file.
fn check_replaceable(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(Error::new(
            ErrorKind::Conflict,
            "something other than a regular file was put in the place of the file meanwhile, and is left as \
             it is",
        )),
        _ => Ok(()),
    }
}

/// Maximum number of attempts to lock a file that other processes keep replacing.
const MAX_LOCK_ATTEMPTS: u32 = 64;

/// Opens the file at `path` and locks it while it is open, if the system supports locks. Returns `None` if
/// `path` does not name a regular file.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let found = |metadata: io::Result<std::fs::Metadata>| match metadata {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    };
    let mut rounds = 0;
    loop {
        // Opening a pipe may block forever.
        match found(std::fs::metadata(path))? {
            Some(metadata) if metadata.is_file() => {}
            _ => return Ok(None),
        }
        let file = match File::open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        // Network file systems report missing locks in various ways, so any other error counts as such.
        while let Err(error) = file.lock()
            && error.kind() == io::ErrorKind::Interrupted
        {}
        // The previous holder of the lock may have replaced the file. On some file systems, the comparison fails every
        // time even for the same file, hence the limit.
        let now = found(std::fs::metadata(path))?;
        rounds += 1;
        if rounds == MAX_LOCK_ATTEMPTS || now.is_some_and(|now| is_same(&now, &file)) {
            return Ok(Some(file));
        }
    }
}

/// Whether a file has a version, and `path` still names this file.
fn is_still(version: &str, file: &File, path: &Path) -> bool {
    let found = file.metadata().map(|metadata| version_of(&metadata));
    found.is_ok_and(|found| found.as_deref() == Some(version))
        && std::fs::metadata(path).is_ok_and(|now| is_same(&now, file))
}

/// Whether the metadata belong to the file, as far as the system can tell.
fn is_same(metadata: &std::fs::Metadata, file: &File) -> bool {
    let version = file.metadata().map(|metadata| version_of(&metadata));
    version.is_ok_and(|version| version == version_of(metadata))
}

fn conflict() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "the file was replaced or removed meanwhile, and is left as it is; open it again and repeat the \
         change",
    )
}

/// Returns the folder of the file `path`.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a rename durable, if the folder can be opened and synced: it may not be readable, and not every file system
/// supports this. Errors are ignored, because the file is complete and has its name at this point.
pub(super) fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

fn already_exists() -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        "the file exists; choose another name, delete it, or ask to overwrite it",
    )
}
