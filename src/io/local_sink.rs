//! Local files that appear whole or not at all.

use super::local_file::{describe, existing_folder, version_of};
use super::local_target::LocalTarget;
use super::names::check_output_name;
use super::sink::{Sink, State};
use super::temporary::{self, Writer};
use super::uncommitted::Listed;
use crate::error::{Error, ErrorKind, Result, Within};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempPath;

/// Bytes collected before a write to the file; larger pieces are written directly.
const BUFFER_BYTES: usize = 1 << 18;

/// A local file that appears under its name only when it is committed.
///
/// Until then the bytes are in a temporary file beside it, which a drop deletes. A commit syncs the
/// file, renames it, and syncs the folder where the system can: once it is renamed, the file is there.
/// A file that replaces another has its permissions from the first byte on.
///
/// A process that is killed leaves its temporary file, `.arrow-shard.….tmp`. A process that creates sinks in
/// the folder removes it, once it is an hour old and no process holds it; it looks once an hour. A sink
/// that is [sealed](Sink::seal) holds its file no more. Those that a [`LocalFolder`](super::LocalFolder)
/// creates are kept by its first one, until that one is sealed, committed or dropped; others are to be
/// committed within the hour, if other processes write to the folder.
#[derive(Debug)]
pub struct LocalSink {
    state: State<Temporary>,
    path: PathBuf,
    existing: Existing,
    /// Whose the temporary file is.
    writer: Writer,
    /// The last field, so that the file is gone when the list forgets it.
    _listed: Listed,
}

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Existing {
    /// It stays, and there is no other.
    Kept,
    /// It is replaced.
    Replaced,
    /// It is replaced if it is the one that has this version, which must be there.
    ReplacedIf(String),
}

/// The temporary file.
#[derive(Debug)]
enum Temporary {
    /// Not a [`NamedTempFile`](tempfile::NamedTempFile), whose errors name it.
    Open(BufWriter<Arc<File>>, TempPath),
    /// Synced and closed.
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
    /// A new file at `path`, which must not exist, neither now nor at the commit.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) if it does,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if it is a pipe, a device, a socket or a symbolic link to
    /// nothing, or if its name is reserved for data files of shards (`….amudai.stripe`) or temporary files
    /// (`.arrow-shard.….tmp`), [`NotFound`](ErrorKind::NotFound) if its folder does not exist, else those of the
    /// operating system.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_for(target_of(path.as_ref())?, None, None)
    }

    /// Like [`create`](Self::create), with these permissions, and for a writer that has other files.
    pub(super) fn create_for(
        path: impl AsRef<Path>,
        permissions: Option<&Permissions>,
        writer: Option<&Writer>,
    ) -> Result<Self> {
        let path = path.as_ref();
        Self::open(path, Existing::Kept, permissions, writer).within(|| describe(path))
    }

    /// A new file in place of the one at `path` whose [`version`](super::ReadAt::version) it was, of all
    /// that are committed for it at the same time the first. Where the system has no locks for files, two
    /// that are committed in the same instant may both replace it.
    ///
    /// The commit fails with [`Conflict`](ErrorKind::Conflict) if there is another file.
    pub(crate) fn replace(path: &Path, version: String) -> Result<Self> {
        let replaced = permissions(path);
        let existing = Existing::ReplacedIf(version);
        Self::open(path, existing, replaced.as_ref(), None).within(|| describe(path))
    }

    /// A new file at `path`; the commit replaces a regular file that is there. If `path` is a symbolic link, the
    /// link stays, and the file that it leads to is replaced.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) if `path` is a folder, else like
    /// [`create`](Self::create). The commit fails with [`Conflict`](ErrorKind::Conflict) if something other than
    /// a regular file is there by then.
    pub fn create_or_replace(path: impl AsRef<Path>) -> Result<Self> {
        let target = target_of(path.as_ref())?;
        let path = target.as_path();
        let replaced = permissions(path);
        Self::open(path, Existing::Replaced, replaced.as_ref(), None).within(|| describe(path))
    }

    fn open(
        path: &Path,
        existing: Existing,
        permissions: Option<&Permissions>,
        writer: Option<&Writer>,
    ) -> Result<Self> {
        check_name(path)?;
        // The link itself counts, not what it leads to: a rename replaces the link.
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    "a folder of this name exists; choose another name",
                ));
            }
            Ok(_) if existing == Existing::Kept => return Err(already_exists()),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e.into()),
        }
        let folder = folder_of(path);
        existing_folder(folder)?;
        if writer.is_none() {
            temporary::remove_stale(folder);
        }
        let create = || temporary::create(folder, permissions, writer);
        let (file, listed) = Listed::create(create)?;
        let (file, temporary) = file.into_parts();
        let file = Arc::new(file);
        let writer = match writer {
            Some(writer) => writer.clone(),
            None => Writer::of_first(&temporary, &file),
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

    /// Whose temporary files are the sink's and those of other sinks that go with it.
    pub(super) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Where the file appears: at the end of a symbolic link, if the sink was created with the path of a link.
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

/// The file that a sink for `path` creates or replaces.
fn target_of(path: &Path) -> Result<PathBuf> {
    check_new_name(path).within(|| describe(path))?;
    let target = LocalTarget::find(path)?.into_path()?;
    // A link may lead to another name.
    check_new_name(&target).within(|| describe(path))?;
    Ok(target)
}

/// Refuses a path without a file name, or with one that is reserved.
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

/// The permissions of a file; `None` if there is none of that name, or something else.
pub(super) fn permissions(path: &Path) -> Option<Permissions> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    metadata.is_file().then(|| metadata.permissions())
}

fn persist(file: TempPath, path: &Path, existing: &Existing) -> Result<()> {
    // Whoever replaces a file holds its lock, so that one comes after the other.
    let _locked = match existing {
        Existing::Kept => None,
        Existing::Replaced => {
            check_replaceable(path)?;
            lock(path).ok().flatten()
        }
        Existing::ReplacedIf(version) => match lock(path)? {
            Some(locked) if is_still(version, &locked, path) => Some(locked),
            _ => return Err(conflict()),
        },
    };
    let renamed = match existing {
        Existing::Kept => file.persist_noclobber(path),
        Existing::Replaced | Existing::ReplacedIf(_) => file.persist(path),
    };
    renamed.map_err(|e| match e.error.kind() {
        io::ErrorKind::AlreadyExists => already_exists(),
        _ => Error::from(e.error),
    })?;
    sync_folder(folder_of(path));
    Ok(())
}

/// Refuses to replace anything but a regular file.
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

/// Files that are locked one after the other, each in the place of the one before.
const MOST_ROUNDS: u32 = 64;

/// The file at `path`, locked as long as it is open, where files can be; `None` if there is none.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let found = |metadata: io::Result<std::fs::Metadata>| match metadata {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    };
    let mut rounds = 0;
    loop {
        // To open a pipe may wait for ever.
        match found(std::fs::metadata(path))? {
            Some(metadata) if metadata.is_file() => {}
            _ => return Ok(None),
        }
        let file = match File::open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        // Network file systems refuse in ways of their own: there are no locks then.
        while let Err(error) = file.lock()
            && error.kind() == io::ErrorKind::Interrupted
        {}
        // Whoever had the lock before may have put another file there. Some file systems tell of the same
        // file as if it were another, each time.
        let now = found(std::fs::metadata(path))?;
        rounds += 1;
        if rounds == MOST_ROUNDS || now.is_some_and(|now| is_same(&now, &file)) {
            return Ok(Some(file));
        }
    }
}

/// Whether a file has a version, and a name leads to it.
fn is_still(version: &str, file: &File, path: &Path) -> bool {
    let found = file.metadata().map(|metadata| version_of(&metadata));
    found.is_ok_and(|found| found.as_deref() == Some(version))
        && std::fs::metadata(path).is_ok_and(|now| is_same(&now, file))
}

/// Whether metadata are those of a file, as far as the system tells.
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

/// The folder that holds the file `path`.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a rename durable, where folders can be opened and synced: not those that may be written to
/// but not read, and not on every file system. The file is complete and has its name by then, so that
/// to report a failure would be wrong.
fn sync_folder(folder: &Path) {
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
