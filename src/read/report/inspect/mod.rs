//! What a shard consists of: sizes, encodings and ratios, stripe by stripe and field by field.

mod blocks;
mod field;
mod statistics;
#[cfg(test)]
mod tests;
mod value_types;

pub(in crate::read) use blocks::{BufferRole, Elements, block_groups};
pub(in crate::read) use field::child_name;
pub(in crate::read) use statistics::contradictions;

use super::ahead::{PREFETCH, read_field_lists, try_in_order};
use crate::buffer::Place;
use crate::column::TypeMapping;
use crate::encoding::presence::PresenceKind;
use crate::encoding::{DictionaryKind, EncodingCode, EncodingTree};
use crate::error::{Error, Result};
use crate::format::{
    AnyValue, BufferKind, CardinalityInfo, NameValuePair, RangeStats, SplitBlockBloomFilter,
    TypeStats, Wire,
};
use crate::io::ByteRange;
use crate::read::open_shard::Shard;
use crate::read::shard::waiting::now_or;
use crate::read::stripe::Stripe;
use crate::settings::settings;
use arrow_array::ArrayRef;
use std::ops::Range;
use value_types::ValueTypes;

/// What [`Shard::inspect`] looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectOptions {
    encodings: bool,
    blocks: bool,
    prefetch: usize,
}

impl Default for InspectOptions {
    fn default() -> Self {
        Self {
            encodings: true,
            blocks: false,
            prefetch: PREFETCH,
        }
    }
}

settings! {
    InspectOptions {
        /// Whether to look into blocks for their encodings, which reads all data. On by default.
        encodings, with_encodings: bool;
        /// Whether to list every block with its tree of encodings, which needs
        /// [`with_encodings`](Self::with_encodings). Off by default.
        blocks, with_blocks: bool;
        /// Columns that asynchronous inspection fetches at the same time, at least 1; 8 by default.
        /// Memory and requests grow with it, and the answer does not depend on it.
        #[cfg(feature = "async")]
        prefetch, with_prefetch: usize;
    }
}

/// What a shard consists of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ShardInfo {
    /// The files that hold it, the directory file first.
    pub files: Vec<FileInfo>,
    /// Number of rows, those that are deleted left out.
    pub rows: u64,
    /// Number of rows that are deleted.
    pub deleted_rows: u64,
    /// How the metadata are written.
    pub wire: Wire,
    /// How Arrow types became types of the shard, if a column tells.
    pub mapping: Option<TypeMapping>,
    /// Earliest creation time, in 100 ns ticks since 0001-01-01.
    pub creation_min: Option<u64>,
    /// Latest creation time, in 100 ns ticks since 0001-01-01.
    pub creation_max: Option<u64>,
    /// Bytes of the values before encoding.
    pub raw_data_size: Option<u64>,
    /// Bytes of all encoded buffers.
    pub encoded_bytes: u64,
    /// The properties of the format, then the properties of the user.
    pub properties: Vec<NameValuePair>,
    /// The stripes.
    pub stripes: Vec<StripeInfo>,
    /// What kept a part of the shard from being looked at.
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

/// What a stripe consists of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StripeInfo {
    /// Ordinal of the stripe.
    pub ordinal: u64,
    /// Numbers of its rows in the shard, those of deleted ones included.
    pub rows: Range<u64>,
    /// Number of rows that are deleted.
    pub deleted_rows: u64,
    /// Bytes of the values before encoding.
    pub raw_data_size: Option<u64>,
    /// Bytes of all encoded buffers.
    pub encoded_bytes: u64,
    /// The properties of the format, then the properties of the user.
    pub properties: Vec<NameValuePair>,
    /// The top-level fields, internal ones included.
    pub fields: Vec<FieldInfo>,
    /// What kept a part of the stripe from being looked at.
    pub problem: Option<String>,
}

/// What a field of a stripe consists of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldInfo {
    /// Names from the column down, joined by `.`; items of lists, keys and values of maps are
    /// named `item`, `key` and `value` where the shard has no names for them.
    pub path: String,
    /// Its id in the schema.
    pub schema_id: u32,
    /// The type that is stored, such as `Int64`, `Uint8` or `FixedSizeBinary(16)`.
    pub stored_type: String,
    /// What the values mean beyond that, with its properties; empty if the schema says nothing.
    pub label: String,
    /// Role of an internal field.
    pub internal_kind: Option<String>,
    /// Logical positions; `None` if the stripe does not have the field, so that all are null.
    pub positions: Option<u64>,
    /// Positions that are null.
    pub null_count: Option<u64>,
    /// The value of every position, if they all hold the same.
    pub constant: Option<AnyValue>,
    /// Entries of the dictionary.
    pub dictionary_size: Option<u64>,
    /// Least and greatest value.
    pub range: Option<RangeStats>,
    /// The value of `constant` as an Arrow array of one value: a date of a column of dates, where
    /// `constant` is the stored integer. `None` also for nulls and types without bounds.
    pub constant_value: Option<ArrayRef>,
    /// The least value of `range` as an Arrow array of one value.
    pub min_value: Option<ArrayRef>,
    /// The greatest value of `range` as an Arrow array of one value.
    pub max_value: Option<ArrayRef>,
    /// Statistics of the field's type.
    pub type_specific: Option<TypeStats>,
    /// Number of distinct values.
    pub cardinality: Option<CardinalityInfo>,
    /// Membership filter.
    pub membership_filter: Option<SplitBlockBloomFilter>,
    /// What the statistics say that cannot all be true.
    pub contradictions: Vec<String>,
    /// Bytes of the field's own values before encoding.
    pub raw_data_size: Option<u64>,
    /// Bytes of the field's own buffers.
    pub encoded_bytes: u64,
    /// The encoded buffers, of all encodings of the field.
    pub buffers: Vec<BufferInfo>,
    /// The fields below.
    pub children: Vec<FieldInfo>,
    /// What kept a part of the field from being looked at.
    pub problem: Option<String>,
}

/// What an encoded buffer consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferInfo {
    /// Ordinal of the encoding that it belongs to.
    pub encoding: usize,
    /// Its role.
    pub kind: BufferKind,
    /// Name of the file that holds it.
    pub file: String,
    /// Its bytes in that file, the block map included.
    pub range: ByteRange,
    /// Which member of its struct's packed group it is: the bytes are then those of all members.
    pub packed_group_index: Option<u32>,
    /// Whether blocks carry the presence of their values.
    pub embedded_presence: bool,
    /// Whether blocks carry the offsets of their values.
    pub embedded_offsets: bool,
    /// Whether blocks hold each value behind its length.
    pub delimited: bool,
    /// How many of its blocks are blobs, see [`ColumnOptions::with_blobs`](crate::write::ColumnOptions::with_blobs).
    pub blobs: u64,
    /// Its blocks; `None` if it is not made of blocks.
    pub blocks: Option<BlocksInfo>,
    /// What it is for, if it is a compressor dictionary.
    pub compressor: Option<CompressorInfo>,
    /// Its entries, if it is a range index.
    pub range_index: Option<RangeIndexInfo>,
    /// What kept a part of the buffer from being looked at.
    pub problem: Option<String>,
}

/// The blocks of a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BlocksInfo {
    /// Number of blocks.
    pub count: u64,
    /// Values in all blocks.
    pub values: u64,
    /// Values of the smallest block.
    pub min_values: u64,
    /// Values of the largest block.
    pub max_values: u64,
    /// Whether every block ends with a checksum.
    pub checksums: bool,
    /// Bytes of the block map.
    pub map_bytes: u64,
    /// The outermost encodings, the most frequent first.
    pub encodings: Vec<EncodingCount>,
    /// Every block, if [`InspectOptions::blocks`] asks for them.
    pub trees: Vec<BlockInfo>,
}

/// A compressor dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompressorInfo {
    /// The number by which blocks refer to it.
    pub id: u32,
    /// What it is for.
    pub kind: DictionaryKind,
    /// Bytes of the dictionary itself.
    pub bytes: u64,
}

/// The entries of a range index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeIndexInfo {
    /// Number of entries.
    pub entries: u64,
    /// Positions that an entry is about; the last may have fewer.
    pub block_positions: u64,
}

/// How often an encoding occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodingCount {
    /// The outermost encoding of the blocks.
    pub code: EncodingCode,
    /// Number of blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockInfo {
    /// Positions of its values in the buffer.
    pub values: Range<u64>,
    /// Its bytes, checksum included.
    pub bytes: u64,
    /// Bytes of the presence section.
    pub presence_bytes: u64,
    /// How presence is stored.
    pub presence: PresenceKind,
    /// Its encodings.
    pub encoding: EncodingTree,
}

impl FieldInfo {
    /// Bytes of the buffers of the field and of everything below it.
    pub fn total_encoded_bytes(&self) -> u64 {
        let below = self.children.iter().map(Self::total_encoded_bytes);
        below.fold(self.encoded_bytes, u64::saturating_add)
    }

    /// Bytes of the values of the field and of everything below it, as far as they are known.
    pub fn total_raw_data_size(&self) -> Option<u64> {
        let below = self.children.iter().filter_map(Self::total_raw_data_size);
        below.chain(self.raw_data_size).reduce(u64::saturating_add)
    }
}

impl Shard {
    /// Looks at what the shard consists of. A damaged part is described by its `problem`, and
    /// does not hide the others.
    ///
    /// # Errors
    /// If the schema or the list of stripes is damaged or not supported, or if a reader fails: that says
    /// nothing about the shard.
    pub fn inspect(&self, options: &InspectOptions) -> Result<ShardInfo> {
        let inspected = async {
            self.inner.artifacts.check_may_wait()?;
            self.inspected(options).await
        };
        now_or("`inspect_async`", inspected)
    }

    /// As [`inspect`](Self::inspect), of a shard behind an asynchronous reader. The answer is the same.
    ///
    /// Fetches [`prefetch`](InspectOptions::prefetch) columns at the same time, and holds a few megabytes
    /// of each. Whatever polls the future looks into their blocks: in a poll into about 4 MiB of each.
    ///
    /// # Errors
    /// Those of [`inspect`](Self::inspect).
    #[cfg(feature = "async")]
    pub async fn inspect_async(&self, options: &InspectOptions) -> Result<ShardInfo> {
        self.inspected(options).await
    }

    async fn inspected(&self, options: &InspectOptions) -> Result<ShardInfo> {
        let schema = self.stored_schema().await?;
        let directory = &self.inner.directory;
        let mut info = ShardInfo {
            files: Vec::new(),
            rows: self.num_rows(),
            deleted_rows: self.num_deleted_rows(),
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
        try_in_order(described, prefetch, |stripe| info.stripes.push(stripe)).await?;
        let columns: Vec<_> = (0..stripes.len())
            .flat_map(|i| schema.fields.iter().map(move |field| (i, field)))
            .collect();
        let columns = columns.into_iter().map(async |(i, field)| {
            let (stripe, node) = (i as u64, &field.data_type);
            let mut info = field::inspect(self, stripe, node, &types, options).await?;
            info.internal_kind.clone_from(&field.internal_kind);
            Ok((i, info))
        });
        try_in_order(columns, prefetch, |(i, field)| {
            let bytes = field.total_encoded_bytes();
            info.encoded_bytes = info.encoded_bytes.saturating_add(bytes);
            if let Some(stripe) = info.stripes.get_mut(i) {
                stripe.encoded_bytes = stripe.encoded_bytes.saturating_add(bytes);
                stripe.fields.push(field);
            }
        })
        .await?;
        let artifacts = &self.inner.artifacts;
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
        try_in_order(files, prefetch, |file| info.files.push(file)).await?;
        Ok(info)
    }

    /// The bytes of a place, read at once.
    pub(in crate::read) async fn bytes_at(&self, place: Place) -> Result<bytes::Bytes> {
        let bytes = self.inner.run(|bench| bench.get(place));
        bytes.await
    }
}

impl StripeInfo {
    /// What a stripe says of itself, without its fields.
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
            rows: stripe.row_range(),
            deleted_rows: stripe.num_deleted_rows(),
            raw_data_size: stripe.raw_data_size(),
            encoded_bytes: 0,
            properties,
            fields: Vec::new(),
            problem: damage,
        })
    }
}

/// The text of a problem of the shard.
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
