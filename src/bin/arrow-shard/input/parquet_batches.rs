//! The batches of a Parquet file, limited by memory and by the offsets of Arrow.

use super::BATCH_ROWS;
use crate::failure::Failure;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::basic::Type as PhysicalType;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::sync::Arc;

/// Target size of a batch in bytes, by the averages of a row group. A larger row is a batch of its own.
const BATCH_BYTES: u64 = 64 << 20;
/// Maximum size of a batch in bytes, if every value is the largest of its dictionary.
const MAX_BATCH_BYTES: u64 = 4 * BATCH_BYTES;
/// Size in bytes of a column chunk from which its dictionary is read to learn the sizes of its values.
const LARGE_CHUNK: u64 = 1 << 20;
/// Divisor for the rows of a batch if one of its columns exceeds 2 GiB.
const FEWER: usize = 16;

/// Reads the columns of a mask.
pub(super) struct ParquetBatches {
    file: File,
    read: ArrowReaderMetadata,
    mask: ProjectionMask,
    /// The rows to read, unless all are.
    selection: Option<RowSelection>,
    /// Number of rows in a batch.
    batch_rows: usize,
    /// Number of rows returned so far.
    rows: usize,
    pub(super) reader: ParquetRecordBatchReader,
}

impl ParquetBatches {
    pub(super) fn open(
        file: File,
        read: ArrowReaderMetadata,
        mask: ProjectionMask,
        selection: Option<RowSelection>,
    ) -> Result<Self, Failure> {
        let batch_rows = batch_rows(&Arc::new(file.try_clone()?), read.metadata(), &mask);
        Ok(Self {
            reader: reader(&file, &read, &mask, selection.as_ref(), 0, batch_rows)?,
            file,
            read,
            mask,
            selection,
            batch_rows,
            rows: 0,
        })
    }

    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        loop {
            match self.reader.next().transpose() {
                // For values in dictionaries, only the average size was known.
                Err(e) if self.batch_rows > 1 && is_too_large(&e) => {
                    self.batch_rows = self.batch_rows.div_ceil(FEWER);
                    self.reader = reader(
                        &self.file,
                        &self.read,
                        &self.mask,
                        self.selection.as_ref(),
                        self.rows,
                        self.batch_rows,
                    )?;
                }
                next => {
                    let batch = next?;
                    self.rows += batch.as_ref().map_or(0, RecordBatch::num_rows);
                    return Ok(batch);
                }
            }
        }
    }
}

fn reader(
    file: &File,
    read: &ArrowReaderMetadata,
    mask: &ProjectionMask,
    selection: Option<&RowSelection>,
    offset: usize,
    batch_rows: usize,
) -> Result<ParquetRecordBatchReader, Failure> {
    let file = file.try_clone()?;
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, read.clone())
        .with_projection(mask.clone())
        .with_batch_size(batch_rows);
    if let Some(selection) = selection {
        builder = builder.with_row_selection(selection.clone());
    }
    if offset > 0 {
        builder = builder.with_offset(offset);
    }
    Ok(builder.build()?)
}

/// Whether a column of a batch would exceed 2 GiB. `parquet` has no error kind for this.
fn is_too_large(error: &ArrowError) -> bool {
    error
        .to_string()
        .contains("index overflow decoding byte array")
}

/// Returns the number of rows in a batch, by the sizes that the metadata declare for the columns of the mask.
fn batch_rows(file: &Arc<File>, metadata: &ParquetMetaData, mask: &ProjectionMask) -> usize {
    let groups = metadata.row_groups().iter().map(|group| {
        let rows = positive(group.num_rows());
        let chunks = group.columns().iter().enumerate();
        let wanted = chunks.filter(|(leaf, _)| mask.leaf_included(*leaf));
        let sizes = wanted.map(|(_, chunk)| Sizes::of(file, chunk, rows));
        let (mut bytes, mut largest) = (0_u64, 1);
        for sizes in sizes {
            bytes = bytes.saturating_add(sizes.bytes);
            largest = largest.max(sizes.largest);
        }
        if rows == 0 {
            return BATCH_ROWS;
        }
        let average = u128::from(BATCH_BYTES) * u128::from(rows) / u128::from(bytes.max(1));
        let fit = average.min(u128::from(MAX_BATCH_BYTES / largest));
        usize::try_from(fit).unwrap_or(BATCH_ROWS)
    });
    groups.min().unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS)
}

/// The approximate size in Arrow of the values of a column chunk.
struct Sizes {
    bytes: u64,
    /// Size of the largest value in bytes, if it is known.
    largest: u64,
}

impl Sizes {
    fn of(file: &Arc<File>, chunk: &ColumnChunkMetaData, rows: u64) -> Self {
        let values = positive(chunk.num_values());
        let width = match chunk.column_type() {
            PhysicalType::BYTE_ARRAY => return Self::of_byte_arrays(file, chunk, rows),
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                positive(chunk.column_descr().type_length().into())
            }
            PhysicalType::INT96 => 12,
            _ => 8,
        };
        Self {
            bytes: values.saturating_mul(width),
            largest: width,
        }
    }

    fn of_byte_arrays(file: &Arc<File>, chunk: &ColumnChunkMetaData, rows: u64) -> Self {
        let values = positive(chunk.num_values());
        let stored = positive(chunk.uncompressed_size());
        let said = chunk.unencoded_byte_array_data_bytes().map(positive);
        let is_large = chunk.dictionary_page_offset().is_some() && stored > LARGE_CHUNK;
        // If the dictionary cannot be read, the values cannot either, and reading them reports the error.
        let entries = is_large.then(|| entries(file, chunk, rows)).flatten();
        let coded = entries.map(|it| values.saturating_mul(it.bytes / it.count.max(1)));
        Self {
            bytes: said.or(coded).unwrap_or(0).max(stored),
            largest: entries.map_or(0, |it| it.largest),
        }
    }
}

/// The entries of a dictionary.
#[derive(Clone, Copy)]
struct Entries {
    count: u64,
    bytes: u64,
    /// Size of the largest entry in bytes.
    largest: u64,
}

fn entries(file: &Arc<File>, chunk: &ColumnChunkMetaData, rows: u64) -> Option<Entries> {
    let rows = usize::try_from(rows).ok()?;
    let mut pages = SerializedPageReader::new(file.clone(), chunk, rows, None).ok()?;
    let Page::DictionaryPage {
        buf, num_values, ..
    } = pages.get_next_page().ok()??
    else {
        return None;
    };
    let (mut rest, mut largest) = (buf.as_ref(), 0);
    // Each entry is preceded by its length.
    while let Some((length, values)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length);
        largest = largest.max(length.into());
        rest = values.get(usize::try_from(length).ok()?..)?;
    }
    Some(Entries {
        count: num_values.into(),
        bytes: buf.len() as u64,
        largest,
    })
}

fn positive(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
