//! Decodes pages, as many as the wanted positions need.

use super::column::{Chunk, DataPage, ParquetColumn, rows_between, split_page};
use super::leaf::guarded;
use super::page::PageOpener;
use super::page_feed::PageFeed;
use super::page_header::PageKind;
use crate::buffer::{BlockMap, ExternalDecoder, ReadContext, Selection};
use crate::error::{Error, Result, Within, to_usize};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, new_empty_array};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType as ArrowType;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are decoded at a time, at least and at most.
const BATCH_ROWS: Range<u64> = 1024..65_536;

/// Positions are few if they are at most one in this many of their pages: then skipping the others is faster than
/// decoding them.
const FEW: u64 = 8;

/// Most bytes of a value that is stored once, as an entry of a dictionary or as a null, and that a batch may repeat.
const MAX_REPEATED_BYTES: u64 = 1 << 30;

/// Bytes of values after which no more pages are passed to the reader before these are decoded.
const MAX_FED_BYTES: u64 = 16 << 20;

/// Decodes the values of a stripe field.
#[derive(Debug)]
pub(super) struct ParquetDecoder {
    values: Arc<ParquetColumn>,
    current: Option<OpenChunk>,
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

impl ParquetDecoder {
    pub(super) fn new(values: Arc<ParquetColumn>) -> Self {
        Self {
            values,
            current: None,
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
            let ordinal = values.chunk_at(position);
            let chunk = ordinal.and_then(|ordinal| Some((ordinal, values.chunks.get(ordinal)?)));
            let Some((ordinal, chunk)) = chunk else {
                return Err(Error::corrupt(format!(
                    "position {position} is in no chunk"
                )));
            };
            if let Some(piece) = read_few(&values, chunk, rows, wanted, cx)? {
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
            let (held, array) = decoded.within(|| format!("column chunk {ordinal}"))?;
            self.current = Some(open);
            let piece = pick(&array, &held, rows)?;
            bytes = bytes.saturating_add(slice_bytes(&piece));
            cx.check_batch_bytes(bytes, 1)?;
            pieces.push(piece);
            next = rows.next_from(held.end);
        }
        concat_all(&pieces, wanted)
    }
}

/// Reads the wanted positions of a chunk without decoding the others of their pages, if they are few. Nothing is kept for
/// later positions.
fn read_few(
    column: &ParquetColumn,
    chunk: &Chunk,
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
    column.verify_file(chunk, cx.source)?;
    let pages = chunk.pages_of(chunk.pages(cx.source)?, &rows)?;
    let sizes = pages
        .iter()
        .map(|page| page.positions.end - page.positions.start);
    if rows.len().saturating_mul(FEW) > sizes.sum() {
        return Ok(None);
    }
    let mut feed = ChunkFeed::new(column, chunk, cx)?;
    let batch_rows = rows.len().min(feed.most_rows(column, wanted, cx)?);
    let mut selectors = Vec::new();
    for page in &pages {
        feed.push(chunk, page, cx)?;
        let mut at = page.positions.start;
        for range in rows.within(&page.positions).ranges() {
            selectors.push(RowSelector::skip(rows_between(at, range.start)?));
            selectors.push(RowSelector::select(rows_between(range.start, range.end)?));
            at = range.end;
        }
        selectors.push(RowSelector::skip(rows_between(at, page.positions.end)?));
    }
    let selection = RowSelection::from(selectors);
    let mut reader = feed.reader(column, wanted, batch_rows, Some(selection))?;
    let (mut pieces, mut found) = (Vec::new(), 0);
    while found < rows.len() {
        let Some(piece) = reader.next()? else {
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
    concat_all(&pieces, wanted).map(Some)
}

/// Passes the pages of a chunk to a reader, after comparing them with their headers.
struct ChunkFeed {
    pages: PageFeed,
    opener: PageOpener,
    /// Most bytes of an entry of the dictionary, or 0 if there is none.
    entry_bytes: usize,
}

impl ChunkFeed {
    /// Creates a feed with the dictionary page of the chunk, if there is one.
    fn new(column: &ParquetColumn, chunk: &Chunk, cx: &ReadContext<'_>) -> Result<Self> {
        let mut feed = Self {
            pages: PageFeed::default(),
            opener: PageOpener::new(column.leaf.column(), chunk.codec, chunk.encodings),
            entry_bytes: 0,
        };
        if let Some(place) = chunk.dictionary_place() {
            let mut bytes = cx.source.bytes(place)?;
            let (header, page) = split_page(&mut bytes, cx.limits)?;
            if header.kind != PageKind::Dictionary || !bytes.is_empty() {
                return Err(Error::corrupt("expected one dictionary page"));
            }
            feed.entry_bytes = header.uncompressed;
            let opened = feed.opener.open(&header, &page, cx.limits)?;
            feed.pages.push(opened.page);
        }
        Ok(feed)
    }

    /// Returns the most rows to decode at a time. Each may repeat the longest entry of the dictionary, and a null takes
    /// as much memory as a value.
    fn most_rows(
        &self,
        column: &ParquetColumn,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<u64> {
        let width = column.leaf.width();
        let is_view = matches!(wanted, ArrowType::Utf8View | ArrowType::BinaryView);
        let copies = column.leaf.column().physical_type() == PhysicalType::BYTE_ARRAY && !is_view;
        let repeated = if copies { self.entry_bytes } else { width };
        let most = MAX_REPEATED_BYTES.min(cx.limits.max_batch_bytes());
        let rows = (most / (repeated as u64).max(1)).max(1);
        cx.check_batch_bytes(1, width)?;
        Ok(rows)
    }

    /// Passes a data page, and the pages without values before it. Returns the bytes of its values.
    fn push(&mut self, chunk: &Chunk, page: &DataPage, cx: &ReadContext<'_>) -> Result<u64> {
        let mut bytes = cx.source.bytes(page.place)?;
        let (mut values, mut size) = (0u64, 0);
        while !bytes.is_empty() {
            let (header, page) = split_page(&mut bytes, cx.limits)?;
            if !matches!(header.kind, PageKind::Data | PageKind::DataV2) {
                return Err(Error::corrupt(format!(
                    "expected a data page, found a {:?} page",
                    header.kind
                )));
            }
            values = values.saturating_add(header.values);
            if header.values > 0 {
                let opened = self.opener.open(&header, &page, cx.limits)?;
                self.pages.push(opened.page);
                size = u64::saturating_add(size, opened.bytes);
            }
        }
        let expected = page.positions.end - page.positions.start;
        if values < expected || (values > expected && !chunk.is_repeated) {
            return Err(Error::corrupt(format!(
                "{values} values in a Parquet page, expected {expected}"
            )));
        }
        Ok(size)
    }

    fn reader(
        &self,
        column: &ParquetColumn,
        wanted: &ArrowType,
        batch_rows: u64,
        rows: Option<RowSelection>,
    ) -> Result<LeafReader> {
        let batch_rows = to_usize(batch_rows)?;
        Ok(LeafReader {
            reader: self.pages.reader(&column.leaf, wanted, batch_rows, rows)?,
            checks_text: !column.leaf.is_text(),
        })
    }
}

/// Decodes pages that are fed.
struct LeafReader {
    reader: ParquetRecordBatchReader,
    checks_text: bool,
}

impl LeafReader {
    /// Decodes the next rows. `None` if there are none.
    fn next(&mut self) -> Result<Option<ArrayRef>> {
        let batch = guarded(|| match self.reader.next() {
            Some(Err(error)) => Err(ParquetError::ArrowError(error.to_string())),
            Some(Ok(batch)) => Ok(Some(batch)),
            None => Ok(None),
        })?;
        let array = batch.and_then(|batch| batch.columns().first().cloned());
        let leaf = array.map(leaf_of).transpose()?;
        if let Some(leaf) = leaf.as_ref().filter(|_| self.checks_text)
            && is_text(leaf.data_type())
        {
            leaf.to_data().validate_full()?;
        }
        Ok(leaf)
    }
}

/// Whether values of a type are UTF-8. The crate `parquet` checks it only in columns that say so themselves, and not in
/// those that say JSON or nothing.
fn is_text(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Dictionary(_, values) => is_text(values),
        other => matches!(
            other,
            ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View
        ),
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
        chunk: &Chunk,
        wanted: &ArrowType,
        span: u64,
        cx: &ReadContext<'_>,
    ) -> Result<Self> {
        let feed = ChunkFeed::new(values, chunk, cx)?;
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
        // To get past positions that have been passed to the reader, they must be decoded.
        let passed = self.fed.end.min(position).saturating_sub(self.fed.start);
        self.ordinal == ordinal
            && self.wanted == *wanted
            && position >= first
            && passed <= BATCH_ROWS.end
    }

    /// Returns decoded positions with their values, among them `position`. `rows` tells what will be needed next.
    fn decode(
        &mut self,
        chunk: &Chunk,
        position: u64,
        rows: &Selection,
        cx: &ReadContext<'_>,
    ) -> Result<(Range<u64>, ArrayRef)> {
        let pages = chunk.pages(cx.source)?;
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
                self.decode_lists()?;
            } else {
                self.decode_batch()?;
            }
        }
    }

    /// Passes pages to the reader: those from `position` on that a batch needs, if they follow on those that were passed
    /// before, or if these are decoded.
    fn feed_pages(
        &mut self,
        chunk: &Chunk,
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
            let Some(page) = chunk.page_at(pages, from)? else {
                return Err(Error::corrupt(format!("position {from} is in no page")));
            };
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
    fn decode_batch(&mut self) -> Result<()> {
        let expected = self.batch_rows.min(self.fed.end - self.fed.start);
        let array = self.reader.next()?;
        let found = array.as_ref().map_or(0, |array| array.len() as u64);
        match array.filter(|_| found == expected && found > 0) {
            Some(array) => self.keep(array),
            None => Err(Error::corrupt(format!(
                "expected {expected} values in Parquet pages, found {found}"
            ))),
        }
    }

    /// Decodes the values of the next lists that have any.
    fn decode_lists(&mut self) -> Result<()> {
        let expected = self.fed.end - self.fed.start;
        loop {
            let Some(array) = self.reader.next()? else {
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

/// Returns the leaf inside of structs and lists, null where one of the structs is.
fn leaf_of(column: ArrayRef) -> Result<ArrayRef> {
    let (mut array, mut nulls) = (column, None);
    loop {
        if let Some(group) = array.as_struct_opt() {
            nulls = NullBuffer::union(nulls.as_ref(), group.nulls());
            let child = group.columns().first().cloned();
            array = child.ok_or_else(|| Error::corrupt("a Parquet group without members"))?;
        } else if let Some(lists) = array.as_list_opt::<i32>() {
            let (start, end) = match lists.value_offsets() {
                [start, .., end] => (start.as_usize(), end.as_usize()),
                _ => (0, 0),
            };
            // Lists that are null have no items.
            nulls = None;
            array = lists.values().slice(start, end - start);
        } else {
            break;
        }
    }
    let nulls = match (nulls, array.logical_nulls()) {
        (None, _) => return Ok(array),
        (Some(outer), own) => NullBuffer::union(Some(&outer), own.as_ref()),
    };
    let data: ArrayData = array.to_data();
    let data = data.into_builder().nulls(nulls).build()?;
    Ok(arrow_array::make_array(data))
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
