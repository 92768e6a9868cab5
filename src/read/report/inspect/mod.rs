//! The structure of a shard: sizes, encodings and ratios, stripe by stripe and field by field.

mod blocks;
mod field;
mod parquet_chunks;
mod statistics;
#[cfg(test)]
mod tests;
mod value_types;

pub(in crate::read) use blocks::{BlockElements, BufferRole, block_groups};
pub(in crate::read) use field::child_name;
pub(in crate::read) use statistics::contradictions;

use super::concurrent_parts::{PREFETCH, read_field_lists, try_in_order};
use crate::buffer::StoredRange;
use crate::column::TypeMapping;
use crate::encoding::presence::PresenceKind;
use crate::encoding::{DictionaryKind, EncodingCode, EncodingTree};
use crate::error::{Error, Result};
use crate::format::{
    AnyValue, BufferKind, CardinalityInfo, NameValuePair, RangeStats, SplitBlockBloomFilter,
    TypeStats, Wire,
};
use crate::io::ByteRange;
use crate::progress::{Listener, Progress, with_progress};
use crate::read::open_shard::Shard;
use crate::read::shard::waiting::ready_now_or;
use crate::read::stripe::Stripe;
use crate::settings::settings;
use arrow_array::ArrayRef;
use std::ops::Range;
use value_types::ValueTypes;

/// Options of [`Shard::inspect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectOptions {
    encodings: bool,
    blocks: bool,
    prefetch: usize,
    listener: Listener,
}

impl Default for InspectOptions {
    fn default() -> Self {
        Self {
            encodings: true,
            blocks: false,
            prefetch: PREFETCH,
            listener: Listener::default(),
        }
    }
}

settings! {
    InspectOptions {
        /// Whether to read blocks for their encodings, which reads all data. On by default.
        encodings, with_encodings: bool;
        /// Whether to list every block with its tree of encodings; requires [`with_encodings`](Self::with_encodings).
        /// Off by default.
        blocks, with_blocks: bool;
        /// Number of columns that asynchronous inspection fetches concurrently, at least 1; 8 by default. More columns
        /// need more memory and send more requests at a time; the result does not depend on it.
        prefetch, with_prefetch: usize;
    }
}

with_progress! {
    InspectOptions,
    /// Calls `progress` for every column of every stripe, with its name in [`field`](crate::Progress::field). If it
    /// breaks, the inspection stops with the error [`Stopped`](crate::ErrorKind::Stopped).
}

/// The structure of a shard.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ShardInfo {
    /// The files of the shard, the directory file first.
    pub files: Vec<FileInfo>,
    /// Number of rows without the deleted ones.
    pub num_rows: u64,
    /// Number of deleted rows.
    pub num_deleted_rows: u64,
    /// The dialect of the metadata.
    pub wire: Wire,
    /// The mapping of Arrow types to types of the shard, if a column reveals it.
    pub mapping: Option<TypeMapping>,
    /// Earliest creation time, in 100 ns ticks since 0001-01-01.
    pub creation_min: Option<u64>,
    /// Latest creation time, in 100 ns ticks since 0001-01-01.
    pub creation_max: Option<u64>,
    /// Size of the values before encoding, in bytes.
    pub raw_data_size: Option<u64>,
    /// Size of all encoded buffers and Parquet column chunks in bytes.
    pub encoded_bytes: u64,
    /// The properties of the format, then the properties of the user.
    pub properties: Vec<NameValuePair>,
    /// The stripes.
    pub stripes: Vec<StripeInfo>,
    /// The error that kept a part of the shard from being inspected.
    pub problem: Option<String>,
}

/// A file of a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileInfo {
    /// Its path, or its name in the folder of the shard.
    pub name: String,
    /// Its size; `None` if it cannot be opened.
    pub bytes: Option<u64>,
}

/// The structure of a stripe.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StripeInfo {
    /// Ordinal of the stripe.
    pub ordinal: u64,
    /// Numbers of its rows in the shard, including deleted rows.
    pub row_range: Range<u64>,
    /// Number of deleted rows.
    pub num_deleted_rows: u64,
    /// Size of the values before encoding, in bytes.
    pub raw_data_size: Option<u64>,
    /// Size of all encoded buffers and Parquet column chunks in bytes.
    pub encoded_bytes: u64,
    /// The properties of the format, then the properties of the user.
    pub properties: Vec<NameValuePair>,
    /// The top-level fields, internal ones included.
    pub fields: Vec<FieldInfo>,
    /// The error that kept a part of the stripe from being inspected.
    pub problem: Option<String>,
}

/// The structure of a field in a stripe.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldInfo {
    /// Names from the column down, joined by `.`. Items of lists and keys and values of maps are called `item`, `key`
    /// and `value` if the shard has no names for them.
    pub path: String,
    /// Its id in the schema.
    pub schema_id: u32,
    /// The stored type, such as `Int64`, `Uint8` or `FixedSizeBinary(16)`.
    pub stored_type: String,
    /// The meaning of the values in addition to the stored type, with its properties; empty if the schema does not
    /// state it.
    pub label: String,
    /// Role of an internal field.
    pub internal_kind: Option<String>,
    /// Number of logical positions; `None` if the stripe does not have the field, so that all values are null.
    pub positions: Option<u64>,
    /// Number of positions that are null.
    pub null_count: Option<u64>,
    /// The value of every position, if they are all equal.
    pub constant: Option<AnyValue>,
    /// Number of entries of the dictionary.
    pub dictionary_size: Option<u64>,
    /// Least and greatest value.
    pub range: Option<RangeStats>,
    /// The value of `constant` as an Arrow array of length 1, for example a date where `constant` is the stored
    /// integer. `None` also for nulls and types without bounds.
    pub constant_value: Option<ArrayRef>,
    /// The least value of `range` as an Arrow array of length 1.
    pub min_value: Option<ArrayRef>,
    /// The greatest value of `range` as an Arrow array of length 1.
    pub max_value: Option<ArrayRef>,
    /// Statistics of the field's type.
    pub type_specific: Option<TypeStats>,
    /// Number of distinct values.
    pub cardinality: Option<CardinalityInfo>,
    /// Bloom filter of the values.
    pub bloom_filter: Option<SplitBlockBloomFilter>,
    /// Statistics that contradict each other.
    pub contradictions: Vec<String>,
    /// Size of the field's own values before encoding, in bytes.
    pub raw_data_size: Option<u64>,
    /// Size of the field's own buffers, and of the pages of its Parquet column chunks, in bytes. 0 for a member of a
    /// packed group, whose bytes count for the struct.
    pub encoded_bytes: u64,
    /// The encoded buffers, of all encodings of the field.
    pub buffers: Vec<BufferInfo>,
    /// The column chunks of Parquet files that hold the values, in the order of their positions.
    pub parquet_chunks: Vec<ParquetChunkInfo>,
    /// The child fields.
    pub children: Vec<FieldInfo>,
    /// The error that kept a part of the field from being inspected.
    pub problem: Option<String>,
}

/// The structure of an encoded buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferInfo {
    /// Ordinal of the field's encoding that the buffer belongs to; 0 for a range index, which belongs to none.
    pub encoding: usize,
    /// The role of the buffer.
    pub kind: BufferKind,
    /// Name of the file that contains the buffer.
    pub file: String,
    /// Byte range of the buffer in that file, including the block map.
    pub range: ByteRange,
    /// Ordinal of this member in the packed group of its struct; `range` then covers all members.
    pub packed_group_index: Option<u32>,
    /// Whether blocks carry the presence of their values.
    pub embedded_presence: bool,
    /// Whether blocks carry the offsets of their values.
    pub embedded_offsets: bool,
    /// Whether each value in a block is preceded by its length.
    pub delimited: bool,
    /// Number of blocks that are blobs, see [`ColumnOptions::with_blobs`](crate::write::ColumnOptions::with_blobs).
    pub blobs: u64,
    /// The blocks of the buffer; `None` for a buffer without blocks: a range index, a compressor dictionary, or plain
    /// values.
    pub blocks: Option<BlocksInfo>,
    /// Details of the compressor dictionary, if the buffer is one.
    pub compressor: Option<CompressorInfo>,
    /// Details of the range index, if the buffer is one.
    pub range_index: Option<RangeIndexInfo>,
    /// The error that kept a part of the buffer from being inspected.
    pub problem: Option<String>,
}

/// A column chunk of a Parquet file that holds values of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParquetChunkInfo {
    /// Ordinal of the field's encoding that the chunk belongs to.
    pub encoding: usize,
    /// Name of the Parquet file: relative to the folder of the shard, or as
    /// [`ExternalFiles`](crate::io::ExternalFiles) names a file outside of it.
    pub file: String,
    /// Ordinal of its row group in the file.
    pub row_group: u32,
    /// Ordinal of its leaf column in the row group.
    pub column: u32,
    /// Parquet's name of its physical type, such as `INT64` or `BYTE_ARRAY`.
    pub physical_type: String,
    /// Byte range of the data pages in the file.
    pub data_pages: Option<ByteRange>,
    /// Byte range of the dictionary page in the file, if there is one.
    pub dictionary_page: Option<ByteRange>,
    /// Number of data pages, if the shard states it.
    pub num_pages: Option<u64>,
    /// Whether the shard lists the data pages, so that readers of a few rows fetch only their pages. Chunks of one page
    /// need no list.
    pub has_page_map: bool,
    /// Parquet's name of the codec that compresses the pages. This and the fields below are empty if only the footer of
    /// the Parquet file describes the chunk, and in builds without the feature `parquet`.
    pub codec: Option<String>,
    /// Parquet's names of the encodings of the pages, the encodings of levels included.
    pub page_encodings: Vec<String>,
    /// Number of values, nulls included.
    pub num_values: Option<u64>,
    /// Number of nulls. `None` also if the Parquet file does not state it.
    pub null_count: Option<u64>,
    /// Size of the pages before compression, in bytes.
    pub uncompressed_bytes: Option<u64>,
}

/// The blocks of a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BlocksInfo {
    /// Number of blocks.
    pub count: u64,
    /// Number of values in all blocks.
    pub values: u64,
    /// Number of values in the smallest block.
    pub min_values: u64,
    /// Number of values in the largest block.
    pub max_values: u64,
    /// Whether every block ends with a checksum.
    pub checksums: bool,
    /// Size of the block map in bytes.
    pub map_bytes: u64,
    /// The outermost encodings of the blocks, the most frequent first.
    pub encodings: Vec<EncodingCount>,
    /// All blocks, if [`InspectOptions::blocks`] is set.
    pub trees: Vec<BlockInfo>,
}

/// A compressor dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompressorInfo {
    /// The number by which blocks refer to it.
    pub id: u32,
    /// Its purpose.
    pub kind: DictionaryKind,
    /// Size of the dictionary itself in bytes.
    pub bytes: u64,
}

/// The entries of a range index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeIndexInfo {
    /// Number of entries.
    pub entries: u64,
    /// Number of positions per entry; the last entry may cover fewer.
    pub block_positions: u64,
}

/// Number and size of the blocks with one encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodingCount {
    /// The outermost encoding of the blocks.
    pub code: EncodingCode,
    /// Number of blocks.
    pub blocks: u64,
    /// Size of these blocks in bytes.
    pub bytes: u64,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockInfo {
    /// Positions of its values in the buffer.
    pub values: Range<u64>,
    /// Its size in bytes, including the checksum.
    pub bytes: u64,
    /// Size of the presence section in bytes.
    pub presence_bytes: u64,
    /// Encoding of the presence.
    pub presence: PresenceKind,
    /// Its encodings.
    pub encoding: EncodingTree,
}

impl ParquetChunkInfo {
    /// Returns the size of its pages in the file, in bytes.
    pub fn encoded_bytes(&self) -> u64 {
        let parts = [self.dictionary_page, self.data_pages];
        let sizes = parts.into_iter().flatten().map(|range| range.len());
        sizes.fold(0, u64::saturating_add)
    }
}

impl FieldInfo {
    /// Returns the size of the buffers and Parquet column chunks of the field and all its descendants, in bytes.
    pub fn total_encoded_bytes(&self) -> u64 {
        let below = self.children.iter().map(Self::total_encoded_bytes);
        below.fold(self.encoded_bytes, u64::saturating_add)
    }

    /// Returns the size of the values of the field and all its descendants, in bytes, as far as it is known.
    pub fn total_raw_data_size(&self) -> Option<u64> {
        let below = self.children.iter().filter_map(Self::total_raw_data_size);
        below.chain(self.raw_data_size).reduce(u64::saturating_add)
    }
}

impl Shard {
    /// Reports the structure of the shard. To find the encodings, it reads all native data, unless
    /// [`InspectOptions::with_encodings`] turns that off. If a part is damaged, its `problem` has the error, and the
    /// other parts are reported.
    ///
    /// # Errors
    /// Fails if the schema or the list of stripes is damaged or not supported, and with
    /// [`Stopped`](crate::ErrorKind::Stopped) if the progress callback breaks. Also returns the error of a reader that
    /// fails, which says nothing about the shard.
    pub fn inspect(&self, options: InspectOptions) -> Result<ShardInfo> {
        let inspected = async {
            self.metadata.artifacts.check_may_wait()?;
            self.inspect_async(options).await
        };
        ready_now_or("`inspect_async`", inspected)
    }

    /// Reports the structure of a shard behind an asynchronous reader, as [`inspect`](Self::inspect) does for others.
    ///
    /// Fetches [`prefetch`](InspectOptions::prefetch) columns concurrently, with a few megabytes of each in memory.
    /// Each poll of the future inspects about 4 MiB of blocks per column.
    ///
    /// # Errors
    /// Returns the same errors as [`inspect`](Self::inspect).
    pub async fn inspect_async(&self, options: InspectOptions) -> Result<ShardInfo> {
        let schema = self.stored_schema().await?;
        let directory = &self.metadata.directory;
        let mut info = ShardInfo {
            files: Vec::new(),
            num_rows: self.num_rows(),
            num_deleted_rows: self.num_deleted_rows(),
            wire: self.wire(),
            mapping: TypeMapping::of(&schema),
            creation_min: None,
            creation_max: None,
            raw_data_size: directory.raw_data_size,
            encoded_bytes: 0,
            properties: Vec::new(),
            stripes: Vec::new(),
            problem: None,
        };
        match self.properties_async().await {
            Ok(properties) => {
                info.creation_min = properties.creation_min;
                info.creation_max = properties.creation_max;
                let standard = properties.standard_properties.iter();
                let all = standard.chain(&properties.custom_properties);
                info.properties = all.cloned().collect();
            }
            Err(error) => info.problem = Some(problem(error)?),
        }
        let stripes = self.stripes_async().await?;
        read_field_lists(self, schema.fields.len()).await;
        let described = stripes.iter().map(StripeInfo::of);
        let types = ValueTypes::of(self).await?;
        let prefetch = options.prefetch;
        try_in_order(described, prefetch, |stripe| {
            info.stripes.push(stripe);
            Ok(())
        })
        .await?;
        let columns: Vec<_> = (0..stripes.len())
            .flat_map(|i| schema.fields.iter().map(move |field| (i, field)))
            .collect();
        let (mut done, total) = (0, columns.len() as u64);
        let columns = columns.into_iter().map(async |(i, field)| {
            let (stripe, node) = (i as u64, &field.data_type);
            let mut info = field::inspect(self, stripe, node, &types, &options).await?;
            info.internal_kind.clone_from(&field.internal_kind);
            Ok((i, info))
        });
        try_in_order(columns, prefetch, |(i, field)| {
            let bytes = field.total_encoded_bytes();
            info.encoded_bytes = info.encoded_bytes.saturating_add(bytes);
            done += 1;
            let path = Some(field.path.as_str());
            options.listener.check(Progress {
                done,
                total,
                field: path,
            })?;
            if let Some(stripe) = info.stripes.get_mut(i) {
                stripe.encoded_bytes = stripe.encoded_bytes.saturating_add(bytes);
                stripe.fields.push(field);
            }
            Ok(())
        })
        .await?;
        let artifacts = &self.metadata.artifacts;
        let files = (0..artifacts.count()).map(async |artifact| {
            let bytes = match artifacts.size_of(artifact).await {
                Ok(bytes) => Some(bytes),
                Err(error) => {
                    problem(error)?;
                    None
                }
            };
            let name = artifacts.name_of(artifact);
            Ok(FileInfo { name, bytes })
        });
        try_in_order(files, prefetch, |file| {
            info.files.push(file);
            Ok(())
        })
        .await?;
        Ok(info)
    }

    /// Reads the bytes of a place.
    pub(in crate::read) async fn bytes_at(&self, place: StoredRange) -> Result<bytes::Bytes> {
        let bytes = self.metadata.run(|step| step.get(place));
        bytes.await
    }
}

impl StripeInfo {
    /// Describes a stripe without its fields.
    async fn of(stripe: &Stripe) -> Result<Self> {
        let mut properties = Vec::new();
        let mut damage = None;
        match stripe.properties_async().await {
            Ok(found) => {
                properties = found.standard_properties;
                properties.extend(found.custom_properties);
            }
            Err(error) => damage = Some(problem(error)?),
        }
        Ok(Self {
            ordinal: stripe.ordinal(),
            row_range: stripe.row_range(),
            num_deleted_rows: stripe.num_deleted_rows(),
            raw_data_size: stripe.raw_data_size(),
            encoded_bytes: 0,
            properties,
            fields: Vec::new(),
            problem: damage,
        })
    }
}

/// Returns the text of a problem of the shard.
///
/// # Errors
/// Returns the error of a reader, which says nothing about the shard.
fn problem(error: Error) -> Result<String> {
    if error.is_of_reader() {
        Err(error)
    } else {
        Ok(format!("{error:#}"))
    }
}
