//! Reading of the values of a column in a row group.

use super::column_schema::ColumnType;
use super::cursor::Cursor;
use super::encoding::{Page, PageInteger, StringBuilder};
use super::metadata::FileMetadata;
use super::page_header::{AbsentBounds, PageHeader};
use super::row_group::ColumnChunkMetadata;
use crate::error::{Error, Result, Within};
use crate::io::{ByteRange, ReadAt, read_one};
use crate::limits::Limits;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

/// The file and the options to read pages with.
#[derive(Debug)]
pub(super) struct PageSource {
    pub(super) reader: Arc<dyn ReadAt>,
    pub(super) metadata: Arc<FileMetadata>,
    pub(super) absent: AbsentBounds,
    pub(super) limits: Limits,
}

impl PageSource {
    pub(super) fn column_type(&self, column: usize) -> ColumnType {
        self.metadata.columns[column].column_type
    }

    /// Returns the name of a column, as the place of an error.
    pub(super) fn column(&self, column: usize) -> String {
        format!("column `{}`", self.metadata.columns[column].name)
    }
}

/// Adds the file, if it has a name, to the places of an error.
pub(super) fn in_file(reader: &dyn ReadAt, error: Error) -> Error {
    match reader.name() {
        Some(name) => error.within(format!("file `{name}`")),
        None => error,
    }
}

/// Reads the pages of a column chunk. A page is read when one of its rows is requested, and dropped when only later
/// rows are requested.
#[derive(Debug)]
pub(super) struct ChunkReader {
    column_type: ColumnType,
    pages: Vec<PagePlace>,
    /// Pages that have been read, by ordinal.
    read: BTreeMap<usize, Page>,
}

/// A page and its position.
#[derive(Debug)]
struct PagePlace {
    header: PageHeader,
    /// The rows of the page in the row group.
    rows: Range<u32>,
    bytes: ByteRange,
}

impl ChunkReader {
    pub(super) fn try_new(
        column_type: ColumnType,
        chunk: &ColumnChunkMetadata,
        absent: AbsentBounds,
    ) -> Result<Self> {
        let (mut row, mut offset) = (0_u32, chunk.file_offset);
        let pages = chunk.pages.iter().map(|header| {
            // `ColumnChunkMetadata::read` has checked the sum of the values, so this does not overflow.
            let end = row.checked_add(header.num_values);
            let end = end.ok_or_else(|| Error::corrupt("the pages have too many values"))?;
            let rows = std::mem::replace(&mut row, end)..end;
            let len = header.len(absent) + u64::from(header.compressed_size);
            let bytes = ByteRange::with_len(offset, len)?;
            offset = bytes.end();
            Ok(PagePlace {
                header: header.clone(),
                rows,
                bytes,
            })
        });
        Ok(Self {
            column_type,
            pages: pages.collect::<Result<_>>()?,
            read: BTreeMap::new(),
        })
    }

    /// Counts the rows, from the first on, that fit into `budget` bytes. Returns their number and their bytes.
    pub(super) fn fit(
        &mut self,
        source: &PageSource,
        rows: &[Range<u32>],
        budget: u64,
    ) -> Result<(u64, u64)> {
        let (mut count, mut bytes) = (0, 0);
        if self.column_type != ColumnType::String {
            let width = if self.column_type == ColumnType::Int32 {
                4
            } else {
                8
            };
            let all = rows
                .iter()
                .map(|range| u64::from(range.end - range.start))
                .sum::<u64>();
            let count = all.min(budget / width);
            return Ok((count, count * width));
        }
        self.each(source, rows, |page, range| {
            let (fitting, more) = page.fit(range.clone(), budget - bytes);
            count += u64::from(fitting);
            bytes += more;
            Ok(fitting == range.end - range.start)
        })?;
        Ok((count, bytes))
    }

    /// Reads rows, which must ascend. `count` and `bytes` must be the results of [`fit`](Self::fit) for these rows; the
    /// array is allocated in this size.
    pub(super) fn read(
        &mut self,
        source: &PageSource,
        rows: &[Range<u32>],
        count: usize,
        bytes: usize,
    ) -> Result<ArrayRef> {
        match self.column_type {
            ColumnType::Int32 => self.read_integers::<Int32Type>(source, rows, count),
            ColumnType::Int64 => self.read_integers::<Int64Type>(source, rows, count),
            ColumnType::String => {
                let mut strings = StringBuilder::with_capacity(count, bytes);
                self.each(source, rows, |page, range| {
                    page.append_strings(range, &mut strings)?;
                    Ok(true)
                })?;
                Ok(Arc::new(strings.finish()?))
            }
        }
    }

    fn read_integers<T>(
        &mut self,
        source: &PageSource,
        rows: &[Range<u32>],
        count: usize,
    ) -> Result<ArrayRef>
    where
        T: ArrowPrimitiveType<Native: PageInteger>,
    {
        let mut values = Vec::with_capacity(count);
        self.each(source, rows, |page, range| {
            T::Native::of(page)?.append(range, &mut values);
            Ok(true)
        })?;
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
    }

    /// Calls a function with each page that has some of the rows, and with these rows, counted from the first row of
    /// the page. Stops when the function returns false. Drops the pages before the first of the rows.
    fn each(
        &mut self,
        source: &PageSource,
        rows: &[Range<u32>],
        mut call: impl FnMut(&Page, Range<u32>) -> Result<bool>,
    ) -> Result<()> {
        if let Some(first) = rows.first() {
            let first = self.ordinal(first.start);
            self.read = self.read.split_off(&first);
        }
        for range in rows {
            let mut row = range.start;
            while row < range.end {
                let ordinal = self.ordinal(row);
                let (page, first, end) = self.page(source, ordinal)?;
                let end = end.min(range.end);
                if !call(page, row - first..end - first)? {
                    return Ok(());
                }
                row = end;
            }
        }
        Ok(())
    }

    /// Returns the page with an ordinal, its first row, and the end of its rows. Reads the page if necessary.
    fn page(&mut self, source: &PageSource, ordinal: usize) -> Result<(&Page, u32, u32)> {
        let place = self.pages.get(ordinal);
        let place = place.ok_or_else(|| Error::corrupt("the pages have too few values"))?;
        let page = match self.read.entry(ordinal) {
            Entry::Occupied(page) => page.into_mut(),
            Entry::Vacant(vacant) => {
                let page = place.read(self.column_type, source);
                vacant.insert(page.within(|| format!("page {ordinal}"))?)
            }
        };
        Ok((page, place.rows.start, place.rows.end))
    }

    /// Returns the ordinal of the page with a row.
    fn ordinal(&self, row: u32) -> usize {
        self.pages.partition_point(|page| page.rows.end <= row)
    }

    /// Returns the ends of the pages, in rows of the row group.
    pub(super) fn page_ends(&self) -> impl Iterator<Item = u32> {
        self.pages.iter().map(|page| page.rows.end)
    }

    /// Returns the header of the page with a row.
    pub(super) fn header_at(&self, row: u32) -> Option<&PageHeader> {
        self.pages.get(self.ordinal(row)).map(|page| &page.header)
    }

    pub(super) fn column_type(&self) -> ColumnType {
        self.column_type
    }
}

impl PagePlace {
    fn read(&self, column_type: ColumnType, source: &PageSource) -> Result<Page> {
        source.limits.check_block_bytes(self.bytes.len())?;
        let bytes = read_one(source.reader.as_ref(), self.bytes)?;
        let mut cursor = Cursor::new(&bytes);
        let header = PageHeader::read(&mut cursor, source.absent)?;
        if header != self.header {
            return Err(Error::corrupt(
                "the header of the page differs from the one in the metadata of the file",
            ));
        }
        Page::read(column_type, &header, &bytes.slice(cursor.position()..))
    }
}
