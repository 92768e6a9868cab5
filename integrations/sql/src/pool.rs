//! Memory of operators, bounded by `--memory-limit`.

use datafusion::common::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, TrackConsumersPool,
};
use std::fmt;
use std::num::NonZeroUsize;

/// Number of operators that a message about memory lists.
const LISTED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Operators that are not counted: what they hold is bounded by the sizes of stripes, row groups and batches. Sorts
/// that merge temporary files take all memory that they can get, and would leave none to the operators above them.
const FREE: [&str; 3] = ["ShardSink", "ParquetSink", "SortPreservingMergeExec"];

/// Shares the memory among operators that use temporary files; the others take as they need.
#[derive(Debug)]
pub(crate) struct OperatorPool {
    counted: TrackConsumersPool<FairSpillPool>,
}

impl OperatorPool {
    /// Creates a pool of this number of bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            counted: TrackConsumersPool::new(FairSpillPool::new(bytes), LISTED),
        }
    }
}

fn is_free(consumer: &MemoryConsumer) -> bool {
    FREE.iter().any(|name| consumer.name().starts_with(name))
}

impl fmt::Display for OperatorPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counted.fmt(f)
    }
}

impl MemoryPool for OperatorPool {
    fn name(&self) -> &str {
        "operators"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if !is_free(consumer) {
            self.counted.register(consumer);
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if !is_free(consumer) {
            self.counted.unregister(consumer);
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        if !is_free(reservation.consumer()) {
            self.counted.grow(reservation, additional);
        }
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        if !is_free(reservation.consumer()) {
            self.counted.shrink(reservation, shrink);
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if is_free(reservation.consumer()) {
            return Ok(());
        }
        self.counted.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.counted.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.counted.memory_limit()
    }
}
