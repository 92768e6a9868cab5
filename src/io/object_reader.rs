//! Objects of a store, read in ranges.

use super::{AsyncReadAt, BoxFuture, ByteRange};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Number of concurrent requests for ranges of one object.
const REQUESTS: usize = 16;

/// An object of a store, read in ranges.
///
/// Every answer must be about the object that the first read found: it has the same size and the same e-tag, or the
/// same time of the last change if the store has no e-tags. If another writer replaces the object, later reads fail
/// with [`Replaced`](ErrorKind::Replaced).
pub struct ObjectReader {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// The object in the first answer.
    known: OnceLock<KnownObject>,
}

#[derive(Debug)]
struct KnownObject {
    meta: ObjectMeta,
    /// The condition of later requests, so that a store sends no bytes of another object.
    condition: GetOptions,
}

/// Shows the store by its `Display`, because the `Debug` of a store contains its whole configuration.
impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectReader")
            .field("store", &format_args!("{}", self.store))
            .field("path", &self.path)
            .field("known", &self.known)
            .finish()
    }
}

impl ObjectReader {
    /// Returns a reader for the object at `path`. A missing object is an error of the first read.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        Self {
            store,
            path,
            known: OnceLock::new(),
        }
    }

    /// Checks that an answer is about the same object as the first answer, and returns the size. Remembers the object
    /// of the first answer.
    fn note(&self, meta: &ObjectMeta) -> object_store::Result<u64> {
        let known = self.known.get_or_init(|| {
            let condition = match &meta.e_tag {
                // RFC 9110: a weak tag never matches in `If-Match`.
                Some(e_tag) if e_tag.starts_with("W/") => GetOptions::new(),
                Some(e_tag) => GetOptions::new().with_if_match(Some(e_tag.clone())),
                // `object_store` puts the epoch in place of a missing time.
                None if meta.last_modified.timestamp() == 0 => GetOptions::new(),
                None => GetOptions::new().with_if_unmodified_since(Some(meta.last_modified)),
            };
            let meta = meta.clone();
            KnownObject { meta, condition }
        });
        // Not every request has a condition: those sent before the first answer have none.
        let first = &known.meta;
        let is_same = first.size == meta.size
            && first.e_tag == meta.e_tag
            && (first.e_tag.is_some() || first.last_modified == meta.last_modified);
        if is_same {
            Ok(first.size)
        } else {
            Err(object_store::Error::Precondition {
                path: self.path.to_string(),
                source: "another object has answered".into(),
            })
        }
    }

    /// Returns the bytes of a range, and the size of the object.
    async fn get(&self, range: GetRange) -> object_store::Result<(Bytes, u64)> {
        let condition = self.known.get().map(|known| known.condition.clone());
        let options = condition.unwrap_or_default().with_range(Some(range));
        let answer = self.store.get_opts(&self.path, options).await?;
        let size = self.note(&answer.meta)?;
        Ok((answer.bytes().await?, size))
    }

    fn failure(&self, error: object_store::Error) -> Error {
        use object_store::Error as Store;
        let (kind, message, source) = match error {
            // The error contains nothing but this message and the path.
            Store::NotFound { source, .. } => {
                (ErrorKind::NotFound, "there is no such object", source)
            }
            error @ Store::Precondition { .. } => (
                ErrorKind::Replaced,
                "the object is not the one that was opened first; open the shard again",
                error.into(),
            ),
            error => (ErrorKind::Io, "the object store failed", error.into()),
        };
        Error::new(kind, message)
            .caused_by(source)
            .within(format!("object `{}`", self.path))
    }
}

impl AsyncReadAt for ObjectReader {
    fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>> {
        Box::pin(async move {
            let tail = match self.get(GetRange::Suffix(len)).await {
                // Azure does not support ranges that count from the end.
                Err(object_store::Error::NotSupported { .. }) => {
                    let meta = self.store.head(&self.path).await;
                    let size = meta.and_then(|meta| self.note(&meta));
                    let size = size.map_err(|e| self.failure(e))?;
                    self.get(GetRange::Bounded(size.saturating_sub(len)..size))
                        .await
                }
                tail => tail,
            };
            tail.map_err(|e| self.failure(e))
        })
    }

    fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let requests = ranges.into_iter().map(|range| async move {
                let range = GetRange::Bounded(range.start()..range.end());
                let answer = self.get(range).await;
                answer.map(|(bytes, _)| bytes).map_err(|e| self.failure(e))
            });
            stream::iter(requests)
                .buffered(REQUESTS)
                .try_collect()
                .await
        })
    }

    fn known_size(&self) -> Option<u64> {
        Some(self.known.get()?.meta.size)
    }

    fn name(&self) -> Option<String> {
        Some(self.path.to_string())
    }

    fn version(&self) -> Option<String> {
        self.known.get()?.meta.e_tag.clone()
    }
}
