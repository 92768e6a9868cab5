//! Passes pages to the crate `parquet` as they are fetched. Its readers expect whole files; here they see the pages of
//! one column chunk that are wanted, one after the other.

use super::leaf::{ParquetLeaf, guarded};
use crate::error::Result;
use arrow_schema::DataType as ArrowType;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups, RowSelection};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pages that wait to be decoded.
#[derive(Debug, Clone, Default)]
pub(super) struct PageFeed(Arc<Mutex<VecDeque<Page>>>);

impl PageFeed {
    /// Appends a page.
    pub(super) fn push(&self, page: Page) {
        self.waiting().push_back(page);
    }

    /// Drops the pages that wait.
    pub(super) fn clear(&self) {
        self.waiting().clear();
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Page>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a reader of the pushed pages, in batches of up to `batch_rows` rows. After the last page it returns no
    /// rows, and it goes on when another page is pushed. With `rows`, it returns a selection of the rows of all pages.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the leaf has no Arrow type.
    pub(super) fn reader(
        &self,
        leaf: &ParquetLeaf,
        wanted: &ArrowType,
        batch_rows: usize,
        rows: Option<RowSelection>,
    ) -> Result<ParquetRecordBatchReader> {
        let levels = leaf.levels(wanted)?;
        let column = FedColumns {
            metadata: leaf.metadata().clone(),
            feeds: HashMap::from([(0, self.clone())]),
        };
        guarded(|| {
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &column, batch_rows, rows)
        })
    }
}

impl PageReader for PageFeed {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        Ok(self.waiting().pop_front())
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        let waiting = self.waiting();
        Ok(waiting.front().map(|page| match page {
            Page::DataPage { num_values, .. } => PageMetadata {
                num_rows: None,
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
            Page::DataPageV2 {
                num_values,
                num_rows,
                ..
            } => PageMetadata {
                num_rows: Some(*num_rows as usize),
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
            Page::DictionaryPage { .. } => PageMetadata {
                num_rows: None,
                num_levels: None,
                is_dict: true,
            },
        }))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.waiting().pop_front();
        Ok(())
    }
}

impl Iterator for PageFeed {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Columns of a row group with fed pages.
pub(super) struct FedColumns {
    pub(super) metadata: Arc<ParquetMetaData>,
    /// The feeds, by the ordinals of the columns.
    pub(super) feeds: HashMap<usize, PageFeed>,
}

impl RowGroups for FedColumns {
    fn num_rows(&self) -> usize {
        0
    }

    fn column_chunks(&self, i: usize) -> ParquetResult<Box<dyn PageIterator>> {
        Ok(Box::new(OneChunk(self.feeds.get(&i).cloned())))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::empty())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

struct OneChunk(Option<PageFeed>);

impl Iterator for OneChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let pages: Box<dyn PageReader> = Box::new(self.0.take()?);
        Some(Ok(pages))
    }
}

impl PageIterator for OneChunk {}
