//! Local files that appear whole or not at all.

use super::local_file::describe;
use super::sink::{Sink, State};
use crate::error::{Error, ErrorKind, Result, Within};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Bytes collected before a write to the file; larger pieces are written directly.
const BUFFER_BYTES: usize = 1 << 18;

/// A local file that appears under its name only when it is committed.
///
/// Until then the bytes are in a temporary file beside it, which a drop deletes. A commit syncs the
/// file, renames it, and syncs the folder.
#[derive(Debug)]
pub struct LocalSink {
    state: State<BufWriter<NamedTempFile>>,
    path: PathBuf,
    overwrite: bool,
}

impl LocalSink {
    /// A new file at `path`, which must not exist, neither now nor at the commit.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) if it does,
    /// [`NotFound`](ErrorKind::NotFound) if its folder does not, else those of the operating
    /// system.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::open(path, false).within(|| describe(path))
    }

    /// A new file at `path`; the commit replaces a file that is there.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) if `path` is a folder, else like
    /// [`create`](Self::create).
    pub fn create_or_replace(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::open(path, true).within(|| describe(path))
    }

    fn open(path: &Path, overwrite: bool) -> Result<Self> {
        if path.file_name().is_none() {
            return Err(Error::invalid("expected a path that ends in a file name"));
        }
        // The link itself counts, not what it leads to: a rename replaces the link.
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    "a folder of this name exists; choose another name",
                ));
            }
            Ok(_) if !overwrite => return Err(already_exists()),
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(e.into()),
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".arrow-shard.").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As for any new file, the umask decides; a temporary file would be its owner's only.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder_of(path))?;
        Ok(Self {
            state: State::Open(BufWriter::with_capacity(BUFFER_BYTES, file)),
            path: path.to_path_buf(),
            overwrite,
        })
    }

    /// Where the file appears.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Sink for LocalSink {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.state
            .write(|file| Ok(file.write_all(bytes)?))
            .within(|| describe(&self.path))
    }

    fn commit(&mut self) -> Result<()> {
        let (path, overwrite) = (&self.path, self.overwrite);
        self.state
            .commit(|file| persist(file, path, overwrite))
            .within(|| describe(path))
    }
}

fn persist(file: BufWriter<NamedTempFile>, path: &Path, overwrite: bool) -> Result<()> {
    let file = file
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    let renamed = if overwrite {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    renamed.map_err(|e| match e.error.kind() {
        std::io::ErrorKind::AlreadyExists => already_exists(),
        _ => Error::from(e.error),
    })?;
    sync_folder(folder_of(path))
}

/// The folder that holds the file `path`.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a rename durable. Other systems than Unix do not open folders.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> Result<()> {
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|e| {
        Error::new(
            ErrorKind::Io,
            "the file is complete, but its folder could not be synced",
        )
        .caused_by(e)
    })
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> Result<()> {
    Ok(())
}

fn already_exists() -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        "the file exists; choose another name, delete it, or ask to overwrite it",
    )
}
