//! A local folder as the container of a shard's files.

use super::folder::{Container, SinkFactory};
use super::local_file::{describe, existing_folder};
use super::local_sink::{LocalSink, folder_of, permissions};
use super::pooled_file::PooledFile;
use super::read_at::ReadAt;
use super::sink::Sink;
use super::temporary::Writer;
use super::url::RelativeUrl;
use crate::error::{Error, ErrorKind, Result, Within};
use std::fs::Permissions;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A local folder. Symbolic links inside are followed, but never out of it. Files in it are opened as
/// [`PooledFile`]s.
#[derive(Debug, Clone)]
pub struct LocalFolder {
    /// Absolute and free of symbolic links.
    path: PathBuf,
    /// Of files that are created here, if not those of any new file.
    permissions: Option<Permissions>,
    /// Whose files are created here: the writer of the first one, or of a sink elsewhere.
    writer: Option<Writer>,
}

impl LocalFolder {
    /// The existing folder `path`.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if there is none,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if it is a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self {
            path: existing_folder(path.as_ref())?,
            permissions: None,
            writer: None,
        })
    }

    /// The folder that holds the directory file `path`, which need not exist yet.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(folder_of(path.as_ref()))
    }

    /// The folder, absolute and free of symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same folder. Files that are created in it have the permissions of `file`, if there is one.
    pub(crate) fn with_permissions_of(mut self, file: &Path) -> Self {
        self.permissions = permissions(file);
        self
    }

    /// The same folder. Files that are created in it are of the writer that has this sink.
    pub(crate) fn with_writer_of(mut self, sink: &LocalSink) -> Self {
        self.writer = Some(sink.writer().clone());
        self
    }

    /// Where the existing file at `url` is, links resolved.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound), or [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) if a link
    /// leads out of the folder.
    pub(super) fn find(&self, url: &RelativeUrl) -> Result<PathBuf> {
        let path = self.locate(url)?;
        let resolved = path
            .canonicalize()
            .map_err(Error::from)
            .within(|| describe(&path))?;
        if !resolved.starts_with(&self.path) {
            return Err(forbidden(
                url,
                "leads through a symbolic link out of the shard's folder",
            ));
        }
        Ok(resolved)
    }

    /// Where `url` leads in this folder, links not yet resolved.
    fn locate(&self, url: &RelativeUrl) -> Result<PathBuf> {
        let mut path = self.path.clone();
        for segment in url.segments() {
            // What is a plain name in a URL may be a drive or more than one step on this host.
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
        // One whose first file is closed vouches for no other.
        let writer = self.writer.clone().filter(Writer::is_open);
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
