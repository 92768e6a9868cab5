//! Folders of an object store.

use super::object_sink::{ObjectSink, UploadOptions, failure};
use super::{
    AsyncContainer, AsyncReadAt, AsyncSink, AsyncSinkFactory, BoxFuture, ObjectReader, RelativeUrl,
};
use crate::error::Result;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fmt;
use std::sync::Arc;

/// The objects below a prefix of a store: the files of a shard of several files.
#[derive(Clone)]
pub struct ObjectFolder {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// How objects in the folder are written.
    uploads: UploadOptions,
}

impl fmt::Debug for ObjectFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectFolder")
            .field("store", &format_args!("{}", self.store))
            .field("prefix", &self.prefix)
            .field("uploads", &self.uploads)
            .finish()
    }
}

impl ObjectFolder {
    /// Returns the folder of objects with names that begin with `prefix` and a `/`. An empty prefix is the whole store.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            store,
            prefix,
            uploads: UploadOptions::default(),
        }
    }

    /// Returns the folder of the object at `path`.
    pub fn of_object(store: Arc<dyn ObjectStore>, path: &Path) -> Self {
        let mut parts: Vec<_> = path.parts().collect();
        parts.pop();
        Self::new(store, Path::from_iter(parts))
    }
}

impl AsyncContainer for ObjectFolder {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>> {
        let below = url.path().split('/');
        let path = below.fold(self.prefix.clone(), |path, name| path.join(name));
        Ok(Arc::new(ObjectReader::new(self.store.clone(), path)))
    }
}

impl ObjectFolder {
    /// Sets whether existing objects may be replaced. Off by default.
    #[must_use]
    pub fn with_overwrite(mut self, overwrite: bool) -> Self {
        self.uploads.overwrite = overwrite;
        self
    }

    /// Sets the size in bytes of the parts of an upload: 8 MiB by default. Most stores require at least 5 MiB. S3
    /// accepts at most 10,000 parts, so an object has at most 78 GiB with the default.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: usize) -> Self {
        self.uploads.part_bytes = bytes.max(1);
        self
    }

    /// Sets the number of parts of one object that are sent concurrently: 4 by default.
    #[must_use]
    pub fn with_parts_at_once(mut self, parts: usize) -> Self {
        self.uploads.parts_at_once = parts.max(1);
        self
    }

    /// Returns a sink for the object at `path`, which may be anywhere in the store.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) unless objects may be replaced, or the errors of the
    /// store.
    pub async fn create_object(&self, path: &Path) -> Result<ObjectSink> {
        ObjectSink::create(self.store.clone(), path.clone(), self.uploads).await
    }
}

impl AsyncSinkFactory for ObjectFolder {
    fn create<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>> {
        Box::pin(async move {
            RelativeUrl::from_file_name(name)?;
            let path = self.prefix.clone().join(name);
            Ok(Box::new(self.create_object(&path).await?) as Box<dyn AsyncSink>)
        })
    }

    fn remove<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            RelativeUrl::from_file_name(name)?;
            let path = self.prefix.clone().join(name);
            let deleted = self.store.delete(&path).await;
            deleted.map_err(|e| failure(&path, e))
        })
    }
}
