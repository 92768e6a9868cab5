//! Reading of the rows of a file as batches.

use super::chunk_reader::{ChunkReader, PageSource, in_file};
use super::column_schema::ColumnType;
use super::page_header::PageHeader;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::read::{ColumnRange, RowFilter, RowSelection};
use arrow_array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, RecordBatchReader,
};
use arrow_schema::{ArrowError, SchemaRef};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Most bytes of strings in a batch; its string columns share them equally. A row that exceeds the share of a
/// column is a batch of its own.
const MAX_STRING_BYTES: u64 = 64 << 20;
/// Most bytes of strings per row and column: the limit of 32-bit offsets.
const MAX_ROW_BYTES: u64 = i32::MAX as u64;

/// The columns and rows to read.
#[derive(Debug)]
pub(super) struct ReadPlan {
    pub(super) schema: SchemaRef,
    /// Ordinals of the columns of `schema`.
    pub(super) columns: Vec<usize>,
    pub(super) filter: Option<RowFilter>,
    pub(super) selection: Option<RowSelection>,
    pub(super) batch_size: usize,
}

/// An iterator over batches of the rows of a COLE file, in order; made by
/// [`ReaderBuilder::build`](super::ReaderBuilder::build).
///
/// A page is read when one of its rows is requested. After an error the iterator ends.
#[derive(Debug)]
pub struct Reader {
    source: PageSource,
    wanted: ReadPlan,
    /// Ordinal of the next row group, and the number of its first row.
    next_group: (usize, u64),
    group: Option<GroupReader>,
    offset: u64,
    limit: u64,
}

/// The rest of a row group.
#[derive(Debug)]
struct GroupReader {
    ordinal: usize,
    /// Chunk readers by ordinal of the column in the file; `None` for columns that are not read.
    chunks: Vec<Option<ChunkReader>>,
    /// Rows that may match, ascending.
    rows: VecDeque<Range<u32>>,
}

impl Reader {
    pub(super) fn new(source: PageSource, wanted: ReadPlan, offset: u64, limit: u64) -> Self {
        Self {
            source,
            wanted,
            next_group: (0, 0),
            group: None,
            offset,
            limit,
        }
    }

    /// Returns the next batch with at least one row, or `None` after the last row.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.limit > 0 {
            let Some(group) = &mut self.group else {
                if self.open_group()? {
                    continue;
                }
                return Ok(None);
            };
            let ordinal = group.ordinal;
            if self.wanted.filter.is_none() {
                // Without a filter, skipped rows need not be read.
                self.offset -= group.skip(self.offset);
            }
            let most = (self.wanted.batch_size as u64).min(match self.wanted.filter {
                Some(_) => u64::MAX,
                None => self.limit,
            });
            let batch = group.next_batch(&self.source, &self.wanted, most);
            let Some(batch) = batch.within(|| format!("row group {ordinal}"))? else {
                self.group = None;
                continue;
            };
            let rows = batch.num_rows() as u64;
            let skipped = rows.min(self.offset);
            self.offset -= skipped;
            let kept = (rows - skipped).min(self.limit);
            self.limit -= kept;
            if kept > 0 {
                return Ok(Some(batch.slice(to_usize(skipped)?, to_usize(kept)?)));
            }
        }
        Ok(None)
    }

    /// Opens the next row group; returns `false` after the last row group.
    fn open_group(&mut self) -> Result<bool> {
        let (ordinal, first_row) = self.next_group;
        let Some(group) = self.source.metadata.row_groups.get(ordinal) else {
            return Ok(false);
        };
        let end = first_row + u64::from(group.num_rows);
        self.next_group = (ordinal + 1, end);
        let selected = match &self.wanted.selection {
            Some(selection) => selection.within(&(first_row..end)),
            None => RowSelection::from(first_row..end),
        };
        // Lossless: row numbers within a row group have 32 bits.
        let local = |row: u64| u32::try_from(row - first_row).unwrap_or(u32::MAX);
        let ranges = selected.ranges().iter();
        let rows: VecDeque<Range<u32>> = ranges
            .map(|range| local(range.start)..local(range.end))
            .collect();
        if rows.is_empty() {
            return Ok(true);
        }
        let mut chunks: Vec<Option<ChunkReader>> = Vec::new();
        chunks.resize_with(group.columns.len(), || None);
        let filter = self.wanted.filter.as_ref();
        let tested = filter.map_or(&[][..], RowFilter::columns);
        for &column in self.wanted.columns.iter().chain(tested) {
            if chunks[column].is_none() {
                let (ty, chunk) = (self.source.column_type(column), &group.columns[column]);
                chunks[column] = Some(ChunkReader::try_new(ty, chunk, self.source.absent)?);
            }
        }
        let mut group = GroupReader {
            ordinal,
            chunks,
            rows,
        };
        if let Some(filter) = filter {
            group.prune(filter)?;
        }
        self.group = Some(group);
        Ok(true)
    }
}

impl GroupReader {
    /// Removes the rows of pages that their statistics rule out.
    fn prune(&mut self, filter: &RowFilter) -> Result<()> {
        let chunks = filter
            .columns()
            .iter()
            .filter_map(|&column| self.chunks[column].as_ref());
        let mut ends: Vec<u32> = chunks.flat_map(ChunkReader::page_ends).collect();
        ends.sort_unstable();
        ends.dedup();
        if ends.is_empty() {
            return Ok(());
        }
        let mut left = VecDeque::new();
        let mut start = 0;
        for end in ends {
            let may_match = start < end
                && filter.may_match(|column| {
                    let chunk = self.chunks[column].as_ref();
                    chunk.map_or_else(ColumnRange::default, |chunk| range_at(chunk, start))
                })?;
            if may_match {
                left.push_back(start..end);
            }
            start = end;
        }
        self.rows = intersection(&self.rows, &left);
        Ok(())
    }

    /// Drops up to `most` rows, and returns the number of dropped rows.
    fn skip(&mut self, most: u64) -> u64 {
        let mut skipped = 0;
        while skipped < most
            && let Some(range) = self.rows.front_mut()
        {
            let len = u64::from(range.end - range.start).min(most - skipped);
            skipped += len;
            // Lossless: at most the length of the range, which has 32 bits.
            range.start += u32::try_from(len).unwrap_or(0);
            if range.start == range.end {
                self.rows.pop_front();
            }
        }
        skipped
    }

    /// Returns the next batch, which may be empty, or `None` at the end.
    fn next_batch(
        &mut self,
        source: &PageSource,
        wanted: &ReadPlan,
        most: u64,
    ) -> Result<Option<RecordBatch>> {
        let mut rows = self.first(most);
        if rows.is_empty() {
            return Ok(None);
        }
        let tested = wanted.filter.as_ref().map_or(&[][..], RowFilter::columns);
        let all: Vec<usize> = match tested {
            [] => wanted.columns.clone(),
            tested => tested.to_vec(),
        };
        let sizes = self.fit(source, &all, &mut rows)?;
        self.skip(count(&rows));
        let Some(filter) = &wanted.filter else {
            return self.batch(source, wanted, &rows, sizes).map(Some);
        };
        let columns = self.read(source, tested, &rows, &sizes)?;
        let matches = filter.evaluate(to_usize(count(&rows))?, columns)?;
        let mut matching = select(&rows, &RowSelection::from(&matches));
        if matching.is_empty() {
            return Ok(Some(RecordBatch::new_empty(wanted.schema.clone())));
        }
        let before = count(&matching);
        let sizes = self.fit(source, &wanted.columns, &mut matching)?;
        if count(&matching) < before {
            // Return the rows that do not fit to the next batch, which tests them again.
            let end = matching.last().map_or(0, |range| range.end);
            let rest = rows.into_iter().filter(|range| range.end > end);
            for range in rest.rev() {
                self.rows.push_front(range.start.max(end)..range.end);
            }
        }
        self.batch(source, wanted, &matching, sizes).map(Some)
    }

    fn batch(
        &mut self,
        source: &PageSource,
        wanted: &ReadPlan,
        rows: &[Range<u32>],
        sizes: Vec<u64>,
    ) -> Result<RecordBatch> {
        let columns = self.read(source, &wanted.columns, rows, &sizes)?;
        let options = RecordBatchOptions::new().with_row_count(Some(to_usize(count(rows))?));
        Ok(RecordBatch::try_new_with_options(
            wanted.schema.clone(),
            columns,
            &options,
        )?)
    }

    /// Drops rows at the end until the columns fit a batch. Returns the size of each column's values in bytes.
    fn fit(
        &mut self,
        source: &PageSource,
        columns: &[usize],
        rows: &mut Vec<Range<u32>>,
    ) -> Result<Vec<u64>> {
        let is_string = |column: &&usize| source.column_type(**column) == ColumnType::String;
        let strings = columns.iter().filter(is_string).count().max(1) as u64;
        let mut sizes = vec![0; columns.len()];
        for (column, size) in columns.iter().zip(&mut sizes) {
            if !is_string(&column) {
                continue;
            }
            let Some(chunk) = &mut self.chunks[*column] else {
                continue;
            };
            let fit = |chunk: &mut ChunkReader, rows: &[Range<u32>], budget| {
                let fit = chunk.fit(source, rows, budget);
                fit.within(|| source.column(*column))
            };
            let (mut fitting, mut bytes) = fit(chunk, rows, MAX_STRING_BYTES / strings)?;
            if fitting == 0 {
                keep_first(rows, 1);
                (fitting, bytes) = fit(chunk, rows, MAX_ROW_BYTES)?;
                if fitting == 0 {
                    let message = "a string has 2 GiB or more, which an array of Utf8 cannot hold";
                    return Err(Error::new(ErrorKind::OffsetOverflow, message));
                }
            }
            keep_first(rows, fitting);
            *size = bytes;
        }
        let rows = count(rows);
        let mut offset_bytes = 0_u64;
        for (column, size) in columns.iter().zip(&mut sizes) {
            match source.column_type(*column) {
                ColumnType::Int32 => *size = 4 * rows,
                ColumnType::Int64 => *size = 8 * rows,
                // An array of Utf8 has an offset of 4 bytes per row, and one more.
                ColumnType::String => offset_bytes += 4 * (rows + 1),
            }
        }
        let bytes = offset_bytes + sizes.iter().sum::<u64>();
        source.limits.check_batch_bytes(bytes, 1)?;
        Ok(sizes)
    }

    fn read(
        &mut self,
        source: &PageSource,
        columns: &[usize],
        rows: &[Range<u32>],
        sizes: &[u64],
    ) -> Result<Vec<ArrayRef>> {
        let len = to_usize(count(rows))?;
        let read = |(&column, &size): (&usize, &u64)| {
            let chunk = self.chunks[column].as_mut();
            let chunk = chunk.ok_or_else(|| Error::corrupt("a column has not been opened"))?;
            chunk
                .read(source, rows, len, to_usize(size)?)
                .within(|| source.column(column))
        };
        columns.iter().zip(sizes).map(read).collect()
    }

    /// Returns the first rows, up to `most` of them.
    fn first(&self, most: u64) -> Vec<Range<u32>> {
        let mut rows = Vec::new();
        let mut left = most;
        for range in &self.rows {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(u64::from(range.end - range.start));
            rows.push(range.clone());
        }
        keep_first(&mut rows, most);
        rows
    }
}

/// Returns the number of rows.
fn count(rows: &[Range<u32>]) -> u64 {
    rows.iter()
        .map(|range| u64::from(range.end - range.start))
        .sum()
}

/// Keeps the first rows, up to `most` of them, and drops the others.
fn keep_first(rows: &mut Vec<Range<u32>>, most: u64) {
    let mut left = most;
    rows.retain_mut(|range| {
        let len = u64::from(range.end - range.start).min(left);
        left -= len;
        // Lossless: at most the length of the range, which has 32 bits.
        range.end = range.start + u32::try_from(len).unwrap_or(0);
        len > 0
    });
}

/// Returns the selected rows. The selection numbers `rows` from 0.
fn select(rows: &[Range<u32>], selection: &RowSelection) -> Vec<Range<u32>> {
    let mut selected = Vec::new();
    let mut first = 0;
    let mut ranges = selection.ranges().iter().peekable();
    for range in rows {
        let end = first + u64::from(range.end - range.start);
        // Lossless: at most the length of the range, which has 32 bits.
        let row = |number: u64| range.start + u32::try_from(number - first).unwrap_or(0);
        while let Some(chosen) = ranges.peek() {
            let (from, to) = (chosen.start.max(first), chosen.end.min(end));
            if from < to {
                selected.push(row(from)..row(to));
            }
            if chosen.end > end {
                break;
            }
            ranges.next();
        }
        first = end;
    }
    selected
}

/// Returns the rows that are in both lists of ascending ranges.
fn intersection(a: &VecDeque<Range<u32>>, b: &VecDeque<Range<u32>>) -> VecDeque<Range<u32>> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut both = VecDeque::new();
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let (start, end) = (x.start.max(y.start), x.end.min(y.end));
        if start < end {
            both.push_back(start..end);
        }
        if x.end < y.end {
            a.next();
        } else {
            b.next();
        }
    }
    both
}

/// Returns the bounds in the statistics of the page that has a row.
fn range_at(chunk: &ChunkReader, row: u32) -> ColumnRange {
    let Some(statistics) = chunk
        .header_at(row)
        .and_then(|header: &PageHeader| header.statistics)
    else {
        return ColumnRange::default();
    };
    let end = |value: Option<i64>| -> Option<ArrayRef> {
        match chunk.column_type() {
            ColumnType::Int32 => {
                let value = i32::try_from(value?).ok()?;
                Some(Arc::new(Int32Array::from(vec![value])))
            }
            ColumnType::Int64 => Some(Arc::new(Int64Array::from(vec![value?]))),
            ColumnType::String => None,
        }
    };
    ColumnRange {
        low: end(statistics.min),
        high: end(statistics.max),
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_batch().map_err(|error| {
            self.limit = 0;
            in_file(self.source.reader.as_ref(), error)
        });
        Some(batch.transpose()?.map_err(Into::into))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.wanted.schema.clone()
    }
}
