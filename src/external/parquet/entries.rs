//! The entries of dictionaries, and the positions that refer to some of them.

use super::chunk_feed::ChunkFeed;
use super::column::{DataPage, ParquetChunk, ParquetColumn, split_page};
use super::page::PageOpener;
use super::page_header::{PageHeader, PageKind};
use super::runs::{are_chosen, are_highest};
use crate::buffer::{ReadContext, Selection};
use crate::error::{Error, Result, Within, to_usize};
use crate::kernels::deposit;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use std::ops::Range;

impl ParquetColumn {
    /// Returns the positions of the chunk that holds a position, and the number of entries of its dictionary, or 0.
    pub(super) fn dictionary(
        &self,
        position: u64,
        cx: &ReadContext<'_>,
    ) -> Result<(Range<u64>, u64)> {
        let (_, chunk) = self.chunk_at(position)?;
        let positions = chunk.positions.clone();
        // Pages of list items have any number of them.
        if chunk.is_repeated || chunk.dictionary_place().is_none() {
            return Ok((positions, 0));
        }
        self.verify_file(chunk, cx.source)?;
        let count = match chunk.dictionary(cx)? {
            Some(page) => PageHeader::parse(&page)?.values,
            None => 0,
        };
        Ok((positions, count))
    }

    /// Returns the entries of the dictionary of the chunk that holds a position.
    pub(super) fn entries(
        &self,
        position: u64,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<ArrayRef> {
        let (ordinal, chunk) = self.chunk_at(position)?;
        let read = || {
            let (_, count) = self.dictionary(position, cx)?;
            cx.check_batch_bytes(count, 1)?;
            let feed = ChunkFeed::of_entries(self, chunk, wanted, cx)?;
            let entries = feed.reader(self, wanted, count, None)?.next(cx)?;
            let entries = entries.filter(|entries| entries.len() as u64 == count);
            let missing = || Error::corrupt(format!("expected {count} entries"));
            let entries = entries.ok_or_else(missing)?;
            self.to_text(entries, wanted, &Selection::range(0..count))
        };
        read().within(|| format!("dictionary of column chunk {ordinal}"))
    }

    /// Returns the positions of the page that holds a position, and the bits of those that refer to `chosen` entries,
    /// if its values are codes.
    pub(super) fn positions_of_entries(
        &self,
        position: u64,
        chosen: &BooleanBuffer,
        nulls: bool,
        cx: &ReadContext<'_>,
    ) -> Result<(Range<u64>, Option<BooleanBuffer>)> {
        let (ordinal, chunk) = self.chunk_at(position)?;
        self.verify_file(chunk, cx.source)?;
        let page = chunk.page_at(chunk.pages(cx)?, position)?;
        let bits = self.bits_of_page(chunk, &page, chosen, nulls, cx);
        let bits = bits.within(|| format!("column chunk {ordinal}"))?;
        Ok((page.positions, bits))
    }

    fn bits_of_page(
        &self,
        chunk: &ParquetChunk,
        page: &DataPage,
        chosen: &BooleanBuffer,
        nulls: bool,
        cx: &ReadContext<'_>,
    ) -> Result<Option<BooleanBuffer>> {
        let count = page.positions.end - page.positions.start;
        // The reader of values returns the errors of other pages.
        let found = coded_page(chunk.data(page, cx)?, cx)?;
        let Some((header, bytes)) = found.filter(|(header, _)| header.values == count) else {
            return Ok(None);
        };
        let column = self.leaf.column();
        let highest = u32::try_from(column.max_def_level()).unwrap_or(0);
        let (len, matches) = (to_usize(count)?, chosen.count_set_bits());
        if matches == 0 && (highest == 0 || !nulls) {
            return Ok(Some(BooleanBuffer::new_unset(len)));
        }
        if matches == chosen.len() && (highest == 0 || nulls) {
            return Ok(Some(BooleanBuffer::new_set(len)));
        }
        let mut opener = PageOpener::new(column, chunk.codec, chunk.encodings).with_dictionary();
        let opened = opener.open(&header, &bytes, cx.limits)?;
        let (levels, values) = opened.levels_and_values();
        let damaged =
            || Error::corrupt("the codes of a Parquet page are not entries of its dictionary");
        let codes = |count: u64| {
            let (width, codes) = values.split_first()?;
            are_chosen(codes, u32::from(*width), count, chosen)
        };
        if highest == 0 {
            return codes(count).ok_or_else(damaged).map(Some);
        }
        let present = are_highest(levels, highest, count).ok_or_else(damaged)?;
        let bits = codes(present.count_set_bits() as u64).ok_or_else(damaged)?;
        let bits = deposit(&present, &bits);
        Ok(Some(if nulls { &bits | &!&present } else { bits }))
    }
}

/// Returns the only page with values, if its values are codes.
fn coded_page(mut bytes: Bytes, cx: &ReadContext<'_>) -> Result<Option<(PageHeader, Bytes)>> {
    let mut found = None;
    while !bytes.is_empty() {
        let (header, page) = split_page(&mut bytes, cx.limits)?;
        if header.values > 0 && found.replace((header, page)).is_some() {
            return Ok(None);
        }
    }
    Ok(found.filter(|(header, _)| {
        let is_data = matches!(header.kind, PageKind::Data | PageKind::DataV2);
        is_data && header.has_codes()
    }))
}
