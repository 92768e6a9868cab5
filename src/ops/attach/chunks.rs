//! Descriptors of stripe fields with values in column chunks of a Parquet file.

use super::bloom_filters::BloomFilters;
use super::bounds::LeafStatistics;
use super::chunk_places::ChunkPlaces;
use super::columns::{ColumnSource, FileColumn, FileLeaf};
use super::levels::ListsAround;
use super::native_columns::NativeColumns;
use super::page_index::index_of_pages;
use super::parquet_file::ParquetFile;
use super::scanned::{ScannedLeaf, ScannedStripe};
use crate::error::{Error, Result};
use crate::external::parquet::{
    Codec, DescribedChunk, PageMap, ParquetDescription, physical_code, walk_pages,
};
use crate::format::{
    BasicType, DataEncoding, DataRef, DataType, FieldDescriptor, IndexDescriptor,
    NativeDataEncoding, ParquetColumnChunkRef, ParquetFileColumnRef, StripeFieldDescriptor,
    checksum,
};
use crate::io::ByteRange;
use crate::ops::constant::repeated;
use crate::write::{PositionedSink, StoredIndex};
use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;
use std::collections::HashMap;
use std::ops::Range;

impl FileColumn<'_> {
    /// Returns the descriptors of the column's nodes for a stripe of some row groups. Writes page maps to `out`.
    /// `native` has the structs and lists of the columns that have levels; the URL of its file is added to `urls`.
    pub(super) async fn descriptors(
        &self,
        stripe: &AttachedStripe<'_>,
        out: &mut PositionedSink<'_>,
        urls: &mut Vec<String>,
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let mut nodes = Vec::new();
        self.node.walk(&mut |node| nodes.push(node));
        let (leaves, has_levels) = match &self.source {
            ColumnSource::Leaves {
                leaves, has_levels, ..
            } => (leaves, *has_levels),
            ColumnSource::Constant(of_one) => {
                let rows = stripe.file.rows_of(stripe.groups)?;
                let field = of_one.map(|of_one| StripeFieldDescriptor {
                    field: repeated(of_one, rows),
                    encodings: Vec::new(),
                });
                // Members and items of a nested column, which is null, are not stored.
                let others = nodes.iter().skip(1).map(|_| None);
                return Ok(std::iter::once(field).chain(others).collect());
            }
            ColumnSource::Nowhere => return Ok(nodes.into_iter().map(|_| None).collect()),
            ColumnSource::StripeFile(_) => {
                return stripe
                    .native()?
                    .descriptors(stripe.ordinal, self, urls)
                    .await;
            }
        };
        let rows = stripe.file.rows_of(stripe.groups)?;
        let mut fields = if has_levels {
            stripe
                .native()?
                .descriptors(stripe.ordinal, self, urls)
                .await?
        } else {
            let is_leaf = |node: &&DataType| node.basic_type != BasicType::Struct;
            let inner = |node| (!is_leaf(&node)).then(|| never_null(rows));
            nodes.iter().copied().map(inner).collect()
        };
        let leaf_nodes = nodes.iter().zip(&mut fields);
        let mut leaf_nodes = leaf_nodes.filter(|(node, _)| node.children.is_empty());
        for leaf in leaves {
            let Some((node, field)) = leaf_nodes.next() else {
                return Err(Error::corrupt("a column with more leaves than nodes"));
            };
            *field = stripe.leaf_field(node, leaf, out).await?;
        }
        Ok(fields)
    }
}

/// Returns the descriptor of a struct that is never null.
fn never_null(rows: u64) -> StripeFieldDescriptor {
    StripeFieldDescriptor {
        field: FieldDescriptor {
            position_count: rows,
            null_count: Some(0),
            ..FieldDescriptor::default()
        },
        encodings: vec![DataEncoding::Native(NativeDataEncoding::default())],
    }
}

/// A stripe of some row groups of a file.
pub(super) struct AttachedStripe<'a> {
    pub(super) file: &'a ParquetFile,
    /// Ordinal of the stripe in the file.
    pub(super) ordinal: u64,
    pub(super) groups: &'a Range<usize>,
    pub(super) native: Option<&'a NativeColumns>,
    /// The statistics of each leaf, by number of the column.
    pub(super) statistics: &'a HashMap<usize, LeafStatistics>,
    pub(super) filters: BloomFilters,
    pub(super) scanned: ScannedStripe,
}

impl AttachedStripe<'_> {
    fn native(&self) -> Result<&NativeColumns> {
        self.native
            .ok_or_else(|| Error::corrupt("a column was not written"))
    }

    async fn leaf_field(
        &self,
        node: &DataType,
        leaf: &FileLeaf,
        out: &mut PositionedSink<'_>,
    ) -> Result<Option<StripeFieldDescriptor>> {
        if node.basic_type == BasicType::Unit {
            return Ok(None);
        }
        let file = self.file;
        let statistics = self.statistics.get(&leaf.column);
        let statistics = statistics.ok_or_else(|| Error::corrupt("a leaf without statistics"))?;
        let mut description = ParquetDescription {
            message: leaf.message.clone(),
            files: vec![file.identity],
            chunks: Vec::new(),
            checksums: Vec::new(),
        };
        let (mut references, mut positions, mut null_count) = (Vec::new(), 0u64, Some(0u64));
        let mut with_values = Vec::new();
        for group in self.groups.clone() {
            let rows = file.rows_of(&(group..group + 1))?;
            if rows == 0 {
                continue;
            }
            let metadata = file.metadata().row_groups().get(group);
            let column = metadata.and_then(|metadata| metadata.columns().get(leaf.column));
            let chunk = ChunkOfGroup {
                file,
                leaf,
                group,
                rows,
                chunk: column.ok_or_else(|| Error::corrupt("a row group lacks a column"))?,
                lists: self.native.and_then(|native| native.lists(group, leaf)),
            };
            let nulls = statistics.nulls(group);
            let Some((reference, described, checksums)) = chunk.describe(nulls, out).await? else {
                continue;
            };
            description.checksums.extend(checksums);
            positions = positions.saturating_add(described.num_values);
            null_count = null_count.zip(described.null_count).map(|(a, b)| a + b);
            if described.null_count != Some(described.num_values) {
                with_values.push(group);
            }
            references.push(reference);
            description.chunks.push(described);
        }
        let file_ref = DataRef {
            url: file.url.clone(),
            range: ByteRange::try_new(0, file.size)?,
        };
        let scanned = self.scanned.leaf(leaf);
        let counted = scanned.and_then(ScannedLeaf::distinct_values);
        let most_distinct = counted.map_or(positions, |counted| counted.min(positions));
        let mut field = FieldDescriptor {
            position_count: positions,
            null_count,
            range_stats: statistics.range(node, &with_values)?,
            cardinality: statistics.cardinality(&with_values, positions, null_count),
            bloom_filter: self.filters.united(leaf, &with_values, most_distinct),
            indexes: self.indexes(node, leaf, statistics, out)?,
            custom_properties: vec![description.to_property()],
            ..FieldDescriptor::default()
        };
        if let Some(scanned) = scanned {
            scanned.add_to(&mut field)?;
        }
        Ok(Some(StripeFieldDescriptor {
            field,
            encodings: vec![DataEncoding::Parquet(vec![ParquetFileColumnRef {
                file_ref: Some(file_ref),
                column_chunks: references,
            }])],
        }))
    }

    /// Writes the range index of a leaf, if it gets one. Returns its description.
    fn indexes(
        &self,
        node: &DataType,
        leaf: &FileLeaf,
        statistics: &LeafStatistics,
        out: &mut PositionedSink<'_>,
    ) -> Result<Vec<IndexDescriptor>> {
        let scanned = self.scanned.leaf(leaf);
        let index = match scanned.and_then(|scanned| scanned.index.clone()) {
            Some(index) => Some(index),
            None => {
                let of_pages = index_of_pages(self.file, node, leaf, statistics, self.groups)?;
                of_pages.map(Bytes::from)
            }
        };
        let Some(index) = index else {
            return Ok(Vec::new());
        };
        let reference = DataRef::this(out.append(&index)?);
        Ok(vec![StoredIndex::describe(&index, reference)?])
    }
}

/// The chunk of a leaf in a row group.
struct ChunkOfGroup<'a> {
    file: &'a ParquetFile,
    leaf: &'a FileLeaf,
    group: usize,
    rows: u64,
    chunk: &'a ColumnChunkMetaData,
    /// The lists around the leaf, if there are any.
    lists: Option<&'a ListsAround>,
}

impl ChunkOfGroup<'_> {
    /// Returns the number of values before a row.
    fn values_before(&self, row: u64) -> Result<u64> {
        self.lists.map_or(Ok(row), |lists| lists.values_before(row))
    }

    /// Returns the reference to the chunk, its description, and the checksums of its pages if they are wanted; `None`
    /// if the chunk has no values. `nulls` counts the levels without a value.
    async fn describe(
        &self,
        nulls: Option<u64>,
        out: &mut PositionedSink<'_>,
    ) -> Result<Option<(ParquetColumnChunkRef, DescribedChunk, Option<Vec<u32>>)>> {
        let chunk = self.chunk;
        if chunk.file_path().is_some() {
            return Err(Error::unsupported("Parquet column chunks in other files"));
        }
        let levels = u64::try_from(chunk.num_values()).unwrap_or(u64::MAX);
        let num_values = self.values_before(self.rows)?;
        let is_repeated = self.leaf.descriptor.max_rep_level() > 0;
        if levels < num_values || (levels != self.rows && !is_repeated) {
            return Err(Error::corrupt(format!(
                "{levels} values of a column in a row group of {} rows, expected {num_values}",
                self.rows
            )));
        }
        if num_values == 0 {
            return Ok(None);
        }
        // Those that are not null are the same, with and without empty lists.
        let present = nulls.and_then(|nulls| levels.checked_sub(nulls));
        let null_count = present.and_then(|present| num_values.checked_sub(present));
        let mut places = ChunkPlaces::of(self.file, chunk)?;
        places.find_dictionary(self.file, chunk).await?;
        let mut pages = self.listed_pages(places.data)?;
        let walks = pages.is_none() && self.file.walks_pages && !is_repeated;
        let data = if walks || self.file.has_checksums {
            self.file.read_one(places.data).await?
        } else {
            Bytes::new()
        };
        if walks {
            pages = Some(walk_pages(&data)?);
        }
        // The only page is the whole chunk.
        let mapped = pages.as_ref().filter(|pages| pages.len() > 1);
        let checksums = if self.file.has_checksums {
            Some(self.checksums(&places, mapped, &data).await?)
        } else {
            None
        };
        let mut map_checksum = 0;
        let data_page_map = match mapped {
            Some(pages) => {
                let mut map = Vec::new();
                pages.encode(&mut map)?;
                map_checksum = checksum(&map);
                Some(DataRef::this(out.append(&map)?))
            }
            None => None,
        };
        let ordinal = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let reference = ParquetColumnChunkRef {
            storage_type: physical_code(chunk.column_type()),
            schema_element_id: self.leaf.element,
            row_group_id: ordinal(self.group),
            column_chunk_id: ordinal(self.leaf.column),
            file_url: None,
            data_pages_range: Some(places.data),
            data_page_count: pages.as_ref().map_or(0, |pages| pages.len() as u64),
            dictionary_range: places.dictionary,
            data_page_map,
        };
        let described = DescribedChunk {
            codec: Codec::of(chunk.compression())?,
            encodings: chunk.encodings_mask().as_i32().cast_unsigned(),
            num_values,
            null_count,
            uncompressed: u64::try_from(chunk.uncompressed_size()).unwrap_or(0),
            map_checksum: Some(map_checksum),
        };
        Ok(Some((reference, described, checksums)))
    }

    /// Returns the checksums of the dictionary page, if there is one, and of the data pages: of each in the map, or of
    /// all together without a map.
    async fn checksums(
        &self,
        places: &ChunkPlaces,
        pages: Option<&PageMap>,
        data: &[u8],
    ) -> Result<Vec<u32>> {
        let mut checksums = Vec::new();
        if let Some(dictionary) = places.dictionary {
            checksums.push(checksum(&self.file.read_one(dictionary).await?));
        }
        let Some(pages) = pages else {
            checksums.push(checksum(data));
            return Ok(checksums);
        };
        for page in (0..pages.len()).filter_map(|ordinal| pages.block(ordinal)) {
            let range = ByteRange::try_new(page.bytes.start, page.bytes.end)?.to_usize()?;
            let bytes = data.get(range);
            let outside = || Error::corrupt("a Parquet page ends after its column chunk");
            checksums.push(checksum(bytes.ok_or_else(outside)?));
        }
        Ok(checksums)
    }

    /// Returns the pages of the chunk according to the index of the file, if it has one and it is plausible. Pages of
    /// rows without values are read together with the next page.
    fn listed_pages(&self, data: ByteRange) -> Result<Option<PageMap>> {
        let index = self.file.metadata().offset_index();
        let index = index.and_then(|index| index.get(self.group)?.get(self.leaf.column));
        let Some(index) = index else {
            return Ok(None);
        };
        let mut pages = PageMap::default();
        let (mut at, mut from, mut row) = (data.start(), data.start(), 0);
        let locations = index.page_locations();
        for (i, location) in locations.iter().enumerate() {
            let next = match locations.get(i + 1) {
                Some(next) => u64::try_from(next.first_row_index).unwrap_or(0),
                None => self.rows,
            };
            let is_next = u64::try_from(location.offset) == Ok(at)
                && u64::try_from(location.first_row_index) == Ok(row);
            let len = u64::try_from(location.compressed_page_size).unwrap_or(0);
            if !is_next || len == 0 || next < row || next > self.rows {
                return Ok(None);
            }
            (at, row) = (at + len, next);
            let values = self.values_before(row)? - pages.value_count();
            let sizes = (u32::try_from(values), u32::try_from(at - from));
            let (Ok(values), Ok(bytes)) = sizes else {
                return Ok(None);
            };
            if values > 0 {
                pages.push(values, bytes);
                from = at;
            }
        }
        let is_complete = row == self.rows && at == data.end();
        Ok(Some(pages).filter(|_| is_complete))
    }
}
