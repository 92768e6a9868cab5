//! Bloom filters of Parquet files. They have the layout of this format, with another hash function.

use super::columns::{FileColumn, FileLeaf};
use super::parquet_file::ParquetFile;
use crate::error::{Result, to_usize};
use crate::external::parquet::BloomFilterHeader;
use crate::format::{BasicType, DataType, SplitBlockBloomFilter};
use crate::io::ByteRange;
use crate::write::united_filter;
use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ColumnChunkMetaData;
use std::collections::HashMap;
use std::ops::Range;

/// Bytes in which the header of a filter is looked for: 15 bytes in files of known writers.
const HEADER_BYTES: u64 = 64;
/// Most bytes of the blocks of a filter, as writers of Parquet limit them.
const MAX_BLOCKS_BYTES: u64 = 128 << 20;

/// The blocks of the filters of some row groups, by row group and column of the file.
#[derive(Debug, Default)]
pub(super) struct BloomFilters(HashMap<(usize, usize), Bytes>);

impl BloomFilters {
    /// Reads the filters of row groups. Damaged ones are left out.
    pub(super) async fn load(
        file: &ParquetFile,
        columns: &[FileColumn<'_>],
        groups: &Range<usize>,
    ) -> Result<Self> {
        let leaves = columns.iter().flat_map(FileColumn::leaves);
        let leaves: Vec<usize> = leaves
            .filter(|(node, leaf)| has_same_bytes(node, leaf))
            .map(|(_, leaf)| leaf.column)
            .collect();
        let mut stored = Vec::new();
        for (group, metadata) in groups.clone().zip(file.groups(groups)) {
            for &leaf in &leaves {
                let chunk = metadata.columns().get(leaf);
                let place = chunk.and_then(|chunk| place(chunk, file.size));
                stored.extend(place.map(|place| ((group, leaf), place)));
            }
        }
        if stored.is_empty() {
            return Ok(Self::default());
        }
        let places: Vec<ByteRange> = stored.iter().map(|(_, place)| *place).collect();
        if !are_apart(&places, file.size) {
            return Ok(Self::default());
        }
        let mut found = HashMap::with_capacity(stored.len());
        let mut rest = Vec::new();
        for ((key, place), bytes) in stored.into_iter().zip(file.read(places).await?) {
            let Some(header) = BloomFilterHeader::parse(&bytes) else {
                continue;
            };
            let start = place.start().saturating_add(header.len as u64);
            let blocks = ByteRange::with_len(start, header.blocks as u64);
            let blocks = blocks.and_then(|blocks| blocks.within_size(file.size));
            let Some(blocks) = blocks.ok().filter(|b| b.len() <= MAX_BLOCKS_BYTES) else {
                continue;
            };
            if place.contains(blocks) {
                let from = header.len;
                found.insert(key, bytes.slice(from..from + to_usize(blocks.len())?));
            } else {
                rest.push((key, blocks));
            }
        }
        if rest.is_empty() {
            return Ok(Self(found));
        }
        // Old writers do not tell how long filters are.
        let places: Vec<ByteRange> = rest.iter().map(|(_, place)| *place).collect();
        if !are_apart(&places, file.size) {
            return Ok(Self(found));
        }
        let read = file.read(places).await?;
        found.extend(rest.into_iter().map(|(key, _)| key).zip(read));
        Ok(Self(found))
    }

    /// Returns the filter of a leaf over row groups, if all of them have one. They have `most_values` distinct values
    /// at most.
    pub(super) fn united(
        &self,
        leaf: &FileLeaf,
        groups: &[usize],
        most_values: u64,
    ) -> Option<SplitBlockBloomFilter> {
        let of_group = |group: &usize| self.0.get(&(*group, leaf.column)).map(Bytes::as_ref);
        let filters: Option<Vec<&[u8]>> = groups.iter().map(of_group).collect();
        united_filter(&filters?, most_values)
    }
}

/// Whether places may be parts of one file without an overlap. Many chunks of a damaged file may claim the same filter.
fn are_apart(places: &[ByteRange], size: u64) -> bool {
    let lens = places.iter().map(|place| place.len());
    lens.fold(0, u64::saturating_add) <= size
}

/// Returns the place of the filter of a chunk; of its start, if its length is not known.
fn place(chunk: &ColumnChunkMetaData, size: u64) -> Option<ByteRange> {
    let start = u64::try_from(chunk.bloom_filter_offset()?).ok()?;
    let len = match chunk.bloom_filter_length() {
        Some(len) => u64::try_from(len).ok()?,
        None => HEADER_BYTES.min(size.checked_sub(start)?),
    };
    let place = ByteRange::with_len(start, len)
        .ok()?
        .within_size(size)
        .ok()?;
    (len <= MAX_BLOCKS_BYTES + HEADER_BYTES).then_some(place)
}

/// Whether Parquet hashes the same bytes of each value of a leaf as this format.
fn has_same_bytes(node: &DataType, leaf: &FileLeaf) -> bool {
    use BasicType as T;
    use PhysicalType as P;
    match (node.basic_type, leaf.descriptor.physical_type()) {
        // Integers of 1 and 2 bytes, and some decimals, have more bytes in Parquet.
        (T::Int32, P::INT32) | (T::Int64, P::INT64) => true,
        (T::Float32, P::FLOAT) | (T::Float64, P::DOUBLE) => true,
        (T::String | T::Binary, P::BYTE_ARRAY) => true,
        (T::Guid, P::FIXED_LEN_BYTE_ARRAY) => true,
        // Decimals and intervals have another form.
        (T::FixedSizeBinary, P::FIXED_LEN_BYTE_ARRAY) => node.label().is_empty(),
        _ => false,
    }
}
