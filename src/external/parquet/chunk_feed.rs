//! The pages of a chunk on their way to the decoders of the crate `parquet`, and the arrays that come back.

use super::column::{DataPage, ParquetChunk, ParquetColumn, split_page};
use super::leaf::guarded;
use super::page::{OpenedPage, PageOpener};
use super::page_feed::PageFeed;
use super::page_header::PageKind;
use crate::buffer::ReadContext;
use crate::error::{Error, Result, to_usize};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_cast::cast;
use arrow_data::{ArrayData, ByteView};
use arrow_schema::DataType as ArrowType;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection};
use parquet::basic::Type as PhysicalType;
use parquet::column::page::Page;
use parquet::errors::ParquetError;

/// Most bytes of a value that is stored once, as an entry of a dictionary or as a null, and that a batch may repeat.
const MAX_REPEATED_BYTES: u64 = 1 << 30;

/// Passes the pages of a chunk to a reader, after comparing them with their headers.
pub(super) struct ChunkFeed {
    pages: PageFeed,
    opener: PageOpener,
    /// Most bytes of an entry of the dictionary, or 0 without a dictionary.
    entry_bytes: usize,
    /// Bytes of a value of fixed size, or 0.
    width: usize,
    /// The dictionary page, for readers that begin again.
    dictionary: Option<Page>,
    /// The data page that was passed last, if it may be passed again.
    kept: Option<KeptPage>,
    /// Pages that have been opened, dictionary pages included.
    pub(super) num_pages: u64,
}

/// An opened data page, and the pages without positions before it.
struct KeptPage {
    ordinal: usize,
    pages: Vec<Page>,
    /// Bytes of their values.
    bytes: u64,
}

impl ChunkFeed {
    /// Creates a feed with the dictionary page of the chunk, if there is one.
    pub(super) fn new(
        column: &ParquetColumn,
        chunk: &ParquetChunk,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<Self> {
        let mut feed = Self::without_pages(column, chunk, wanted);
        if let Some(opened) = feed.open_dictionary(chunk, cx)? {
            feed.dictionary = Some(opened.page.clone());
            feed.pages.push(opened.page);
        }
        Ok(feed)
    }

    /// Begins again with the dictionary page, for another reader. Pages that have not been read are dropped.
    pub(super) fn restart(&mut self) {
        self.pages.clear();
        if let Some(dictionary) = &self.dictionary {
            self.pages.push(dictionary.clone());
        }
    }

    /// Returns the number of entries of the dictionary, or 0 without one.
    pub(super) fn num_entries(&self) -> u64 {
        self.dictionary
            .as_ref()
            .map_or(0, |page| u64::from(page.num_values()))
    }

    /// Creates a feed with the entries of a dictionary page as the values of a data page.
    pub(super) fn of_entries(
        column: &ParquetColumn,
        chunk: &ParquetChunk,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<Self> {
        let mut feed = Self::without_pages(column, chunk, wanted);
        let opened = feed.open_dictionary(chunk, cx)?;
        let opened = opened.ok_or_else(|| Error::corrupt("a chunk without a dictionary"))?;
        let highest = column.leaf.column().max_def_level();
        feed.pages.push(opened.into_data_page(highest)?);
        Ok(feed)
    }

    fn without_pages(column: &ParquetColumn, chunk: &ParquetChunk, wanted: &ArrowType) -> Self {
        let opener = PageOpener::new(column.leaf.column(), chunk.codec, chunk.encodings);
        Self {
            pages: PageFeed::default(),
            opener: opener
                .with_item_level(column.leaf.item_level())
                .with_instants_of(wanted),
            entry_bytes: 0,
            width: column.leaf.width(),
            dictionary: None,
            kept: None,
            num_pages: 0,
        }
    }

    fn open_dictionary(
        &mut self,
        chunk: &ParquetChunk,
        cx: &ReadContext<'_>,
    ) -> Result<Option<OpenedPage>> {
        let Some(mut bytes) = chunk.dictionary(cx)? else {
            return Ok(None);
        };
        let (header, page) = split_page(&mut bytes, cx.limits)?;
        if header.kind != PageKind::Dictionary || !bytes.is_empty() {
            return Err(Error::corrupt("expected one dictionary page"));
        }
        self.entry_bytes = header.uncompressed;
        self.num_pages += 1;
        self.opener.open(&header, &page, cx.limits).map(Some)
    }

    /// Returns the most rows to decode at a time. Each may repeat the longest entry of the dictionary, and a null takes
    /// as much memory as a value.
    pub(super) fn most_rows(
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
    pub(super) fn push(
        &mut self,
        chunk: &ParquetChunk,
        page: &DataPage,
        cx: &ReadContext<'_>,
    ) -> Result<u64> {
        let mut pages = Vec::new();
        let bytes = self.open(chunk, page, cx, &mut pages)?;
        pages.into_iter().for_each(|page| self.pages.push(page));
        Ok(bytes)
    }

    /// Passes a data page like [`push`](Self::push), and keeps it. A page that is passed twice in a row is opened once.
    pub(super) fn push_and_keep(
        &mut self,
        chunk: &ParquetChunk,
        page: &DataPage,
        cx: &ReadContext<'_>,
    ) -> Result<u64> {
        let kept = match self.kept.take() {
            Some(kept) if kept.ordinal == page.ordinal => kept,
            _ => {
                let mut pages = Vec::new();
                let bytes = self.open(chunk, page, cx, &mut pages)?;
                KeptPage {
                    ordinal: page.ordinal,
                    pages,
                    bytes,
                }
            }
        };
        kept.pages
            .iter()
            .for_each(|page| self.pages.push(page.clone()));
        let bytes = kept.bytes;
        self.kept = Some(kept);
        Ok(bytes)
    }

    /// Opens a data page, and the pages without values before it. Returns the bytes of its values.
    fn open(
        &mut self,
        chunk: &ParquetChunk,
        page: &DataPage,
        cx: &ReadContext<'_>,
        out: &mut Vec<Page>,
    ) -> Result<u64> {
        let mut bytes = chunk.data(page, cx)?;
        let (mut values, mut positions, mut size) = (0u64, 0u64, 0);
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
                out.push(opened.page);
                self.num_pages += 1;
                size = u64::saturating_add(size, opened.bytes);
                positions = positions.saturating_add(opened.positions);
            }
        }
        if chunk.is_repeated {
            // The pages are decoded together, and lists have any number of values.
            cx.check_batch_bytes(size.max(values), 1)?;
            cx.check_batch_bytes(values, self.width)?;
        }
        let expected = page.positions.end - page.positions.start;
        if positions != expected {
            return Err(Error::corrupt(format!(
                "{positions} values in a Parquet page, expected {expected}; the page index of the file may be wrong"
            )));
        }
        Ok(size)
    }

    pub(super) fn reader(
        &self,
        column: &ParquetColumn,
        wanted: &ArrowType,
        batch_rows: u64,
        rows: Option<RowSelection>,
    ) -> Result<LeafReader> {
        let batch_rows = to_usize(batch_rows)?;
        let leaf = &column.leaf;
        let wanted = &leaf.read_type(wanted);
        let is_bytes = leaf.column().physical_type() == PhysicalType::BYTE_ARRAY;
        let is_text = wanted.is_string() || (wanted.is_null() && leaf.is_text());
        let views = if is_text {
            ArrowType::Utf8View
        } else {
            ArrowType::BinaryView
        };
        // The number of values in a batch of lists is not known before, and views do not repeat the entries of a
        // dictionary.
        let is_view = is_bytes
            && leaf.is_repeated()
            && (wanted.is_string() || wanted.is_binary() || wanted.is_null());
        let read_as = if is_view { &views } else { wanted };
        Ok(LeafReader {
            reader: self.pages.reader(leaf, read_as, batch_rows, rows)?,
            cast_to: (is_view && !wanted.is_null() && views != *wanted).then(|| wanted.clone()),
        })
    }
}

/// Decodes pages that are fed.
pub(super) struct LeafReader {
    reader: ParquetRecordBatchReader,
    /// The type of values that are read as views.
    cast_to: Option<ArrowType>,
}

impl LeafReader {
    /// Decodes the next rows. Returns `None` at the end of the pages. Text that the column does not declare is
    /// returned as bytes.
    pub(super) fn next(&mut self, cx: &ReadContext<'_>) -> Result<Option<ArrayRef>> {
        let batch = guarded(|| match self.reader.next() {
            Some(Err(error)) => Err(ParquetError::ArrowError(error.to_string())),
            Some(Ok(batch)) => Ok(Some(batch)),
            None => Ok(None),
        })?;
        let array = batch.and_then(|batch| batch.columns().first().cloned());
        let leaf = array.map(leaf_of).transpose()?;
        let (Some(views), Some(wanted)) = (&leaf, &self.cast_to) else {
            return Ok(leaf);
        };
        cx.check_batch_bytes(bytes_of_views(views), 1)?;
        Ok(Some(cast(views, wanted)?))
    }
}

/// Returns the bytes of all values of an array of views.
fn bytes_of_views(array: &ArrayRef) -> u64 {
    let views = match array.as_string_view_opt() {
        Some(texts) => texts.views(),
        None => match array.as_binary_view_opt() {
            Some(bytes) => bytes.views(),
            None => return 0,
        },
    };
    let lengths = views
        .iter()
        .map(|view| u64::from(ByteView::from(*view).length));
    lengths.sum()
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
