//! The objects in a folder of a store.

use arrow_shard::io::{Location, RelativeUrl};
use arrow_shard::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::HashMap;
use std::sync::Arc;

/// The objects of a folder, listed by one request.
pub(crate) struct FolderObjects {
    store: Arc<dyn ObjectStore>,
    folder: Path,
    sizes: HashMap<Path, u64>,
}

impl FolderObjects {
    /// Lists the objects of a folder; `None` if it is a local one.
    pub(crate) async fn of(folder: &Location) -> Result<Option<Self>> {
        let Some((store, folder)) = folder.object() else {
            return Ok(None);
        };
        let answer = store.list_with_delimiter(Some(&folder)).await;
        let listed = answer.map_err(|e| {
            let message = format!("the store failed to list `{folder}`");
            Error::new(ErrorKind::Io, message).caused_by(e)
        })?;
        let objects = listed.objects.into_iter();
        Ok(Some(Self {
            store,
            folder,
            sizes: objects.map(|o| (o.location, o.size)).collect(),
        }))
    }

    /// Returns the size of an object of the folder; 0 if it was not listed.
    pub(crate) fn size(&self, object: &Location) -> u64 {
        let size = object.object().map(|(_, path)| self.sizes.get(&path));
        size.flatten().copied().unwrap_or(0)
    }

    /// Returns whether the object exists to which a shard of the folder refers.
    pub(crate) async fn contain(&self, file: &RelativeUrl) -> Result<bool> {
        let names = file.segments();
        let object = names.fold(self.folder.clone(), |path, name| path.join(name));
        if file.segments().count() == 1 {
            return Ok(self.sizes.contains_key(&object));
        }
        match self.store.head(&object).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => {
                let message = format!("the store failed to look for `{object}`");
                Err(Error::new(ErrorKind::Io, message).caused_by(error))
            }
        }
    }
}
