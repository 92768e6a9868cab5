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
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::DataType as ArrowType;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are decoded at a time, at least and at most.
const BATCH_ROWS: Range<u64> = 1024..65_536;

/// Most bytes of a value that is stored once, as an entry of a dictionary or as a null, and that a batch may repeat.
const MAX_REPEATED_BYTES: u64 = 256 << 20;

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
    opener: PageOpener,
    feed: PageFeed,
    reader: ParquetRecordBatchReader,
    checks_text: bool,
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
        match pieces.as_slice() {
            [] => Ok(new_empty_array(wanted)),
            [only] => Ok(only.clone()),
            many => {
                let many: Vec<&dyn Array> = many.iter().map(AsRef::as_ref).collect();
                Ok(concat(&many)?)
            }
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
        let (leaf, feed) = (&values.leaf, PageFeed::default());
        let mut opener = PageOpener::new(leaf.column(), chunk.codec, chunk.encodings);
        // Each row may repeat the longest entry, and a null takes as much memory as a value.
        let mut repeated = leaf.width();
        if let Some(place) = chunk.dictionary_place() {
            let mut bytes = cx.source.bytes(place)?;
            let (header, page) = split_page(&mut bytes, cx.limits)?;
            if header.kind != PageKind::Dictionary || !bytes.is_empty() {
                return Err(Error::corrupt("expected one dictionary page"));
            }
            repeated = repeated.max(header.uncompressed);
            feed.push(opener.open(&header, &page, cx.limits)?.page);
        }
        let batch_rows = span.clamp(BATCH_ROWS.start, BATCH_ROWS.end);
        let most = MAX_REPEATED_BYTES.min(cx.limits.max_batch_bytes());
        let batch_rows = batch_rows.min(most / (repeated as u64).max(1));
        let batch_rows = batch_rows.max(1);
        cx.check_batch_bytes(batch_rows, leaf.width())?;
        let reader = feed.reader(leaf, wanted, to_usize(batch_rows)?)?;
        Ok(Self {
            ordinal,
            wanted: wanted.clone(),
            opener,
            feed,
            reader,
            checks_text: !leaf.is_text(),
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
            self.decode_batch()?;
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
            bytes = u64::saturating_add(bytes, self.feed_page(&page, cx)?);
            self.fed.end = page.positions.end;
            from = page.positions.end;
        }
        Ok(())
    }

    /// Passes a page to the reader. Returns the bytes of its values.
    fn feed_page(&mut self, page: &DataPage, cx: &ReadContext<'_>) -> Result<u64> {
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
                self.feed.push(opened.page);
                size = u64::saturating_add(size, opened.bytes);
            }
        }
        let expected = page.positions.end - page.positions.start;
        if values != expected {
            return Err(Error::corrupt(format!(
                "{values} values in a Parquet page, expected {expected}"
            )));
        }
        Ok(size)
    }

    /// Decodes the next batch of the pages that have been passed to the reader.
    fn decode_batch(&mut self) -> Result<()> {
        let expected = self.batch_rows.min(self.fed.end - self.fed.start);
        let batch = guarded(|| match self.reader.next() {
            Some(Err(error)) => Err(parquet::errors::ParquetError::ArrowError(error.to_string())),
            Some(Ok(batch)) => Ok(Some(batch)),
            None => Ok(None),
        })?;
        let found = batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        let array = batch.and_then(|batch| batch.columns().first().cloned());
        let Some(array) = array.filter(|_| found == expected && found > 0) else {
            return Err(Error::corrupt(format!(
                "expected {expected} values in Parquet pages, found {found}"
            )));
        };
        let array = leaf_of(array)?;
        if self.checks_text && is_text(array.data_type()) {
            array.to_data().validate_full()?;
        }
        let end = self.fed.start + found;
        self.decoded.push_back((self.fed.start..end, array));
        self.fed.start = end;
        Ok(())
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

/// Returns the leaf inside of structs, null where one of them is.
fn leaf_of(array: ArrayRef) -> Result<ArrayRef> {
    let (mut array, mut nulls) = (array, None);
    while let Some(group) = array.as_struct_opt() {
        nulls = NullBuffer::union(nulls.as_ref(), group.nulls());
        let child = group.columns().first().cloned();
        array = child.ok_or_else(|| Error::corrupt("a Parquet group without members"))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{ByteSource, ExternalValues, StoredRange};
    use crate::encoding::{Dictionaries, Scratch};
    use crate::external::VerifiedFiles;
    use crate::external::parquet::description::{
        Codec, DescribedChunk, DescribedFile, ParquetDescription,
    };
    use crate::external::parquet::values::ParquetValues;
    use crate::format::{
        BasicType, DataRef, DataType, FieldDescriptor, ParquetColumnChunkRef, ParquetFileColumnRef,
        StripeFieldDescriptor, checksum,
    };
    use crate::io::ByteRange;
    use crate::limits::Limits;
    use bytes::Bytes;

    /// A page of ten texts, and a page with one that is not UTF-8.
    const PAGES: &[u8] = &[
        0x15, 0, 0x15, 100, 0x15, 100, 0x2c, 0x15, 20, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, //
        1, 0, 0, 0, b'a', 1, 0, 0, 0, b'b', 1, 0, 0, 0, b'c', 1, 0, 0, 0, b'd', 1, 0, 0, 0, b'e',
        1, 0, 0, 0, b'f', 1, 0, 0, 0, b'g', 1, 0, 0, 0, b'h', 1, 0, 0, 0, b'i', 1, 0, 0, 0, b'j',
        0x15, 0, 0x15, 10, 0x15, 10, 0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, //
        1, 0, 0, 0, 0xff,
    ];
    const VALUES: u64 = 11;

    #[derive(Debug)]
    struct Memory;

    impl ByteSource for Memory {
        fn bytes(&self, place: StoredRange) -> Result<Bytes> {
            let range = place.range.to_usize()?;
            Ok(Bytes::from_static(&PAGES[range]))
        }

        fn resident(&self, _: StoredRange) -> Result<Option<Bytes>> {
            Ok(None)
        }

        fn name(&self, _: u32) -> Option<String> {
            None
        }
    }

    fn values() -> ParquetValues {
        let size = PAGES.len() as u64;
        let description = ParquetDescription {
            message: "message m { required binary v (STRING); }".to_owned(),
            files: vec![DescribedFile {
                size,
                tail: 0,
                checksum: checksum(&[]),
            }],
            chunks: vec![DescribedChunk {
                codec: Codec::None,
                encodings: 1,
                num_values: VALUES,
                null_count: None,
                uncompressed: size,
                map_checksum: 0,
            }],
        };
        let descriptor = StripeFieldDescriptor {
            field: FieldDescriptor {
                position_count: VALUES,
                custom_properties: vec![description.to_property()],
                ..FieldDescriptor::default()
            },
            encodings: Vec::new(),
        };
        let range = ByteRange::try_new(0, size).unwrap();
        let file = ParquetFileColumnRef {
            file_ref: Some(DataRef {
                url: "t.parquet".to_owned(),
                range,
            }),
            column_chunks: vec![ParquetColumnChunkRef {
                storage_type: 6,
                schema_element_id: 1,
                row_group_id: 0,
                column_chunk_id: 0,
                file_url: None,
                data_pages_range: Some(range),
                data_page_count: 2,
                dictionary_range: None,
                data_page_map: None,
            }],
        };
        let verified = Arc::new(VerifiedFiles::default());
        let node = DataType::new(BasicType::String, "v");
        ParquetValues::try_new(&node, &descriptor, &[file], &verified, &mut |_| Ok(0)).unwrap()
    }

    #[test]
    fn a_reader_that_failed_is_not_used_again() {
        let mut decoder = Arc::new(values()).decoder();
        let limits = Limits::default();
        let mut read = |rows: Range<u64>| {
            let mut scratch = Scratch::default();
            let cx = ReadContext {
                source: &Memory,
                limits: &limits,
                scratch: &mut scratch,
                dictionaries: Dictionaries::none(),
                verify: true,
                sequential: true,
            };
            let rows = Selection::range(rows);
            decoder.read(&rows, &ArrowType::Utf8, &cx)
        };
        let first = read(10..11).unwrap_err().to_string();
        assert!(first.contains("UTF-8"), "{first}");
        assert_eq!(read(10..11).unwrap_err().to_string(), first);
        assert_eq!(read(0..10).unwrap().len(), 10);
        assert_eq!(read(0..11).unwrap_err().to_string(), first);
    }
}
