//! Predicates that become narrower while a scan runs.

use super::predicate::{BoundPredicate, Predicate};
use crate::error::Result;
use crate::read::shard::metadata::Metadata;
use std::fmt::Debug;
use std::sync::Arc;

/// A predicate that its owner narrows while a scan runs, such as the bound of the best rows so far. A scan asks for it
/// when it begins, at every stripe, and after every 65,536 rows of a stripe
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
    /// Returns a number that changes whenever [`predicate`](Self::predicate) may have changed. It is called often, so
    /// it should cost almost nothing.
    fn version(&self) -> u64;

    /// Returns a predicate of the rows that are still wanted; `None` if all are. A later version must match a subset of
    /// an earlier version's rows, because a scan may still use the earlier one.
    fn predicate(&self) -> Option<Predicate>;
}

/// Conditions on the rows that a scan returns.
#[derive(Debug, Clone, Default)]
pub(in crate::read) struct Conditions {
    /// The predicate that the rows match.
    pub(in crate::read) predicate: Option<Predicate>,
    /// A predicate that narrows the rows while the scan runs.
    pub(in crate::read) dynamic: Option<Arc<dyn DynamicPredicate>>,
    /// Whether deleted rows are skipped.
    pub(in crate::read) hides_deleted: bool,
}

impl Conditions {
    /// Combines the conditions, and binds them to the columns of a shard.
    pub(super) async fn bind(&self, metadata: &Metadata) -> Result<BoundPredicate> {
        let narrower = self.dynamic.as_ref().and_then(|source| source.predicate());
        let predicate = match (&self.predicate, narrower) {
            (Some(predicate), Some(narrower)) => Some(predicate.clone().and(narrower)),
            (Some(predicate), None) => Some(predicate.clone()),
            (None, narrower) => narrower,
        };
        let mut bound = match &predicate {
            Some(predicate) => {
                let bound = metadata.run(|step| BoundPredicate::load(metadata, step, predicate));
                bound.await?
            }
            None => BoundPredicate::default(),
        };
        if self.hides_deleted {
            let column = metadata.run(|step| metadata.deleted_column(step));
            bound.exclude(column.await?);
        }
        Ok(bound)
    }
}
