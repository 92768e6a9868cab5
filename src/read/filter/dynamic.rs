//! Predicates that become narrower while a scan runs.

use super::plan::Filter;
use super::predicate::{Bound, Predicate};
use crate::error::Result;
use crate::read::shard::metadata::Metadata;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A predicate that somebody narrows while a scan runs, such as the bound of the best rows so far. A
/// scan asks for it when it begins, at every stripe, and after every 65,536 rows of one
/// ([`ScanBuilder::with_dynamic_filter`](crate::read::ScanBuilder::with_dynamic_filter)).
///
/// ```
/// use arrow_shard::read::{DynamicPredicate, Predicate, col};
/// use std::sync::atomic::{AtomicI64, Ordering};
///
/// /// Rows that are later than the earliest of those that are wanted.
/// #[derive(Debug, Default)]
/// struct Later(AtomicI64);
///
/// impl DynamicPredicate for Later {
///     fn version(&self) -> u64 {
///         self.0.load(Ordering::Relaxed).cast_unsigned()
///     }
///
///     fn predicate(&self) -> Option<Predicate> {
///         Some(col("time").gt(self.0.load(Ordering::Relaxed)))
///     }
/// }
/// ```
pub trait DynamicPredicate: Send + Sync + Debug {
    /// A number that is another one whenever [`predicate`](Self::predicate) may have changed. It is asked for
    /// often, so it should cost next to nothing.
    fn version(&self) -> u64;

    /// Rows that are still wanted; `None` if all are. Each version must match no row that one before it did
    /// not: a scan may go on with an earlier one.
    fn predicate(&self) -> Option<Predicate>;
}

/// Which rows of a shard a scan gives.
#[derive(Debug, Clone, Default)]
pub(in crate::read) struct Conditions {
    /// What they match.
    pub(in crate::read) predicate: Option<Predicate>,
    /// What narrows them while the scan runs.
    pub(in crate::read) dynamic: Option<Arc<dyn DynamicPredicate>>,
    /// Whether deleted rows are left out.
    pub(in crate::read) hides_deleted: bool,
}

impl Conditions {
    /// Both of them for the rows of a shard.
    async fn bind(&self, metadata: &Metadata) -> Result<Bound> {
        let narrower = self.dynamic.as_ref().and_then(|source| source.predicate());
        let predicate = match (&self.predicate, narrower) {
            (Some(predicate), Some(narrower)) => Some(predicate.clone().and(narrower)),
            (Some(predicate), None) => Some(predicate.clone()),
            (None, narrower) => narrower,
        };
        let mut bound = match &predicate {
            Some(predicate) => {
                let bound = metadata.run(|bench| Bound::load(metadata, bench, predicate));
                bound.await?
            }
            None => Bound::default(),
        };
        if self.hides_deleted {
            let column = metadata.run(|bench| metadata.deleted_column(bench));
            bound.exclude(column.await?);
        }
        Ok(bound)
    }
}

/// How a filter becomes another one.
#[derive(Debug)]
pub(super) struct Refresh {
    conditions: Conditions,
    source: Arc<dyn DynamicPredicate>,
    /// That of the source when the filter was made, or an earlier one.
    version: u64,
    /// The last filter that was made of these conditions, for all readers of the scan.
    latest: Arc<Mutex<Weak<Filter>>>,
}

impl Filter {
    /// A filter for the rows that meet the conditions.
    pub(in crate::read) async fn load(metadata: &Metadata, conditions: Conditions) -> Result<Self> {
        // What changes from here on shows in the version.
        let dynamic = conditions.dynamic.clone();
        let dynamic = dynamic.map(|source| (source.version(), source));
        let mut filter = Self::new(conditions.bind(metadata).await?);
        filter.refresh = dynamic.map(|(version, source)| Refresh {
            conditions,
            source,
            version,
            latest: Arc::default(),
        });
        Ok(filter)
    }

    /// Whether it may leave out rows.
    pub(in crate::read) fn may_skip(&self) -> bool {
        self.refresh.is_some() || !self.bound.conjuncts.is_empty()
    }

    /// Whether the predicate may have changed since.
    pub(super) fn is_stale(&self) -> bool {
        let is_stale = |refresh: &Refresh| refresh.source.version() != refresh.version;
        self.refresh.as_ref().is_some_and(is_stale)
    }

    /// The filter that takes its place, which shares its counters; `None` if the predicate is the
    /// same.
    pub(super) async fn refreshed(&self, metadata: &Metadata) -> Result<Option<Arc<Self>>> {
        let Some(refresh) = self.refresh.as_ref().filter(|_| self.is_stale()) else {
            return Ok(None);
        };
        let lock = || {
            let latest = refresh.latest.lock();
            latest.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(latest) = lock().upgrade().filter(|latest| !latest.is_stale()) {
            return Ok(Some(latest));
        }
        let mut filter = Self::load(metadata, refresh.conditions.clone()).await?;
        filter.counters = self.counters.clone();
        if let Some(next) = &mut filter.refresh {
            next.latest = refresh.latest.clone();
        }
        let filter = Arc::new(filter);
        *lock() = Arc::downgrade(&filter);
        Ok(Some(filter))
    }
}
