//! Object stores by URL, configured by the environment variables of their own tools.

use arrow_shard::io::Location;
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::ObjectStore;
use std::sync::Arc;
use url::{Position, Url};

/// Connects to a store when a query first names it.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    connected: DefaultObjectStoreRegistry,
}

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.connected.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.connected.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(store) = self.connected.get_store(url) {
            return Ok(store);
        }
        let root = &url[..Position::BeforePath];
        let place = Location::from_url(&format!("{root}/"));
        let place = place.map_err(|error| DataFusionError::External(Box::new(error)))?;
        match place.object() {
            // In some URLs, the first part of the path is a bucket. Paths in queries are whole.
            Some((store, path)) if path.as_ref().is_empty() => {
                self.connected.register_store(url, Arc::clone(&store));
                Ok(store)
            }
            _ => plan_err!("{root} leads to no store"),
        }
    }
}
