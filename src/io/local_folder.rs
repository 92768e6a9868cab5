//! A local folder as the container of a shard's files.

use super::folder::{Container, SinkFactory};
use super::local_file::{describe, existing_folder};
use super::local_sink::{LocalSink, folder_of, permissions};
use super::pooled_file::PooledFile;
use super::read_at::ReadAt;
use super::sink::Sink;
use super::temporary_files::TemporaryWriter;
use super::url::RelativeUrl;
use crate::error::{Error, ErrorKind, Result, Within};
use std::fs::Permissions;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A local folder. Symbolic links inside it are followed unless they lead out of the folder. Its files are opened as
/// [`PooledFile`]s.
#[derive(Debug, Clone)]
pub struct LocalFolder {
    /// The absolute path, free of symbolic links.
    path: PathBuf,
    /// The permissions of files created here, if not the default.
    permissions: Option<Permissions>,
    /// The writer that owns the files created here: the writer of the first file, or of a sink elsewhere.
    writer: Option<TemporaryWriter>,
}

impl LocalFolder {
    /// Opens the existing folder `path`.
    ///
    /// # Errors
    /// Returns [`NotFound`](ErrorKind::NotFound) if it does not exist, or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if it is a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self {
            path: existing_folder(path.as_ref())?,
            permissions: None,
            writer: None,
        })
    }

    /// Opens the folder of the directory file `path`, which need not exist yet.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(folder_of(path.as_ref()))
    }

    /// Returns the absolute path of the folder, free of symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the sink of the directory file of a new shard, and its folder. Files created in the folder belong to the
    /// same writer. If a file is replaced, they get its permissions, so that they are not readable by more users.
    pub(crate) fn for_shard(path: &Path, overwrite: bool) -> Result<(LocalSink, Self)> {
        let sink = if overwrite {
            LocalSink::create_or_replace(path)?
        } else {
            LocalSink::create(path)?
        };
        let folder = Self::of_file(sink.path())?.with_writer_of(&sink);
        if overwrite {
            let folder = folder.with_permissions_of(sink.path());
            return Ok((sink, folder));
        }
        Ok((sink, folder))
    }

    /// Gives new files the permissions of `file`, if it exists.
    pub(crate) fn with_permissions_of(mut self, file: &Path) -> Self {
        self.permissions = permissions(file);
        self
    }

    /// Assigns new files to the writer of `sink`.
    pub(crate) fn with_writer_of(mut self, sink: &LocalSink) -> Self {
        self.writer = Some(sink.writer().clone());
        self
    }

    /// Returns the path of the existing file at `url`, with links resolved.
    ///
    /// # Errors
    /// Returns [`NotFound`](ErrorKind::NotFound), or [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) if a link leads out of
    /// the folder.
    pub(super) fn find(&self, url: &RelativeUrl) -> Result<PathBuf> {
        let path = self.locate(url)?;
        let resolved = path
            .canonicalize()
            .map_err(Error::from)
            .within(|| describe(&path))?;
        if !resolved.starts_with(&self.path) {
            return Err(forbidden(
                url,
                "leads through a symbolic link out of its folder",
            ));
        }
        Ok(resolved)
    }

    /// Returns the path of `url` in this folder, without resolving links.
    fn locate(&self, url: &RelativeUrl) -> Result<PathBuf> {
        let mut path = self.path.clone();
        for segment in url.segments() {
            // A valid name in a URL may be a drive or several path components on this system.
            let mut components = Path::new(segment).components();
            match (components.next(), components.next()) {
                (Some(Component::Normal(name)), None) if name == segment => path.push(name),
                _ => return Err(forbidden(url, "is no file name on this system")),
            }
        }
        Ok(path)
    }
}

fn forbidden(url: &RelativeUrl, why: &str) -> Error {
    Error::new(
        ErrorKind::ForbiddenUrl,
        format!("the reference `{url}` {why}"),
    )
}

impl Container for LocalFolder {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(PooledFile::open(self.find(url)?)?))
    }

    fn base(&self) -> Option<String> {
        self.path.to_str().map(str::to_owned)
    }
}

impl SinkFactory for LocalFolder {
    fn create(&mut self, name: &str) -> Result<Box<dyn Sink>> {
        let path = self.locate(&RelativeUrl::from_file_name(name)?)?;
        // If the writer's first file is closed, it no longer protects other files.
        let writer = self.writer.clone().filter(TemporaryWriter::is_open);
        let sink = LocalSink::create_for(path, self.permissions.as_ref(), writer.as_ref())?;
        self.writer = Some(sink.writer().clone());
        Ok(Box::new(sink))
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        let path = self.locate(&RelativeUrl::from_file_name(name)?)?;
        std::fs::remove_file(&path)
            .map_err(Error::from)
            .within(|| describe(&path))
    }
}
