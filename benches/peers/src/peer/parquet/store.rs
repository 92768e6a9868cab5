//! Reads objects of a store with the asynchronous reader.

#![expect(
    deprecated,
    reason = "the reader of users who do not implement their own"
)]

use super::wanted::{selection, wanted};
use crate::data::BATCH_ROWS;
use crate::peer::traits::{Opened, Source, Want};
use crate::store::Remote;
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use futures::{StreamExt, TryStreamExt};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::async_reader::{ParquetObjectReader, ParquetRecordBatchStreamBuilder};
use parquet::file::metadata::PageIndexPolicy;

/// Bytes that opening reads: DataFusion's default.
const FOOTER_HINT: usize = 512 << 10;

pub(crate) struct OpenObject {
    remote: Remote,
    reader: ParquetObjectReader,
}

impl OpenObject {
    pub(super) fn new(source: &Source<'_>) -> Result<Self> {
        let size = std::fs::metadata(source.path)?.len();
        Ok(Self::of(Remote::of(source.path, source.reads)?, size))
    }

    /// Reads an object of `size` bytes.
    ///
    /// The reader finds the page index in the last bytes only if it knows the size. Engines know the size from a
    /// listing.
    pub(crate) fn of(remote: Remote, size: u64) -> Self {
        let reader = ParquetObjectReader::new(remote.store.clone(), remote.path.clone());
        Self {
            reader: reader
                .with_footer_size_hint(FOOTER_HINT)
                .with_file_size(size),
            remote,
        }
    }

    async fn metadata(&self, page_index: PageIndexPolicy) -> Result<ArrowReaderMetadata> {
        let options = ArrowReaderOptions::new().with_page_index_policy(page_index);
        Ok(ArrowReaderMetadata::load_async(&mut self.reader.clone(), options).await?)
    }

    fn builder(
        &self,
        metadata: &ArrowReaderMetadata,
    ) -> ParquetRecordBatchStreamBuilder<ParquetObjectReader> {
        let (reader, metadata) = (self.reader.clone(), metadata.clone());
        ParquetRecordBatchStreamBuilder::new_with_metadata(reader, metadata)
            .with_batch_size(BATCH_ROWS)
    }
}

impl Opened for OpenObject {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        let page_index = match want {
            Want::Matching(_) => PageIndexPolicy::Optional,
            _ => PageIndexPolicy::Skip,
        };
        self.remote.runtime.block_on(async {
            let metadata = self.metadata(page_index).await?;
            let mut stream = wanted(self.builder(&metadata), &metadata, want)?.build()?;
            while let Some(batch) = stream.next().await {
                visit(batch?);
            }
            Ok(())
        })
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        self.remote.runtime.block_on(async {
            let metadata = self.metadata(PageIndexPolicy::Optional).await?;
            let rows = selection(&metadata, rows)?;
            let stream = self.builder(&metadata).with_row_selection(rows).build()?;
            let batches = stream.try_collect::<Vec<_>>().await?;
            Ok(concat_batches(metadata.schema(), &batches)?)
        })
    }
}
