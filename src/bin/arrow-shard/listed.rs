//! What `ls` shows of a shard, wherever it is.

use arrow_array::RecordBatch;
use arrow_shard::{Result, Shard};

/// A file of a folder that is a shard by its name.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// Of the directory file.
    pub(crate) bytes: u64,
    pub(crate) found: Result<Found>,
}

/// An open shard.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) shard: Shard,
    /// The columns that it is sorted by, each with its statistics.
    pub(crate) sorted: Vec<(String, RecordBatch)>,
}

impl Found {
    /// Reads what is shown.
    pub(crate) fn of(shard: Shard) -> Result<Self> {
        let mut sorted = Vec::new();
        for column in shard.sorting_columns()? {
            let statistics = shard.statistics([column.path.as_str()])?;
            sorted.push((column.path, statistics));
        }
        Ok(Self { shard, sorted })
    }

    /// As [`of`](Self::of), of a shard in a store.
    #[cfg(feature = "cloud")]
    pub(crate) async fn of_object(shard: Shard) -> Result<Self> {
        shard.properties_async().await?;
        let mut sorted = Vec::new();
        for column in shard.sorting_columns()? {
            let statistics = shard.statistics_async([column.path.as_str()]).await?;
            sorted.push((column.path, statistics));
        }
        Ok(Self { shard, sorted })
    }
}
