//! Inspection of one field of a stripe, with its buffers and blocks.

use super::blocks::{BlockElements, BufferRole, block_groups};
use super::parquet_chunks::append_chunks;
use super::statistics::{contradictions, folded};
use super::value_types::ValueTypes;
use super::{
    BlockInfo, BlocksInfo, BufferInfo, CompressorInfo, EncodingCount, FieldInfo, InspectOptions,
    ParquetChunkInfo, RangeIndexInfo, problem,
};
use crate::buffer::{
    BlobTable, BlockMap, BlockRange, OpaqueDictionary, PackedGroup, Physical, StoredIndex,
    StoredRange, member_block, packed_member,
};
use crate::encoding::presence::PresenceKind;
use crate::encoding::{EncodingTree, bytes, envelope, number, presence};
use crate::error::{Error, Result, Within, to_usize};
use crate::format::{
    BasicType, BufferKind, DataEncoding, DataRef, DataType, EncodedBuffer, INDEX_BLOCK,
    NativeDataEncoding,
};
use crate::io::ByteRange;
use crate::read::open_shard::Shard;
use crate::read::report::nodes::NodeInfo;
use crate::read::shard::metadata::FieldKey;
use crate::read::shard::waiting::give_way;

/// Inspects a column of a stripe with all its descendants.
///
/// # Errors
/// Returns the error of a reader, which says nothing about the shard.
pub(super) async fn inspect(
    shard: &Shard,
    stripe: u64,
    column: &DataType,
    types: &ValueTypes,
    options: &InspectOptions,
) -> Result<FieldInfo> {
    let inspector = Inspector {
        shard,
        stripe,
        types,
        options,
    };
    let info = inspector.field(column, column.name.clone()).await;
    give_way().await;
    info
}

struct Inspector<'a> {
    shard: &'a Shard,
    stripe: u64,
    types: &'a ValueTypes,
    options: &'a InspectOptions,
}

/// Returns the name of the child `ordinal` in paths.
pub(in crate::read) fn child_name(parent: &DataType, ordinal: usize, child: &DataType) -> String {
    match (parent.basic_type, ordinal) {
        _ if !child.name.is_empty() => child.name.clone(),
        (BasicType::List | BasicType::FixedSizeList, _) => "item".to_owned(),
        (BasicType::Map, 0) => "key".to_owned(),
        (BasicType::Map, _) => "value".to_owned(),
        _ => ordinal.to_string(),
    }
}

impl Inspector<'_> {
    async fn field(&self, node: &DataType, path: String) -> Result<FieldInfo> {
        let mut children = Vec::with_capacity(node.children.len());
        for (ordinal, child) in node.children.iter().enumerate() {
            let below = format!("{path}.{}", child_name(node, ordinal, child));
            children.push(Box::pin(self.field(child, below)).await?);
        }
        let mut info = FieldInfo {
            path,
            schema_id: node.schema_id,
            stored_type: node.stored_type(),
            label: NodeInfo::new(node).label_text(),
            internal_kind: None,
            positions: None,
            null_count: None,
            constant: None,
            dictionary_size: None,
            range: None,
            constant_value: None,
            min_value: None,
            max_value: None,
            type_specific: None,
            cardinality: None,
            bloom_filter: None,
            contradictions: Vec::new(),
            raw_data_size: None,
            encoded_bytes: 0,
            buffers: Vec::new(),
            parquet_chunks: Vec::new(),
            children,
            problem: None,
        };
        if let Err(error) = self.describe(node, &mut info).await {
            info.problem = Some(problem(error)?);
        }
        // The bytes of packed members count for their struct.
        let own = info
            .buffers
            .iter()
            .filter(|b| b.packed_group_index.is_none());
        let chunks = info
            .parquet_chunks
            .iter()
            .map(ParquetChunkInfo::encoded_bytes);
        let sizes = own.map(|buffer| buffer.range.len()).chain(chunks);
        info.encoded_bytes = sizes.fold(0, u64::saturating_add);
        Ok(info)
    }

    async fn describe(&self, node: &DataType, info: &mut FieldInfo) -> Result<()> {
        let key = (self.stripe, node.schema_id);
        let metadata = &self.shard.metadata;
        let found = metadata.run(|step| metadata.field(step, key)).await?;
        let Some((artifact, descriptor)) = found.described() else {
            return Ok(());
        };
        let field = descriptor.field.clone();
        info.contradictions = contradictions(&field);
        info.contradictions.extend(folded(&field));
        info.positions = Some(field.position_count);
        info.null_count = field.null_count;
        // Values that their type cannot hold are shown in their stored form.
        let values = self.types.of_field(self.shard, node.schema_id, &field);
        (info.constant_value, info.min_value, info.max_value) = values.await.unwrap_or_default();
        info.constant = field.constant_value;
        info.dictionary_size = field.dictionary_size;
        info.range = field.range_stats;
        info.type_specific = field.type_specific;
        info.cardinality = field.cardinality;
        info.bloom_filter = field.bloom_filter;
        info.raw_data_size = field.raw_data_size;
        let node = metadata.stored_types.node(key, node);
        let physical = Physical::of(node)?;
        let blobs = BlobTable::from_properties(&field.custom_properties)?;
        for (ordinal, encoding) in descriptor.encodings.iter().enumerate() {
            match encoding {
                DataEncoding::Native(native) => {
                    for buffer in &native.buffers {
                        let part = part_of(native, buffer);
                        let elements = BlockElements::of(node, physical, part);
                        let mut described = match packed_member(buffer) {
                            Some(member) => {
                                self.member(key, ordinal, buffer, member, elements).await?
                            }
                            None => self.buffer(artifact, ordinal, buffer, elements).await?,
                        };
                        if let Some(info) = &mut described {
                            match info.kind {
                                BufferKind::RangeIndex => self.range_index(node, info).await?,
                                BufferKind::Data if ordinal == 0 => {
                                    info.blobs = blobs.as_ref().map_or(0, BlobTable::count);
                                }
                                _ => {}
                            }
                        }
                        info.buffers.extend(described);
                    }
                }
                DataEncoding::Parquet(files) => append_chunks(
                    &metadata.artifacts,
                    artifact,
                    ordinal,
                    files,
                    &field.custom_properties,
                    &mut info.parquet_chunks,
                )?,
                DataEncoding::Unknown => {
                    let what = format!("encoding {ordinal} is not one of this format's own");
                    return Err(Error::unsupported(what));
                }
            }
        }
        let mut resolve = |url: &str| metadata.artifacts.resolve(url, artifact);
        if let Some(index) = StoredIndex::find(&field.indexes, &mut resolve)? {
            let reference = DataRef::this(index.place.range);
            let buffer = EncodedBuffer::new(BufferKind::RangeIndex, reference);
            let mut described = self.info(0, &buffer, index.place);
            self.range_index(node, &mut described).await?;
            info.buffers.push(described);
        }
        Ok(())
    }

    /// Describes the blocks of a member within a packed group; `None` if the struct has no group.
    async fn member(
        &self,
        key: FieldKey,
        encoding: usize,
        buffer: &EncodedBuffer,
        member: u32,
        elements: Option<BlockElements>,
    ) -> Result<Option<BufferInfo>> {
        let metadata = &self.shard.metadata;
        let parent = metadata
            .run(|step| metadata.parent_field(step, key))
            .await?;
        let Some((artifact, descriptor)) = parent.as_ref().and_then(|p| p.described()) else {
            return Ok(None);
        };
        let group = PackedGroup::try_new(descriptor, &mut |url| {
            metadata.artifacts.resolve(url, artifact)
        })?;
        let Some((place, Some(map_range), checksums)) = group.map(|group| group.parts()) else {
            return Ok(None);
        };
        let mut info = self.info(encoding, buffer, place);
        info.packed_group_index = Some(member);
        let mut blocks = BlocksInfo {
            checksums,
            map_bytes: map_range.len(),
            ..BlocksInfo::default()
        };
        let elements = elements.map(|elements| (elements, Some(member)));
        let described = self.blocks(place, map_range, elements, &mut blocks).await;
        info.problem = described.err().map(problem).transpose()?;
        info.blocks = Some(blocks);
        Ok(Some(info))
    }

    /// Describes a buffer, still without its blocks.
    fn info(&self, encoding: usize, buffer: &EncodedBuffer, place: StoredRange) -> BufferInfo {
        BufferInfo {
            encoding,
            kind: buffer.kind,
            file: self.shard.metadata.artifacts.name_of(place.artifact),
            range: place.range,
            packed_group_index: None,
            embedded_presence: buffer.embedded_presence,
            embedded_offsets: buffer.embedded_offsets,
            delimited: false,
            blobs: 0,
            blocks: None,
            compressor: None,
            range_index: None,
            problem: None,
        }
    }

    /// Describes a buffer; `None` if it has no bytes.
    async fn buffer(
        &self,
        artifact: u32,
        encoding: usize,
        buffer: &EncodedBuffer,
        elements: Option<BlockElements>,
    ) -> Result<Option<BufferInfo>> {
        let Some(reference) = &buffer.buffer else {
            return Ok(None);
        };
        let artifacts = &self.shard.metadata.artifacts;
        let place = StoredRange {
            artifact: artifacts.resolve(&reference.url, artifact)?,
            range: reference.range,
        };
        let mut info = self.info(encoding, buffer, place);
        if buffer.kind == BufferKind::OpaqueDictionary {
            let described = self.compressor(place, buffer.buffer_id, &mut info).await;
            info.problem = described.err().map(problem).transpose()?;
        }
        if let Some(map) = &buffer.block_map {
            let mut blocks = BlocksInfo {
                checksums: buffer.block_checksums,
                map_bytes: map.range.len(),
                ..BlocksInfo::default()
            };
            info.delimited = elements == Some(BlockElements::Delimited);
            let elements = elements.map(|elements| (elements, None));
            let described = self.blocks(place, map.range, elements, &mut blocks).await;
            info.problem = described.err().map(problem).transpose()?;
            info.blocks = Some(blocks);
        }
        Ok(Some(info))
    }

    async fn compressor(
        &self,
        place: StoredRange,
        id: Option<u32>,
        info: &mut BufferInfo,
    ) -> Result<()> {
        let limits = self.shard.metadata.artifacts.limits();
        limits.check_message_bytes(place.range.len())?;
        let bytes = self.shard.bytes_at(place).await?;
        let found = OpaqueDictionary::parse(&bytes, true)?;
        info.compressor = Some(CompressorInfo {
            id: id.unwrap_or(0),
            kind: found.kind,
            bytes: found.payload.len() as u64,
        });
        Ok(())
    }

    async fn range_index(&self, node: &DataType, info: &mut BufferInfo) -> Result<()> {
        let (metadata, key) = (&self.shard.metadata, (self.stripe, node.schema_id));
        let header = metadata.run(|step| metadata.range_index_header(step, key, node));
        match header.await {
            Ok(header) => {
                info.range_index = header.map(|header| RangeIndexInfo {
                    entries: header.blocks(),
                    block_positions: INDEX_BLOCK,
                });
            }
            Err(error) => info.problem = Some(problem(error)?),
        }
        Ok(())
    }

    async fn blocks(
        &self,
        place: StoredRange,
        map_range: ByteRange,
        elements: Option<(BlockElements, Option<u32>)>,
        info: &mut BlocksInfo,
    ) -> Result<()> {
        if !place.range.contains(map_range) {
            return Err(Error::corrupt(format!(
                "the block map {map_range} lies outside of its buffer {}",
                place.range
            )));
        }
        let map_place = StoredRange {
            artifact: place.artifact,
            range: map_range,
        };
        let map_bytes = self.shard.bytes_at(map_place).await?;
        let map = BlockMap::parse(&map_bytes, map_range.start() - place.range.start())?;
        info.count = map.len() as u64;
        info.values = map.value_count();
        let blocks = || (0..map.len()).filter_map(|ordinal| map.block(ordinal));
        let lengths = || blocks().map(|block| block.values.end - block.values.start);
        info.min_values = lengths().min().unwrap_or(0);
        info.max_values = lengths().max().unwrap_or(0);
        let Some((elements, member)) = elements.filter(|_| self.options.encodings) else {
            return Ok(());
        };
        for (group, blocks) in block_groups(&map) {
            let group_place = StoredRange {
                artifact: place.artifact,
                range: place.range.slice(group.start, group.end)?,
            };
            let bytes = self.shard.bytes_at(group_place).await?;
            for block in blocks {
                let from = to_usize(block.bytes.start - group.start)?;
                let to = to_usize(block.bytes.end - group.start)?;
                let content = block_content(&bytes[from..to], info.checksums, member);
                let len = content.as_ref().ok().map(|content| content.len() as u64);
                let described =
                    content.and_then(|content| describe_block(content, &block, elements));
                let described = described.within(|| format!("block {}", block.ordinal))?;
                self.add(info, &block, len.filter(|_| member.is_some()), described);
            }
            give_way().await;
        }
        info.encodings
            .sort_by_key(|count| (std::cmp::Reverse(count.blocks), count.code));
        Ok(())
    }

    fn add(
        &self,
        info: &mut BlocksInfo,
        block: &BlockRange,
        member: Option<u64>,
        (presence_bytes, presence, tree): (u64, PresenceKind, EncodingTree),
    ) {
        let bytes = match member {
            Some(bytes) => bytes,
            None => block.bytes.end - block.bytes.start,
        };
        match info
            .encodings
            .iter_mut()
            .find(|count| count.code == tree.code)
        {
            Some(count) => {
                count.blocks += 1;
                count.bytes += bytes;
            }
            None => info.encodings.push(EncodingCount {
                code: tree.code,
                blocks: 1,
                bytes,
            }),
        }
        if self.options.blocks {
            info.trees.push(BlockInfo {
                values: block.values.clone(),
                bytes,
                presence_bytes,
                presence,
                encoding: tree,
            });
        }
    }
}

/// Returns the properties that determine the elements of a buffer.
fn part_of(native: &NativeDataEncoding, buffer: &EncodedBuffer) -> BufferRole {
    BufferRole {
        kind: buffer.kind,
        dictionary: native.has_dictionary(),
        embedded_offsets: buffer.embedded_offsets,
        separate_offsets: (native.buffers.iter()).any(|b| b.kind == BufferKind::Offsets),
    }
}

/// Returns a block without its checksum; for a super-block, the block of the member.
fn block_content(bytes: &[u8], checksums: bool, member: Option<u32>) -> Result<&[u8]> {
    let content = if checksums {
        envelope::strip_checksum(bytes, false)?
    } else {
        bytes
    };
    match member {
        Some(index) => Ok(&content[member_block(content, index)?]),
        None => Ok(content),
    }
}

/// Returns size and kind of the presence section of a block, and its encodings.
fn describe_block(
    content: &[u8],
    block: &BlockRange,
    elements: BlockElements,
) -> Result<(u64, PresenceKind, EncodingTree)> {
    let envelope = envelope::open(content)?;
    let n = to_usize(block.values.end - block.values.start)?;
    let tree = match elements {
        BlockElements::Numbers(kind, width) => number::describe(envelope.values, kind, n, width)?,
        BlockElements::Bytes(fixed) => bytes::describe(envelope.values, n, fixed)?,
        BlockElements::Delimited => bytes::describe_delimited(envelope.values, n)?,
    };
    let kind = presence::kind(envelope.presence, n)?;
    Ok((envelope.presence.len() as u64, kind, tree))
}
