//! Folders of an object store.

use super::object_sink::{ObjectSink, UploadOptions, failure};
use super::url::decode;
use super::{
    AsyncContainer, AsyncReadAt, AsyncSink, AsyncSinkFactory, BoxFuture, ObjectReader, RelativeUrl,
};
use crate::error::Result;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fmt;
use std::sync::Arc;

/// The objects below a prefix of a store: the files of a shard of several.
#[derive(Clone)]
pub struct ObjectFolder {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// How objects in it are written.
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
    /// The objects whose names begin with `prefix` and a `/`; all of the store if it is empty.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            store,
            prefix,
            uploads: UploadOptions::default(),
        }
    }

    /// The folder that the object at `path` is in.
    pub fn of_object(store: Arc<dyn ObjectStore>, path: &Path) -> Self {
        let mut parts: Vec<_> = path.parts().collect();
        parts.pop();
        Self::new(store, Path::from_iter(parts))
    }
}

/// The names on the way to an object, as references to it have them.
pub(crate) fn names_of(path: &Path) -> impl Iterator<Item = String> {
    path.parts().map(|part| {
        let name = part.as_ref();
        decode(name).unwrap_or_else(|_| name.to_owned())
    })
}

impl AsyncContainer for ObjectFolder {
    fn open_async(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>> {
        let below = url.path().split('/');
        let path = below.fold(self.prefix.clone(), |path, name| path.join(name));
        Ok(Arc::new(ObjectReader::new(self.store.clone(), path)))
    }
}

impl ObjectFolder {
    /// Whether objects may be replaced; off by default.
    #[must_use]
    pub fn with_overwrite(mut self, overwrite: bool) -> Self {
        self.uploads.overwrite = overwrite;
        self
    }

    /// Bytes of a part of an upload; 8 MiB by default. Most stores want 5 MiB at least. S3 takes no more
    /// than 10,000 parts, so that an object has at most 78 GiB by default.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: usize) -> Self {
        self.uploads.part_bytes = bytes.max(1);
        self
    }

    /// Concurrency: parts of one object that are sent at once; 4 by default.
    #[must_use]
    pub fn with_parts_at_once(mut self, parts: usize) -> Self {
        self.uploads.parts_at_once = parts.max(1);
        self
    }

    /// A sink for the object at `path`, wherever it is in the store.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), unless objects may be replaced, else those of the
    /// store.
    pub async fn create_object(&self, path: &Path) -> Result<ObjectSink> {
        ObjectSink::create(self.store.clone(), path.clone(), self.uploads).await
    }
}

impl AsyncSinkFactory for ObjectFolder {
    fn create_async<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncSink>>> {
        Box::pin(async move {
            RelativeUrl::from_file_name(name)?;
            let path = self.prefix.clone().join(name);
            Ok(Box::new(self.create_object(&path).await?) as Box<dyn AsyncSink>)
        })
    }

    fn remove_async<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            RelativeUrl::from_file_name(name)?;
            let path = self.prefix.clone().join(name);
            let deleted = self.store.delete(&path).await;
            deleted.map_err(|e| failure(&path, e))
        })
    }
}
