//! The data that `ls` shows of a shard, either local or in a store.

use crate::text;
use arrow_array::RecordBatch;
use arrow_shard::io::RelativeUrl;
use arrow_shard::{Result, Shard};

/// A file of a folder that may be a shard by its name.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// Size of the directory file.
    pub(crate) bytes: u64,
    pub(crate) found: Result<Found>,
}

/// An open shard.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) shard: Shard,
    /// The sorting columns, each with its statistics.
    pub(crate) sorted: Vec<(String, RecordBatch)>,
    /// The files that the shard needs in addition to the directory file.
    pub(crate) files: Vec<RelativeUrl>,
    /// The files among `files` that are missing.
    pub(crate) missing: Vec<RelativeUrl>,
}

impl Found {
    /// Reads the data of a shard. `is_there` returns whether a file exists.
    pub(crate) fn of(shard: Shard, is_there: impl Fn(&RelativeUrl) -> bool) -> Result<Self> {
        let mut sorted = Vec::new();
        for column in shard.sorting_columns()? {
            let statistics = shard.statistics([column.path.as_str()])?;
            sorted.push((column.path, statistics));
        }
        let files = shard.referenced_files()?;
        let missing = files.iter().filter(|file| !is_there(file));
        Ok(Self {
            missing: missing.cloned().collect(),
            shard,
            sorted,
            files,
        })
    }

    /// Reads the data of a shard in a store. `is_there` returns whether an object exists.
    #[cfg(feature = "cloud")]
    pub(crate) async fn of_object(
        shard: Shard,
        is_there: impl AsyncFn(&RelativeUrl) -> Result<bool>,
    ) -> Result<Self> {
        shard.properties_async().await?;
        let mut sorted = Vec::new();
        for column in shard.sorting_columns()? {
            let statistics = shard.statistics_async([column.path.as_str()]).await?;
            sorted.push((column.path, statistics));
        }
        let files = shard.referenced_files_async().await?;
        let mut missing = Vec::new();
        for file in &files {
            if !is_there(file).await? {
                missing.push(file.clone());
            }
        }
        Ok(Self {
            shard,
            sorted,
            files,
            missing,
        })
    }

    /// Returns a message about missing files, if there are any.
    pub(crate) fn incomplete(&self) -> Option<String> {
        let first = self.missing.first()?;
        Some(format!(
            "{} of the {} that it needs {} missing: `{}`{}; copy the files to the folder of the shard, or run \
             `arrow-shard pack` where they exist, and copy the resulting file",
            self.missing.len(),
            text::count(self.files.len() as u64, "file"),
            if self.missing.len() == 1 { "is" } else { "are" },
            first.path(),
            if self.missing.len() == 1 {
                ""
            } else {
                " and others"
            },
        ))
    }
}
