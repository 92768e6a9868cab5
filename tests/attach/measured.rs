//! Bytes that a scan of an attached shard reads from an object store.

use super::watched::Watched;
use arrow_shard::Shard;
use arrow_shard::io::Store;
use arrow_shard::read::Predicate;
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::ObjectStoreExt;
use object_store::path::Path as ObjectPath;
use std::path::Path;
use std::sync::Arc;

/// The result of a scan.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) rows: usize,
    /// Bytes that were read after the shard was opened.
    pub(crate) bytes: u64,
}

/// Copies a folder to an object store, and scans the shard of this name there.
pub(crate) fn scan(folder: &Path, name: &str, predicate: Option<Predicate>) -> Measured {
    let watched = Arc::new(Watched::default());
    block_on(async {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let bytes = std::fs::read(entry.path()).unwrap();
            let place = ObjectPath::from(entry.file_name().to_str().unwrap());
            watched.store.put(&place, bytes.into()).await.unwrap();
        }
        let store = Store::object(watched.clone());
        let shard = Shard::open_async(store.at(name)).await.unwrap();
        watched.calls().reads.clear();
        let mut scan = shard.scan();
        if let Some(predicate) = predicate {
            scan = scan.with_filter(predicate);
        }
        let stream = scan.build_stream().await.unwrap();
        let batches: Vec<_> = stream.try_collect().await.unwrap();
        Measured {
            rows: batches.iter().map(|batch| batch.num_rows()).sum(),
            bytes: watched.calls().reads.iter().sum(),
        }
    })
}
