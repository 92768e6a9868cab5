//! Decodes whole columns of a row group, for values that cannot stay in a Parquet file.

use super::column::split_page;
use super::description::Codec;
use super::leaf::guarded;
use super::page::PageOpener;
use super::page_feed::{FedColumns, PageFeed};
use super::page_header::PageKind;
use crate::error::{Error, Result};
use crate::limits::Limits;
use arrow_array::{Array, RecordBatch};
use arrow_schema::Fields;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::collections::HashMap;
use std::sync::Arc;

/// Columns of a row group. Their pages have been compared with their headers.
pub(crate) struct CheckedColumns {
    metadata: Arc<ParquetMetaData>,
    feeds: HashMap<usize, PageFeed>,
    limits: Limits,
}

impl CheckedColumns {
    /// Creates a row group without columns, of a file with this footer.
    pub(crate) fn new(metadata: Arc<ParquetMetaData>, limits: Limits) -> Self {
        Self {
            metadata,
            feeds: HashMap::new(),
            limits,
        }
    }

    /// Adds the column with this ordinal, given the bytes of its dictionary page, if it has one, and of its data pages.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the pages are damaged, or have fewer than `rows` values.
    pub(crate) fn add(
        &mut self,
        ordinal: usize,
        chunk: &ColumnChunkMetaData,
        rows: u64,
        dictionary: Option<Bytes>,
        data: Bytes,
    ) -> Result<()> {
        let encodings = chunk.encodings_mask().as_i32().cast_unsigned();
        let codec = Codec::of(chunk.compression())?;
        let mut opener = PageOpener::new(chunk.column_descr_ptr(), codec, encodings);
        let feed = PageFeed::default();
        let (mut values, mut size) = (0u64, 0u64);
        let pages = dictionary.map(|bytes| (bytes, true));
        for (mut bytes, is_dictionary) in pages.into_iter().chain([(data, false)]) {
            while !bytes.is_empty() {
                let (header, page) = split_page(&mut bytes, &self.limits)?;
                if (header.kind == PageKind::Dictionary) != is_dictionary
                    || header.kind == PageKind::Index
                {
                    return Err(Error::corrupt(format!(
                        "a {:?} page where another kind is expected",
                        header.kind
                    )));
                }
                if header.values == 0 && !is_dictionary {
                    continue;
                }
                let opened = opener.open(&header, &page, &self.limits)?;
                feed.push(opened.page);
                if !is_dictionary {
                    values = values.saturating_add(header.values);
                    size = size.saturating_add(opened.bytes);
                    self.limits.check_batch_bytes(size, 1)?;
                }
            }
        }
        // The reader reserves memory for all rows.
        if values < rows {
            return Err(Error::corrupt(format!(
                "{values} values in the pages of a column, expected {rows} or more"
            )));
        }
        self.feeds.insert(ordinal, feed);
        Ok(())
    }

    /// Decodes all rows, in the Arrow types of a schema of all columns.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the pages have another number of rows, or texts are not UTF-8.
    pub(crate) fn read(self, schema: &Fields, rows: usize) -> Result<RecordBatch> {
        let descriptor = self.metadata.file_metadata().schema_descr_ptr();
        let mask = ProjectionMask::leaves(&descriptor, self.feeds.keys().copied());
        let levels = guarded(|| parquet_to_arrow_field_levels(&descriptor, mask, Some(schema)))?;
        let columns = FedColumns {
            metadata: self.metadata,
            feeds: self.feeds,
        };
        let batch = guarded(|| {
            let mut reader =
                ParquetRecordBatchReader::try_new_with_row_groups(&levels, &columns, rows, None)?;
            Ok(reader.next().transpose()?)
        })?;
        let Some(batch) = batch.filter(|batch| batch.num_rows() == rows) else {
            return Err(Error::corrupt(
                "the pages have fewer rows than the footer declares",
            ));
        };
        for column in batch.columns() {
            column.to_data().validate_full()?;
        }
        Ok(batch)
    }
}
