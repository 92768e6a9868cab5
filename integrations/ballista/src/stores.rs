//! Object stores that environment variables describe.

use datafusion::common::Result;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use std::sync::Arc;
use url::Url;

/// A registry of local files and of S3 buckets, with credentials from the environment variables `AWS_*`:
/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT`, `AWS_ALLOW_HTTP` and the others that
/// [`AmazonS3Builder::from_env`] reads.
///
/// A bucket is opened on first use, and keeps its connections from then on. Stores that a program registers take
/// precedence.
#[derive(Debug, Default)]
pub struct EnvironmentStores {
    open: DefaultObjectStoreRegistry,
}

impl ObjectStoreRegistry for EnvironmentStores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.open.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.open.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let known = self.open.get_store(url);
        let bucket = match url.scheme() {
            "s3" | "s3a" => url.host_str(),
            _ => None,
        };
        let (Err(_), Some(bucket)) = (&known, bucket) else {
            return known;
        };
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let store: Arc<dyn ObjectStore> = Arc::new(builder.build()?);
        self.open.register_store(url, Arc::clone(&store));
        Ok(store)
    }
}
