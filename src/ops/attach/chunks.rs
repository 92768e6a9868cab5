//! Descriptors of stripe fields whose values are in column chunks of a Parquet file.

use super::bounds::LeafStatistics;
use super::columns::{ColumnSource, FileColumn, FileLeaf};
use super::parquet_file::ParquetFile;
use crate::error::{Error, Result};
use crate::external::parquet::{
    Codec, DescribedChunk, PageHeader, PageKind, PageMap, ParquetDescription, physical_code,
    walk_pages,
};
use crate::format::{
    BasicType, DataEncoding, DataRef, DataType, FieldDescriptor, NativeDataEncoding,
    ParquetColumnChunkRef, ParquetFileColumnRef, StripeFieldDescriptor, checksum,
};
use crate::io::ByteRange;
use crate::write::PositionedSink;
use parquet::basic::Encoding;
use parquet::file::metadata::ColumnChunkMetaData;
use std::ops::Range;

/// Bytes in which the header of a page is looked for: headers have up to a few hundred bytes.
const HEADER_BYTES: u64 = 4096;

impl FileColumn<'_> {
    /// Returns the descriptors of the column's nodes for a stripe of some row groups. Writes page maps to `out`.
    pub(super) async fn descriptors(
        &self,
        file: &ParquetFile,
        groups: &Range<usize>,
        out: &mut PositionedSink<'_>,
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let mut nodes = Vec::new();
        self.node.walk(&mut |node| nodes.push(node));
        let ColumnSource::Chunks(leaves) = &self.source else {
            return Ok(nodes.into_iter().map(|_| None).collect());
        };
        let rows = file.rows_of(groups)?;
        let mut leaves = leaves.iter();
        let mut fields = Vec::with_capacity(nodes.len());
        for node in nodes {
            fields.push(match node.basic_type {
                BasicType::Struct => Some(never_null(rows)),
                _ => match leaves.next() {
                    Some(leaf) => leaf_field(file, node, leaf, groups, rows, out).await?,
                    None => return Err(Error::corrupt("a column without a leaf")),
                },
            });
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

async fn leaf_field(
    file: &ParquetFile,
    node: &DataType,
    leaf: &FileLeaf,
    groups: &Range<usize>,
    rows: u64,
    out: &mut PositionedSink<'_>,
) -> Result<Option<StripeFieldDescriptor>> {
    let statistics = LeafStatistics::load(file, leaf);
    let mut description = ParquetDescription {
        message: leaf.message.clone(),
        files: vec![file.identity],
        chunks: Vec::new(),
    };
    let mut chunks = Vec::new();
    for group in groups.clone() {
        let metadata = file.metadata().row_groups().get(group);
        let Some(metadata) = metadata.filter(|metadata| metadata.num_rows() > 0) else {
            continue;
        };
        let chunk = metadata.columns().get(leaf.column);
        let chunk = chunk.ok_or_else(|| Error::corrupt("a row group lacks a column"))?;
        let nulls = statistics.nulls(&(group..group + 1));
        let expected = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let (reference, described) =
            chunk_of(file, leaf, group, chunk, expected, nulls, out).await?;
        chunks.push(reference);
        description.chunks.push(described);
    }
    let null_count = statistics.nulls(groups);
    let all_null = |group: usize| {
        let rows = file.rows_of(&(group..group + 1)).ok();
        rows.is_some() && statistics.nulls(&(group..group + 1)) == rows
    };
    let range_stats = match node.basic_type {
        BasicType::Unit => return Ok(None),
        _ => statistics.range(node, groups, all_null)?,
    };
    Ok(Some(StripeFieldDescriptor {
        field: FieldDescriptor {
            position_count: rows,
            null_count: null_count.filter(|nulls| *nulls <= rows),
            range_stats,
            custom_properties: vec![description.to_property()],
            ..FieldDescriptor::default()
        },
        encodings: vec![DataEncoding::Parquet(vec![ParquetFileColumnRef {
            file_ref: Some(DataRef {
                url: file.url.to_string(),
                range: ByteRange::try_new(0, file.size)?,
            }),
            column_chunks: chunks,
        }])],
    }))
}

async fn chunk_of(
    file: &ParquetFile,
    leaf: &FileLeaf,
    group: usize,
    chunk: &ColumnChunkMetaData,
    rows: u64,
    null_count: Option<u64>,
    out: &mut PositionedSink<'_>,
) -> Result<(ParquetColumnChunkRef, DescribedChunk)> {
    if chunk.file_path().is_some() {
        return Err(Error::unsupported("Parquet column chunks in other files"));
    }
    if u64::try_from(chunk.num_values()) != Ok(rows) {
        return Err(Error::corrupt(format!(
            "{} values of a column in a row group of {rows} rows",
            chunk.num_values()
        )));
    }
    let mut places = ChunkPlaces::of(file, chunk)?;
    places.find_dictionary(file, chunk).await?;
    let mut pages = places.pages(file, group, leaf.column, rows);
    if pages.is_none() && file.walks_pages {
        let walked = walk_pages(&file.read_one(places.data).await?)?;
        pages = Some(walked);
    }
    let mut map_checksum = 0;
    let data_page_map = match &pages {
        // The only page is the whole chunk.
        Some(pages) if pages.len() > 1 => {
            let mut map = Vec::new();
            pages.encode(&mut map)?;
            map_checksum = checksum(&map);
            Some(DataRef::this(out.append(&map)?))
        }
        _ => None,
    };
    let ordinal = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let reference = ParquetColumnChunkRef {
        storage_type: physical_code(chunk.column_type()),
        schema_element_id: leaf.element,
        row_group_id: ordinal(group),
        column_chunk_id: ordinal(leaf.column),
        file_url: None,
        data_pages_range: Some(places.data),
        data_page_count: pages.as_ref().map_or(0, |pages| pages.len() as u64),
        dictionary_range: places.dictionary,
        data_page_map,
    };
    let described = DescribedChunk {
        codec: Codec::of(chunk.compression())?,
        encodings: chunk.encodings_mask().as_i32().cast_unsigned(),
        num_values: rows,
        null_count,
        uncompressed: u64::try_from(chunk.uncompressed_size()).unwrap_or(0),
        map_checksum,
    };
    Ok((reference, described))
}

/// Where the pages of a chunk are.
struct ChunkPlaces {
    dictionary: Option<ByteRange>,
    data: ByteRange,
}

impl ChunkPlaces {
    fn of(file: &ParquetFile, chunk: &ColumnChunkMetaData) -> Result<Self> {
        let offset = |at: i64| {
            let at = u64::try_from(at);
            at.map_err(|_| Error::corrupt("a column chunk before the start of the file"))
        };
        let data = offset(chunk.data_page_offset())?;
        let dictionary = chunk.dictionary_page_offset().map(offset).transpose()?;
        // Some writers store 0 if there is no dictionary.
        let dictionary = dictionary.filter(|&at| at > 0 && at < data);
        let start = dictionary.unwrap_or(data);
        let end = start.checked_add(offset(chunk.compressed_size())?);
        let end = end.filter(|&end| end >= data && end <= file.size);
        let end = end.ok_or_else(|| Error::corrupt("a column chunk after the end of the file"))?;
        Ok(Self {
            dictionary: dictionary
                .map(|at| ByteRange::try_new(at, data))
                .transpose()?,
            data: ByteRange::try_new(data, end)?,
        })
    }

    /// Looks for a dictionary page at the start of the data pages, where old writers begin without saying so.
    async fn find_dictionary(
        &mut self,
        file: &ParquetFile,
        chunk: &ColumnChunkMetaData,
    ) -> Result<()> {
        let is_encoded = |encoding| {
            encoding == Encoding::RLE_DICTIONARY || encoding == Encoding::PLAIN_DICTIONARY
        };
        if self.dictionary.is_some() || !chunk.encodings().any(is_encoded) {
            return Ok(());
        }
        let start = self.data.start();
        let end = start.saturating_add(HEADER_BYTES).min(self.data.end());
        let bytes = file.read_one(ByteRange::try_new(start, end)?).await?;
        let header = PageHeader::parse(&bytes)?;
        if header.kind == PageKind::Dictionary {
            let len = header.page_len() as u64;
            self.dictionary = Some(self.data.slice(0, len)?);
            self.data = self.data.slice(len, self.data.len())?;
        }
        Ok(())
    }

    /// Returns the pages of the chunk according to the index of the file, if it has one and it is plausible.
    fn pages(&self, file: &ParquetFile, group: usize, column: usize, rows: u64) -> Option<PageMap> {
        let index = file.metadata().offset_index()?;
        let locations = index.get(group)?.get(column)?.page_locations();
        let mut pages = PageMap::default();
        let mut at = self.data.start();
        for (i, location) in locations.iter().enumerate() {
            let first = u64::try_from(location.first_row_index).ok()?;
            let next = match locations.get(i + 1) {
                Some(next) => u64::try_from(next.first_row_index).ok()?,
                None => rows,
            };
            let values = u32::try_from(next.checked_sub(first)?).ok()?;
            let bytes = u32::try_from(location.compressed_page_size).ok()?;
            let is_next = u64::try_from(location.offset) == Ok(at) && first == pages.value_count();
            if !is_next || values == 0 || bytes == 0 {
                return None;
            }
            pages.push(values, bytes);
            at += u64::from(bytes);
        }
        (pages.value_count() == rows && at == self.data.end()).then_some(pages)
    }
}
