//! Decodes the pages that hold the wanted positions.

use super::chunk_feed::{ChunkFeed, LeafReader};
use super::column::{DataPage, ParquetChunk, ParquetColumn, rows_between};
use crate::buffer::{BlockMap, ExternalDecoder, ReadContext, Selection};
use crate::error::{Error, Result, Within};
use arrow_array::{Array, ArrayRef, BooleanArray, new_empty_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType as ArrowType;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are decoded at a time, at least and at most.
const BATCH_ROWS: Range<u64> = 1024..65_536;

/// Positions are few if they are at most one in this many of their pages: then skipping the others is faster than
/// decoding them.
const FEW: u64 = 8;

/// Once the waiting pages have this many bytes of values, they are decoded before others are added.
const MAX_FED_BYTES: u64 = 16 << 20;

/// Decodes the values of a stripe field.
pub(super) struct ParquetDecoder {
    values: Arc<ParquetColumn>,
    current: Option<OpenChunk>,
    /// The chunk of which few positions were wanted last.
    few: Option<(usize, ChunkFeed)>,
    num_pages: u64,
}

/// A chunk that is being decoded from one page to the next.
struct OpenChunk {
    ordinal: usize,
    wanted: ArrowType,
    feed: ChunkFeed,
    reader: LeafReader,
    batch_rows: u64,
    /// The positions that have been passed to the reader, but not been decoded.
    fed: Range<u64>,
    /// Decoded positions that are likely to be wanted.
    decoded: VecDeque<(Range<u64>, ArrayRef)>,
}

impl fmt::Debug for OpenChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenChunk")
            .field("ordinal", &self.ordinal)
            .field("wanted", &self.wanted)
            .field("fed", &self.fed)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ParquetDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetDecoder")
            .field("values", &self.values)
            .field("current", &self.current)
            .field("num_pages", &self.num_pages)
            .finish_non_exhaustive()
    }
}

impl ParquetDecoder {
    pub(super) fn new(values: Arc<ParquetColumn>) -> Self {
        Self {
            values,
            current: None,
            few: None,
            num_pages: 0,
        }
    }
}

impl ExternalDecoder for ParquetDecoder {
    fn read(
        &mut self,
        rows: &Selection,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<ArrayRef> {
        cx.check_batch_bytes(rows.len(), 1)?;
        let values = self.values.clone();
        let (mut pieces, mut bytes) = (Vec::new(), 0u64);
        let mut next = rows.next_from(0);
        while let Some(position) = next {
            let (ordinal, chunk) = values.chunk_at(position)?;
            let piece = self.read_few(ordinal, chunk, rows, wanted, cx);
            if let Some(piece) = piece.within(|| format!("column chunk {ordinal}"))? {
                bytes = bytes.saturating_add(slice_bytes(&piece));
                cx.check_batch_bytes(bytes, 1)?;
                pieces.push(piece);
                next = rows.next_from(chunk.positions.end);
                continue;
            }
            let span = rows.end().min(chunk.positions.end) - position;
            // A decoder that failed is dropped: after a panic, its state is unknown.
            let mut open = match self.current.take() {
                Some(open) if open.serves(ordinal, wanted, position) => open,
                _ => {
                    values.verify_file(chunk, cx.source)?;
                    OpenChunk::new(&values, ordinal, chunk, wanted, span, cx)?
                }
            };
            let decoded = open.decode(chunk, position, rows, cx);
            self.num_pages += std::mem::take(&mut open.feed.num_pages);
            let (held, array) = decoded.within(|| format!("column chunk {ordinal}"))?;
            self.current = Some(open);
            let piece = pick(&array, &held, rows)?;
            let piece = values.to_text(piece, wanted, &rows.within(&held))?;
            bytes = bytes.saturating_add(slice_bytes(&piece));
            cx.check_batch_bytes(bytes, 1)?;
            pieces.push(piece);
            next = rows.next_from(held.end);
        }
        concat_all(&pieces, wanted)
    }

    fn num_pages(&self) -> u64 {
        self.num_pages
    }

    fn dictionary(&mut self, position: u64, cx: &ReadContext<'_>) -> Result<(Range<u64>, u64)> {
        self.values.dictionary(position, cx)
    }

    fn entries(
        &mut self,
        position: u64,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<ArrayRef> {
        self.values.entries(position, wanted, cx)
    }

    fn positions_of_entries(
        &mut self,
        position: u64,
        chosen: &BooleanBuffer,
        nulls: bool,
        cx: &ReadContext<'_>,
    ) -> Result<(Range<u64>, Option<BooleanBuffer>)> {
        self.values
            .positions_of_entries(position, chosen, nulls, cx)
    }
}

impl ParquetDecoder {
    /// Reads the wanted positions of a chunk without decoding the others of their pages, if they are few.
    fn read_few(
        &mut self,
        ordinal: usize,
        chunk: &ParquetChunk,
        rows: &Selection,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<Option<ArrayRef>> {
        let rows = rows.within(&chunk.positions);
        let may_be_few = rows.len().saturating_mul(FEW) <= chunk.len();
        let follows = cx.sequential && rows.as_range().is_some();
        if chunk.is_repeated || !may_be_few || follows {
            return Ok(None);
        }
        let column = self.values.clone();
        column.verify_file(chunk, cx.source)?;
        let pages = chunk.pages_of(chunk.pages(cx)?, &rows)?;
        let sizes = pages
            .iter()
            .map(|page| page.positions.end - page.positions.start);
        let in_pages: u64 = sizes.sum();
        if rows.len().saturating_mul(FEW) > in_pages {
            return Ok(None);
        }
        // A feed whose reader failed is dropped.
        let mut feed = match self.few.take() {
            // Every reader decodes all entries of the dictionary, except one that stays open.
            Some((last, feed)) if last == ordinal && feed.num_entries() > in_pages => {
                self.few = Some((last, feed));
                return Ok(None);
            }
            Some((last, mut feed)) if last == ordinal => {
                feed.restart();
                feed
            }
            _ => ChunkFeed::new(&column, chunk, wanted, cx)?,
        };
        let found = feed.read_few(&column, chunk, &pages, &rows, wanted, cx);
        self.num_pages += std::mem::take(&mut feed.num_pages);
        let values = found?;
        self.few = Some((ordinal, feed));
        column.to_text(values, wanted, &rows).map(Some)
    }
}

impl ChunkFeed {
    /// Reads some positions, given the pages that hold them.
    fn read_few(
        &mut self,
        column: &ParquetColumn,
        chunk: &ParquetChunk,
        pages: &[DataPage],
        rows: &Selection,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<ArrayRef> {
        let batch_rows = rows.len().min(self.most_rows(column, wanted, cx)?);
        let mut selectors = Vec::new();
        for page in pages {
            self.push_and_keep(chunk, page, cx)?;
            let mut at = page.positions.start;
            for range in rows.within(&page.positions).ranges() {
                selectors.push(RowSelector::skip(rows_between(at, range.start)?));
                selectors.push(RowSelector::select(rows_between(range.start, range.end)?));
                at = range.end;
            }
            selectors.push(RowSelector::skip(rows_between(at, page.positions.end)?));
        }
        let selection = RowSelection::from(selectors);
        let mut reader = self.reader(column, wanted, batch_rows, Some(selection))?;
        let (mut pieces, mut found) = (Vec::new(), 0);
        while found < rows.len() {
            let Some(piece) = reader.next(cx)? else {
                break;
            };
            found += piece.len() as u64;
            pieces.push(piece);
        }
        if found != rows.len() {
            return Err(Error::corrupt(format!(
                "expected {} values in Parquet pages, found {found}",
                rows.len()
            )));
        }
        concat_all(&pieces, wanted)
    }
}

fn concat_all(pieces: &[ArrayRef], wanted: &ArrowType) -> Result<ArrayRef> {
    match pieces {
        [] => Ok(new_empty_array(wanted)),
        [only] => Ok(only.clone()),
        many => {
            let many: Vec<&dyn Array> = many.iter().map(AsRef::as_ref).collect();
            Ok(concat(&many)?)
        }
    }
}

impl OpenChunk {
    fn new(
        values: &ParquetColumn,
        ordinal: usize,
        chunk: &ParquetChunk,
        wanted: &ArrowType,
        span: u64,
        cx: &ReadContext<'_>,
    ) -> Result<Self> {
        let feed = ChunkFeed::new(values, chunk, wanted, cx)?;
        let batch_rows = span.clamp(BATCH_ROWS.start, BATCH_ROWS.end);
        let batch_rows = batch_rows.min(feed.most_rows(values, wanted, cx)?);
        let reader = feed.reader(values, wanted, batch_rows, None)?;
        Ok(Self {
            ordinal,
            wanted: wanted.clone(),
            feed,
            reader,
            batch_rows,
            fed: chunk.positions.start..chunk.positions.start,
            decoded: VecDeque::new(),
        })
    }

    /// Whether a position is decoded, or can be decoded without starting again.
    fn serves(&self, ordinal: usize, wanted: &ArrowType, position: u64) -> bool {
        let first = self
            .decoded
            .front()
            .map_or(self.fed.start, |(held, _)| held.start);
        // To get to another page, all that has been passed to the reader must be decoded.
        let passed = if position < self.fed.end {
            0
        } else {
            self.fed.end - self.fed.start
        };
        self.ordinal == ordinal
            && self.wanted == *wanted
            && position >= first
            && passed <= BATCH_ROWS.end
    }

    /// Returns decoded positions with their values, among them `position`. `rows` tells what will be needed next.
    fn decode(
        &mut self,
        chunk: &ParquetChunk,
        position: u64,
        rows: &Selection,
        cx: &ReadContext<'_>,
    ) -> Result<(Range<u64>, ArrayRef)> {
        let pages = chunk.pages(cx)?;
        loop {
            while self
                .decoded
                .front()
                .is_some_and(|(held, _)| held.end <= position)
            {
                // The last one is kept, because rows close to it may be wanted next.
                if self.decoded.len() == 1 {
                    break;
                }
                self.decoded.pop_front();
            }
            let held = self
                .decoded
                .iter()
                .find(|(held, _)| held.contains(&position));
            if let Some((held, array)) = held {
                return Ok((held.clone(), array.clone()));
            }
            if self.fed.is_empty() || self.fed.start + self.batch_rows > self.fed.end {
                self.feed_pages(chunk, pages, position, rows, cx)?;
            }
            if chunk.is_repeated {
                self.decode_lists(cx)?;
            } else {
                self.decode_batch(cx)?;
            }
        }
    }

    /// Passes pages to the reader: those from `position` on that a batch needs, if they follow on those that were
    /// passed before, or if these are decoded.
    fn feed_pages(
        &mut self,
        chunk: &ParquetChunk,
        pages: &BlockMap,
        position: u64,
        rows: &Selection,
        cx: &ReadContext<'_>,
    ) -> Result<()> {
        let mut from = if self.fed.is_empty() {
            position
        } else {
            self.fed.end
        };
        let mut bytes = 0;
        while self.fed.end - self.fed.start < self.batch_rows
            && bytes < MAX_FED_BYTES
            && from < chunk.positions.end
        {
            let page = chunk.page_at(pages, from)?;
            let is_wanted = rows
                .next_from(page.positions.start)
                .is_some_and(|next| next < page.positions.end);
            if !is_wanted || (!self.fed.is_empty() && page.positions.start != self.fed.end) {
                break;
            }
            if self.fed.is_empty() {
                self.fed = page.positions.start..page.positions.start;
            }
            bytes = u64::saturating_add(bytes, self.feed.push(chunk, &page, cx)?);
            self.fed.end = page.positions.end;
            from = page.positions.end;
        }
        Ok(())
    }

    /// Decodes the next batch of the pages that have been passed to the reader.
    fn decode_batch(&mut self, cx: &ReadContext<'_>) -> Result<()> {
        let expected = self.batch_rows.min(self.fed.end - self.fed.start);
        let array = self.reader.next(cx)?;
        let found = array.as_ref().map_or(0, |array| array.len() as u64);
        match array.filter(|_| found == expected && found > 0) {
            Some(array) => self.keep(array),
            None => Err(Error::corrupt(format!(
                "expected {expected} values in Parquet pages, found {found}"
            ))),
        }
    }

    /// Decodes the values of the next lists that have any.
    fn decode_lists(&mut self, cx: &ReadContext<'_>) -> Result<()> {
        let expected = self.fed.end - self.fed.start;
        loop {
            let Some(array) = self.reader.next(cx)? else {
                return Err(Error::corrupt(format!(
                    "expected {expected} more values of lists in Parquet pages"
                )));
            };
            let found = array.len() as u64;
            if found > expected {
                return Err(Error::corrupt(format!(
                    "expected {expected} values of lists in Parquet pages, found {found}"
                )));
            }
            if found > 0 {
                return self.keep(array);
            }
        }
    }

    /// Keeps the values of the next positions.
    fn keep(&mut self, array: ArrayRef) -> Result<()> {
        let end = self.fed.start + array.len() as u64;
        self.decoded.push_back((self.fed.start..end, array));
        self.fed.start = end;
        Ok(())
    }
}

/// Returns the wanted values of an array that holds some positions.
fn pick(array: &ArrayRef, held: &Range<u64>, rows: &Selection) -> Result<ArrayRef> {
    let wanted = rows.within(held);
    if let [range] = wanted.ranges() {
        let start = rows_between(held.start, range.start)?;
        return Ok(array.slice(start, rows_between(range.start, range.end)?));
    }
    let bits = BooleanArray::new(rows.to_bits(held)?, None);
    Ok(filter(array, &bits)?)
}

/// Returns the bytes that the values of a slice take.
fn slice_bytes(array: &ArrayRef) -> u64 {
    let bytes = array.to_data().get_slice_memory_size();
    bytes.map_or(u64::MAX, |bytes| bytes as u64)
}

#[cfg(test)]
mod tests;
