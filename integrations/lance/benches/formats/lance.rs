//! An open Lance file.

use super::BATCH_ROWS;
use futures::StreamExt;
use lance_core::cache::LanceCache;
use lance_encoding::decoder::FilterExpression;
use lance_file::reader::{FileReader, FileReaderOptions};
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use std::path::Path;
use std::sync::Arc;

pub(super) struct LanceFile(FileReader);

impl LanceFile {
    pub(super) async fn open(path: &Path) -> Self {
        let store = Arc::new(ObjectStore::local());
        let scheduler = ScanScheduler::new(store.clone(), SchedulerConfig::max_bandwidth(&store));
        let place = object_store::path::Path::from_absolute_path(path).unwrap();
        let file = scheduler
            .open_file(&place, &CachedFileSize::unknown())
            .await
            .unwrap();
        let cache = LanceCache::no_cache();
        let options = FileReaderOptions::default();
        let opening = FileReader::try_open(file, None, Arc::default(), &cache, options);
        Self(opening.await.unwrap())
    }

    /// Reads all rows, and returns their number.
    pub(super) async fn scan(&self) -> usize {
        self.read(ReadBatchParams::RangeFull).await
    }

    /// Reads rows by their numbers, and returns how often they were asked for. Lance takes rows in ascending order,
    /// each once.
    pub(super) async fn take(&self, rows: &[u64]) -> usize {
        let mut sorted: Vec<u32> = rows
            .iter()
            .map(|&row| u32::try_from(row).unwrap())
            .collect();
        sorted.sort_unstable();
        sorted.dedup();
        let repeated = rows.len() - sorted.len();
        let indices = lance_arrow_array::UInt32Array::from(sorted);
        repeated + self.read(ReadBatchParams::Indices(indices)).await
    }

    async fn read(&self, rows: ReadBatchParams) -> usize {
        let batch_rows = u32::try_from(BATCH_ROWS).unwrap();
        let no_filter = FilterExpression::no_filter();
        let stream = self.0.read_stream(rows, batch_rows, 16, no_filter);
        let counts = stream.await.unwrap().map(|batch| batch.unwrap().num_rows());
        counts.fold(0, |all, rows| async move { all + rows }).await
    }
}
