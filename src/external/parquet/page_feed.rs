//! Passes pages to the crate `parquet` as they are fetched. Its readers expect whole files; here they see the pages of
//! one column chunk that are wanted, one after the other.

use super::leaf::Leaf;
use crate::error::Result;
use arrow_schema::DataType as ArrowType;
use bytes::{Buf, Bytes};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups, RowSelection};
use parquet::basic::Compression;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pages that wait to be decoded. Together they look like a file without gaps.
#[derive(Debug, Clone, Default)]
pub(super) struct PageFeed(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    pages: VecDeque<Bytes>,
    /// Position of the first page that waits.
    start: u64,
}

impl PageFeed {
    /// Appends a page with its header.
    pub(super) fn push(&self, page: Bytes) {
        self.waiting().pages.push_back(page);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        self.waiting().pages.is_empty()
    }

    /// Returns the rest of the first page from a position on.
    fn first_from(&self, position: u64) -> ParquetResult<Bytes> {
        let waiting = self.waiting();
        let skipped = position.checked_sub(waiting.start);
        let skipped = skipped.and_then(|skipped| usize::try_from(skipped).ok());
        let page = waiting.pages.front().zip(skipped);
        match page.filter(|(page, skipped)| *skipped <= page.len()) {
            Some((page, skipped)) => Ok(page.slice(skipped..)),
            None => Err(ParquetError::EOF("a page that has not been fetched".into())),
        }
    }

    /// Removes the first page.
    fn pop(&self) {
        let mut waiting = self.waiting();
        if let Some(page) = waiting.pages.pop_front() {
            waiting.start += page.len() as u64;
        }
    }

    /// Returns a reader of the pages that are pushed, in batches of up to `batch_rows` rows. At the end of what has
    /// been pushed, it returns no rows, and goes on when there is more. If `rows` are given, it returns only those of the
    /// rows of all pages.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the leaf has no Arrow type.
    pub(super) fn reader(
        &self,
        leaf: &Leaf,
        codec: Compression,
        wanted: &ArrowType,
        batch_rows: usize,
        rows: Option<RowSelection>,
    ) -> Result<ParquetRecordBatchReader> {
        let levels = leaf.levels(wanted)?;
        super::leaf::guarded(|| {
            let chunk = ColumnChunkMetaData::builder(leaf.column())
                .set_compression(codec)
                .set_data_page_offset(0)
                // The feed tells where the pages end.
                .set_total_compressed_size(i64::MAX)
                .build()?;
            let pages = SerializedPageReader::new(Arc::new(self.clone()), &chunk, 0, None)?;
            let column = FedColumn {
                metadata: leaf.metadata().clone(),
                pages: Mutex::new(Some(FedPages {
                    feed: self.clone(),
                    pages,
                })),
            };
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &column, batch_rows, rows)
        })
    }
}

impl Length for PageFeed {
    fn len(&self) -> u64 {
        u64::MAX
    }
}

impl ChunkReader for PageFeed {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.first_from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let rest = self.first_from(start)?;
        if rest.len() != length {
            return Err(ParquetError::EOF("the size of a page is wrong".into()));
        }
        self.pop();
        Ok(rest)
    }
}

/// Reads the pages of a feed.
struct FedPages {
    feed: PageFeed,
    pages: SerializedPageReader<PageFeed>,
}

impl PageReader for FedPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        if self.feed.is_empty() {
            return Ok(None);
        }
        self.pages.get_next_page()
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        if self.feed.is_empty() {
            return Ok(None);
        }
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.pages.skip_next_page()?;
        self.feed.pop();
        Ok(())
    }
}

impl Iterator for FedPages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// A file with one column chunk.
struct FedColumn {
    metadata: Arc<ParquetMetaData>,
    pages: Mutex<Option<FedPages>>,
}

impl RowGroups for FedColumn {
    fn num_rows(&self) -> usize {
        0
    }

    fn column_chunks(&self, _: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let pages = self
            .pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        Ok(Box::new(OneChunk(pages)))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::empty())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

struct OneChunk(Option<FedPages>);

impl Iterator for OneChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let pages: Box<dyn PageReader> = Box::new(self.0.take()?);
        Some(Ok(pages))
    }
}

impl PageIterator for OneChunk {}
