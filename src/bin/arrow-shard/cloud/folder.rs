//! The objects in a folder of a store.

use arrow_shard::io::{Location, RelativeUrl};
use arrow_shard::{Error, ErrorKind, Result};
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use std::collections::HashMap;
use std::sync::Arc;

/// The objects of a folder, listed by one request, or one of them.
pub(crate) struct FolderObjects {
    store: Arc<dyn ObjectStore>,
    sizes: HashMap<Path, u64>,
    /// Whether `sizes` has all objects of the folder, without its subfolders.
    is_listed: bool,
}

impl FolderObjects {
    /// Lists the objects of a folder, with its subfolders if `recursive`; `None` if it is a local one.
    pub(crate) async fn of(folder: &Location, recursive: bool) -> Result<Option<Self>> {
        let Some((store, folder)) = folder.object() else {
            return Ok(None);
        };
        let answer = if recursive {
            store.list(Some(&folder)).try_collect::<Vec<_>>().await
        } else {
            let answer = store.list_with_delimiter(Some(&folder)).await;
            answer.map(|listed| listed.objects)
        };
        let objects: Vec<ObjectMeta> = answer.map_err(|e| {
            let message = format!("the store failed to list `{folder}`");
            Error::new(ErrorKind::Io, message).caused_by(e)
        })?;
        Ok(Some(Self {
            store,
            sizes: objects.into_iter().map(|o| (o.location, o.size)).collect(),
            is_listed: true,
        }))
    }

    /// Asks for one object, without listing its folder, which may have millions; `None` if it is a local file.
    pub(crate) async fn of_one(object: &Location) -> Result<Option<Self>> {
        let Some((store, path)) = object.object() else {
            return Ok(None);
        };
        let found = Self {
            store,
            sizes: HashMap::new(),
            is_listed: false,
        };
        // Opening a missing object reports it.
        let size = found.look(&path).await?;
        let sizes = size.map(|size| (path, size)).into_iter().collect();
        Ok(Some(Self { sizes, ..found }))
    }

    /// Returns the size of an object, or `None` if it does not exist.
    async fn look(&self, object: &Path) -> Result<Option<u64>> {
        match self.store.head(object).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => {
                let message = format!("the store failed to look for `{object}`");
                Err(Error::new(ErrorKind::Io, message).caused_by(error))
            }
        }
    }

    /// Returns the size of an object of the folder; 0 if it was not listed.
    pub(crate) fn size(&self, object: &Location) -> u64 {
        let size = object.object().map(|(_, path)| self.sizes.get(&path));
        size.flatten().copied().unwrap_or(0)
    }

    /// Returns whether the object exists to which a shard of the folder refers.
    pub(crate) async fn contain(&self, shard: &Location, file: &RelativeUrl) -> Result<bool> {
        let Some((_, shard)) = shard.object() else {
            return Ok(false);
        };
        let mut folder: Vec<_> = shard.parts().collect();
        folder.pop();
        let names = file.segments();
        let object = names.fold(Path::from_iter(folder), |path, name| path.join(name));
        let is_known = self.sizes.contains_key(&object);
        if is_known || (self.is_listed && file.segments().count() == 1) {
            return Ok(is_known);
        }
        Ok(self.look(&object).await?.is_some())
    }
}
