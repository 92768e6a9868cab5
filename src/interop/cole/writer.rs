//! Writing of files.

use super::column_schema::{ColumnSchema, ColumnType};
use super::encoding::{EncodedPage, PageValues};
use super::encoding_type::Encoding;
use super::footer::footer;
use super::header::header;
use super::metadata::FileMetadata;
use super::page_header::PageHeader;
use super::row_group::{ColumnChunkMetadata, RowGroupMetadata};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::Sink;
use crate::settings::settings;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use std::collections::HashSet;

/// Settings of a [`Writer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterOptions {
    page_rows: u32,
    row_group_rows: u32,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            page_rows: 1 << 14,
            row_group_rows: 1 << 20,
        }
    }
}

settings! {
    WriterOptions {
        /// Most rows per page; 16,384 by default. A page of strings ends earlier, once it has 1 MiB of them.
        page_rows, with_page_rows: u32;
        /// Most rows per row group; 1,048,576 by default. A row group ends earlier once its pages have 128 MiB, because
        /// they are kept in memory until it ends.
        row_group_rows, with_row_group_rows: u32;
    }
}

/// Bytes of strings after which a page ends.
const PAGE_BYTES: usize = 1 << 20;
/// Bytes of pages after which a row group ends.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// A summary of a finished file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    rows: u64,
    bytes: u64,
}

impl Summary {
    /// Returns the number of rows.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Returns the size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Writes batches as a COLE file.
///
/// Columns have the types Int32, Int64 and Utf8, distinct names, and no nulls. Each page gets the encoding that takes
/// the fewest bytes. Pages of integers store their least and greatest value. Metadata of the schema and its fields are
/// not stored.
///
/// After an error, the writer refuses further rows. The file is valid only after [`finish`](Self::finish); if the
/// writer is dropped earlier, a sink that supports it discards the bytes.
#[derive(Debug)]
pub struct Writer<S> {
    sink: S,
    schema: SchemaRef,
    options: WriterOptions,
    metadata: FileMetadata,
    columns: Vec<ColumnWriter>,
    /// Rows of the current row group.
    group_rows: u32,
    bytes: u64,
    is_poisoned: bool,
}

/// A column of the current row group.
#[derive(Debug)]
struct ColumnWriter {
    values: PageValues,
    headers: Vec<PageHeader>,
    /// Headers and data of the pages.
    pages: Vec<u8>,
    /// Pages of each encoding in the whole file, by code.
    encodings: [u64; 4],
}

#[cfg(not(target_family = "wasm"))]
impl Writer<crate::io::LocalSink> {
    /// Creates a writer of a local file with default options. The file appears when the writer is finished.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](ErrorKind::AlreadyExists), an error of the system, or the errors of
    /// [`try_new`](Self::try_new).
    pub fn create(path: impl AsRef<std::path::Path>, schema: SchemaRef) -> Result<Self> {
        let sink = crate::io::LocalSink::create(path)?;
        Self::try_new(sink, schema, WriterOptions::default())
    }
}

impl<S: Sink> Writer<S> {
    /// Starts a file.
    ///
    /// # Errors
    /// Returns [`Unsupported`](ErrorKind::Unsupported) for a column type that COLE does not have,
    /// [`AmbiguousColumn`](ErrorKind::AmbiguousColumn) if two columns have the same name,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for pages or row groups of 0 rows, or an error of the sink.
    /// Unless the sink fails, nothing has been written.
    pub fn try_new(mut sink: S, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        if options.page_rows == 0 || options.row_group_rows == 0 {
            return Err(Error::invalid(
                "page_rows and row_group_rows must be 1 or more",
            ));
        }
        let columns = columns(&schema)?;
        let header = header();
        sink.write_all(&header)?;
        let writers = columns.iter().map(|column| ColumnWriter {
            values: PageValues::new(column.column_type),
            headers: Vec::new(),
            pages: Vec::new(),
            encodings: [0; 4],
        });
        Ok(Self {
            sink,
            schema,
            options,
            columns: writers.collect(),
            metadata: FileMetadata {
                columns,
                row_groups: Vec::new(),
            },
            group_rows: 0,
            bytes: header.len() as u64,
            is_poisoned: false,
        })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if names or types of columns differ from the schema,
    /// [`Unsupported`](ErrorKind::Unsupported) for a null, [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) for more
    /// rows than a file can count, [`Poisoned`](ErrorKind::Poisoned) after an error, or an error of the sink.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.unless_poisoned(|writer| {
            writer.check(batch)?;
            let mut start = 0;
            while start < batch.num_rows() {
                let room = writer.options.row_group_rows - writer.group_rows;
                let most = room.min(writer.options.page_rows) as usize;
                let rows = piece(batch, start, most);
                writer.append(&batch.slice(start, rows))?;
                start += rows;
            }
            Ok(())
        })
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Returns [`Poisoned`](ErrorKind::Poisoned) after an error, or an error of the sink.
    pub fn finish(mut self) -> Result<Summary> {
        self.complete()
    }

    /// Completes the file, and returns the sink.
    ///
    /// # Errors
    /// Returns the errors of [`finish`](Self::finish).
    pub fn into_inner(mut self) -> Result<S> {
        self.complete()?;
        Ok(self.sink)
    }

    fn complete(&mut self) -> Result<Summary> {
        self.unless_poisoned(|writer| {
            writer.end_row_group()?;
            for (schema, column) in writer.metadata.columns.iter_mut().zip(&writer.columns) {
                schema.encoding = column.usual_encoding();
            }
            let mut end = Vec::new();
            writer.metadata.write(&mut end)?;
            end.extend_from_slice(&footer(writer.bytes));
            writer.emit(&end)?;
            writer.sink.commit()?;
            Ok(Summary {
                rows: writer.metadata.num_rows(),
                bytes: writer.bytes,
            })
        })
    }

    fn unless_poisoned<T>(&mut self, write: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.is_poisoned {
            return Err(Error::new(
                ErrorKind::Poisoned,
                "an earlier write failed, so the file cannot be completed",
            ));
        }
        write(self).inspect_err(|_| self.is_poisoned = true)
    }

    /// Refuses batches that do not match the schema or contain a null.
    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let found = batch.schema();
        let same = found.fields().len() == self.schema.fields().len();
        let mut pairs = found.fields().iter().zip(self.schema.fields());
        let is_equal = |(a, b): (&arrow_schema::FieldRef, &arrow_schema::FieldRef)| {
            a.name() == b.name() && a.data_type() == b.data_type()
        };
        if !same || !pairs.all(is_equal) {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!(
                    "the batch has the columns {found}, expected {}",
                    self.schema
                ),
            ));
        }
        let rows = self.metadata.num_rows() + u64::from(self.group_rows) + batch.num_rows() as u64;
        if rows > u32::MAX.into() {
            return Err(Error::new(
                ErrorKind::ValueOutOfRange,
                format!(
                    "{rows} rows are more than a COLE file can have ({})",
                    u32::MAX
                ),
            ));
        }
        for (field, column) in found.fields().iter().zip(batch.columns()) {
            let nulls = column
                .logical_nulls()
                .filter(|nulls| nulls.null_count() > 0);
            if let Some(row) = nulls.and_then(|nulls| (0..nulls.len()).find(|&i| nulls.is_null(i)))
            {
                let row = rows - batch.num_rows() as u64 + row as u64;
                return Err(Error::unsupported(format!(
                    "column `{}`, row {row}: COLE has no nulls",
                    field.name()
                )));
            }
        }
        Ok(())
    }

    /// Appends rows that fit into the row group. Ends the row group if it is full.
    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        let most = self.options.page_rows as usize;
        for ((column, writer), field) in batch
            .columns()
            .iter()
            .zip(&mut self.columns)
            .zip(self.schema.fields())
        {
            let written = writer.append(column, most);
            written.within(|| format!("column `{}`", field.name()))?;
        }
        // Lossless: the caller passes at most the rows that fit into the row group.
        self.group_rows += u32::try_from(batch.num_rows()).unwrap_or(u32::MAX);
        let bytes: usize = self.columns.iter().map(|column| column.pages.len()).sum();
        if self.group_rows == self.options.row_group_rows || bytes >= ROW_GROUP_BYTES {
            self.end_row_group()?;
        }
        Ok(())
    }

    fn end_row_group(&mut self) -> Result<()> {
        if self.group_rows == 0 {
            return Ok(());
        }
        let mut chunks = Vec::with_capacity(self.columns.len());
        for ordinal in 0..self.columns.len() {
            let column = &mut self.columns[ordinal];
            column.end_page()?;
            let pages = std::mem::take(&mut column.pages);
            chunks.push(ColumnChunkMetadata {
                file_offset: self.bytes,
                total_size: pages.len() as u64,
                pages: std::mem::take(&mut column.headers),
            });
            self.emit(&pages)?;
        }
        self.metadata.row_groups.push(RowGroupMetadata {
            num_rows: std::mem::take(&mut self.group_rows),
            columns: chunks,
        });
        Ok(())
    }

    fn emit(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl ColumnWriter {
    fn append(&mut self, array: &ArrayRef, most: usize) -> Result<()> {
        let mut start = 0;
        while start < array.len() {
            start += self.values.take(array, start, most, PAGE_BYTES)?;
            if self.values.is_full(most, PAGE_BYTES) {
                self.end_page()?;
            }
        }
        Ok(())
    }

    fn end_page(&mut self) -> Result<()> {
        if self.values.len() == 0 {
            return Ok(());
        }
        let EncodedPage { header, data } = self.values.encode()?;
        header.write(&mut self.pages);
        self.pages.extend_from_slice(&data);
        self.encodings[usize::from(header.encoding.code())] += 1;
        self.headers.push(header);
        Ok(())
    }

    /// Returns the encoding of most pages.
    fn usual_encoding(&self) -> Encoding {
        let count = |encoding: &Encoding| self.encodings[usize::from(encoding.code())];
        // `max_by_key` returns the last maximum. Reversed, PLAIN wins ties, as in a file without pages.
        Encoding::ALL
            .into_iter()
            .rev()
            .max_by_key(count)
            .unwrap_or(Encoding::Plain)
    }
}

/// Returns the number of rows, from `start` on, to append at a time: up to `most`, and up to the row with which the
/// strings of a column reach [`PAGE_BYTES`]. Short pieces let a row group end soon after [`ROW_GROUP_BYTES`].
fn piece(batch: &RecordBatch, start: usize, most: usize) -> usize {
    let most = most.min(batch.num_rows() - start);
    let fit = |column: &ArrayRef| {
        let offsets = column.as_string_opt::<i32>()?.value_offsets();
        let (first, ends) = offsets.get(start..start + most)?.split_first()?;
        let is_small =
            |end: &i32| usize::try_from(end - first).is_ok_and(|bytes| bytes < PAGE_BYTES);
        // The row after these reaches the limit, or is the last one.
        Some(ends.partition_point(is_small) + 1)
    };
    let fitting = batch.columns().iter().filter_map(fit);
    fitting.min().unwrap_or(most)
}

/// Returns the schemas of the columns.
fn columns(schema: &Schema) -> Result<Vec<ColumnSchema>> {
    let mut names = HashSet::new();
    let columns = schema.fields().iter().map(|field| {
        let name = field.name();
        let Some(column_type) = ColumnType::from_arrow(field.data_type()) else {
            return Err(Error::unsupported(format!(
                "column `{name}` is {}; COLE supports only Int32, Int64 and Utf8",
                field.data_type()
            )));
        };
        if !names.insert(name) {
            return Err(Error::new(
                ErrorKind::AmbiguousColumn,
                format!("two columns are named `{name}`; COLE finds columns by name"),
            ));
        }
        Ok(ColumnSchema {
            name: name.clone(),
            column_type,
            encoding: Encoding::Plain,
        })
    });
    columns.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn a_piece_ends_after_the_most_rows_or_a_page_of_strings() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
        let batch = RecordBatch::try_from_iter([("n", numbers.clone())]).unwrap();
        assert_eq!(piece(&batch, 0, 30), 30);
        assert_eq!(piece(&batch, 90, 30), 10);
        let half = "x".repeat(PAGE_BYTES / 2);
        let strings = (0..100).map(|i| if i < 10 { half.as_str() } else { "" });
        let strings: ArrayRef = Arc::new(StringArray::from_iter_values(strings));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("s", strings)]).unwrap();
        assert_eq!(piece(&batch, 0, 30), 2);
        assert_eq!(piece(&batch, 0, 1), 1);
        assert_eq!(piece(&batch, 9, 30), 30);
        assert_eq!(piece(&batch, 99, 30), 1);
        // A slice has offsets that do not begin with 0.
        assert_eq!(piece(&batch.slice(5, 95), 1, 30), 2);
    }
}
