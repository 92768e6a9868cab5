//! The buffers of one stripe field: checksums, block maps, blocks, dictionaries, range indexes.

use super::super::inspect::{BlockElements, BufferRole, block_groups};
use super::report::At;
use super::{Checked, Verifier};
use crate::buffer::{
    BlockCache, BlockRange, Blocks, Body, ByteSource, CHUNK_BYTES, Chunks, FieldBuffers,
    FieldLayout, PackedGroup, RangeIndex, ReadContext, Selection, Storage, StoredBuffer,
    StoredIndex, StoredRange, StringCache, ValueDictionary, blob_header, is_single_value,
    read_fixed, read_numbers, read_strings,
};
use crate::encoding::bytes::BytesLayout;
use crate::encoding::{Context, Dictionaries, NumberKind};
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::format::{
    BufferKind, DataEncoding, DataType, EncodedBuffer, RangeStats, SplitBlockBloomFilter,
    StripeFieldDescriptor,
};
use crate::read::open_shard::Shard;
use crate::read::shard::dictionary_entries;
use crate::read::shard::metadata::FieldKey;
use crate::read::shard::open_field::{
    add_compressor, check_compressors, check_dictionary, is_member,
};
use crate::read::shard::waiting::give_way;
use crate::stats::BloomFilter;
use bytes::Bytes;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

impl Verifier<'_> {
    /// Checks the descriptor of a field of a stripe and its own buffers, but not its children.
    pub(super) async fn field_data(&mut self, stripe: u64, node: &DataType, at: &At) -> Checked {
        let unreadable = Checked::default();
        let key = (stripe, node.schema_id);
        let metadata = &self.shard.metadata;
        let found = metadata.run(|step| metadata.field(step, key)).await;
        let Some(found) = self.note(at.clone(), found) else {
            self.counts.miss();
            return unreadable;
        };
        let Some((artifact, descriptor)) = found.described() else {
            self.counts.lack(node.schema_id);
            return Checked::readable(0);
        };
        self.stripe_statistics(&descriptor.field, node, at);
        let is_cast = metadata.stored_types.get(key).is_some();
        let node = metadata.stored_types.node(key, node);
        let group = if is_member(descriptor) {
            self.group(key).await
        } else {
            Ok(None)
        };
        let footers = metadata.run(|step| {
            let are_read = metadata.load_footers(step, artifact, descriptor)?;
            Ok(are_read.then_some(()))
        });
        if self.note(at.clone(), footers.await).is_none() {
            return unreadable;
        }
        // Not the shard's own layout, because that remembers which checksums were verified.
        let layout = group.and_then(|group| {
            let verified = Arc::new(metadata.artifacts.verified_files().unverified());
            metadata.layout_of(node, descriptor, artifact, group.as_ref(), &verified)
        });
        let Some(layout) = self.note(at.clone(), layout) else {
            return unreadable;
        };
        let buffers = match &layout.storage {
            Storage::Buffers(buffers) => buffers,
            Storage::External(values) => {
                let checked = self.external(values, &descriptor.field, at).await;
                // Bounds of pages may be beyond the least and the greatest value.
                self.range_index(&layout, node, None, at).await;
                return checked;
            }
            Storage::Null | Storage::Constant(_) => return Checked::readable(0),
        };
        if !self.compressors(buffers, at).await {
            return unreadable;
        }
        let (mut readable, mut largest_block) = (true, 0);
        // The packed group contains the bytes of the members.
        let group = buffers.packed_group.map_or(0, |place| place.range.len());
        self.report.add_data(group);
        for buffer in buffers.streams() {
            let at = at.buffer(
                buffer.kind,
                metadata.artifacts.name_of(buffer.place.artifact),
            );
            if !buffer.is_member() {
                self.report.add_data(buffer.place.range.len());
            }
            match &buffer.body {
                Body::Raw(None) => {}
                Body::Raw(Some(chunks)) => self.raw(buffer, chunks, &at).await,
                Body::Blocks(blocks) => {
                    let part = BufferRole {
                        kind: buffer.kind,
                        dictionary: buffers.dictionary.is_some(),
                        embedded_offsets: buffers.embedded_offsets,
                        separate_offsets: buffers.offsets.is_some(),
                    };
                    let loaded = load_map(self.shard, buffer, blocks, descriptor).await;
                    readable &= self.note(at.clone(), loaded).is_some();
                    let elements = BlockElements::of(node, layout.physical, part);
                    let checked = self.blocks(&layout, buffers, buffer, blocks, elements, &at);
                    largest_block = largest_block.max(checked.await);
                }
            }
        }
        if let Some(place) = buffers.dictionary {
            let file = metadata.artifacts.name_of(place.artifact);
            let filter = descriptor.field.bloom_filter.as_ref();
            let checked = self.dictionary(place, node, &layout, filter).await;
            let at = at.buffer(BufferKind::ValueDictionary, file);
            readable &= self.note(at, checked).is_some();
        }
        // The bounds of a table have the type that its values are cast to.
        let range = descriptor.field.range_stats.as_ref().filter(|_| !is_cast);
        self.range_index(&layout, node, range, at).await;
        Checked {
            readable,
            largest_block,
            ..Checked::readable(buffers.stream_bytes())
        }
    }

    /// Returns the packed group that a field is a member of.
    async fn group(&self, key: FieldKey) -> Result<Option<PackedGroup>> {
        let metadata = &self.shard.metadata;
        let parent = metadata
            .run(|step| metadata.parent_field(step, key))
            .await?;
        match parent.as_ref().and_then(|parent| parent.described()) {
            Some((artifact, descriptor)) => PackedGroup::try_new(descriptor, &mut |url| {
                metadata.artifacts.resolve(url, artifact)
            }),
            None => Ok(None),
        }
    }

    /// Compares the checksums of a raw buffer.
    async fn raw(&mut self, buffer: &StoredBuffer, chunks: &Chunks, at: &At) {
        let len = buffer.place.range.len();
        let mut next = 0;
        while next < len {
            let range = chunks.cover(next..(next + u64::from(CHUNK_BYTES)).min(len));
            next = range.end.max(next + 1);
            let read = read_part(self.shard, buffer, range.clone()).await;
            let compared = read.and_then(|piece| chunks.verify(&range, &piece.bytes));
            self.note(at.clone(), compared);
        }
    }

    /// Loads the compressor dictionaries. Returns whether all of them are sound: blocks cannot be decoded without the
    /// dictionaries that they name.
    async fn compressors(&mut self, buffers: &FieldBuffers, at: &At) -> bool {
        let (metadata, shard) = (&self.shard.metadata, self.shard);
        let mut loaded = Dictionaries::default();
        let mut complete = true;
        for stored in &buffers.compressors {
            let file = metadata.artifacts.name_of(stored.place.artifact);
            let checked = async {
                check_compressors(buffers, metadata.artifacts.limits())?;
                let bytes = shard.bytes_at(stored.place).await?;
                add_compressor(stored, &bytes, true, &mut loaded)
            };
            let checked = checked.await;
            self.report.add_data(stored.place.range.len());
            complete &= self
                .note(at.buffer(BufferKind::OpaqueDictionary, file), checked)
                .is_some();
        }
        if complete {
            buffers.load_dictionaries(loaded);
        }
        complete
    }

    /// Checks and decodes every block of a buffer. Returns the number of values in the largest one.
    async fn blocks(
        &mut self,
        layout: &FieldLayout,
        buffers: &FieldBuffers,
        buffer: &StoredBuffer,
        blocks: &Blocks,
        elements: Option<BlockElements>,
        at: &At,
    ) -> u64 {
        let mut largest = 0;
        let Some(map) = blocks.map() else {
            return largest;
        };
        for (group, members) in block_groups(map) {
            let read = read_part(self.shard, buffer, group).await;
            let Some(piece) = self.note(at.clone(), read) else {
                continue;
            };
            for block in members {
                self.report.blocks += 1;
                largest = largest.max(block.values.end - block.values.start);
                let mut decoder = BlockDecoder {
                    layout,
                    buffers,
                    buffer,
                    cx: ReadContext {
                        source: &piece,
                        limits: self.shard.metadata.artifacts.limits(),
                        scratch: &mut self.scratch,
                        dictionaries: buffers.dictionaries().unwrap_or(Dictionaries::none()),
                        verify: true,
                        sequential: false,
                    },
                };
                let decoded = decoder.decode(&block, elements);
                self.note(at.block(block.ordinal), decoded);
            }
            give_way().await;
        }
        largest
    }

    async fn dictionary(
        &mut self,
        place: StoredRange,
        node: &DataType,
        layout: &FieldLayout,
        filter: Option<&SplitBlockBloomFilter>,
    ) -> Result<()> {
        check_dictionary(place.range, self.shard.metadata.artifacts.limits())?;
        self.report.add_data(place.range.len());
        let bytes = self.shard.bytes_at(place).await?;
        // As when reading: only a dictionary that is whole can be of another file.
        ValueDictionary::verify_sorted_ids(&bytes)?;
        let limits = self.shard.metadata.artifacts.limits();
        let mut cx = Context::new(limits, &mut self.scratch);
        let dictionary = dictionary_entries::parse(&bytes, node, layout, &mut cx)?;
        if let Some(filter) = filter {
            check_filter(filter, &dictionary)?;
        }
        dictionary_entries::entries(dictionary, layout)?;
        Ok(())
    }

    /// Checks the range index of a field, if it has one.
    async fn range_index(
        &mut self,
        layout: &FieldLayout,
        node: &DataType,
        range: Option<&RangeStats>,
        at: &At,
    ) {
        let Some(index) = layout.range_index() else {
            return;
        };
        let file = self.shard.metadata.artifacts.name_of(index.place.artifact);
        let checked = self.indexed_ranges(index, node, layout.positions, range);
        let checked = match checked.await {
            // Readers work without an unsupported index, so it is not a problem.
            Err(e) if e.kind() == ErrorKind::Unsupported => Ok(()),
            checked => checked,
        };
        self.note(at.buffer(BufferKind::RangeIndex, file), checked);
    }

    async fn indexed_ranges(
        &mut self,
        index: &StoredIndex,
        node: &DataType,
        positions: u64,
        range: Option<&RangeStats>,
    ) -> Result<()> {
        let limits = self.shard.metadata.artifacts.limits();
        let bytes = self.shard.bytes_at(index.place).await?;
        self.report.add_data(index.place.range.len());
        let mut cx = Context::new(limits, &mut self.scratch);
        let header = index.header_checksums.as_ref();
        let carried = index.carried.as_ref();
        let index = RangeIndex::parse(&bytes, node, positions, header, &mut cx)?;
        if let Some(expected) = carried {
            expected.check_all(&RangeIndex::carried_checksums(&bytes)?)?;
        }
        let bounds = range.and_then(|r| r.min_value.as_ref().zip(r.max_value.as_ref()));
        let Some((min, max)) = bounds else {
            return Ok(());
        };
        for block in index.blocks() {
            let outside = block.range.is_some_and(|(low, high)| {
                low.compare(min) == Some(Ordering::Less)
                    || high.compare(max) == Some(Ordering::Greater)
            });
            if outside {
                return Err(Error::corrupt(format!(
                    "the range of positions {}..{} exceeds that of the field",
                    block.positions.start, block.positions.end
                )));
            }
        }
        Ok(())
    }
}

/// Reads a part of a buffer.
async fn read_part(shard: &Shard, buffer: &StoredBuffer, part: Range<u64>) -> Result<PlacedBytes> {
    let place = StoredRange {
        artifact: buffer.place.artifact,
        range: buffer.place.range.slice(part.start, part.end)?,
    };
    let bytes = shard.bytes_at(place).await?;
    Ok(PlacedBytes { place, bytes })
}

/// Reads the block map of a buffer, and compares it with the descriptor.
async fn load_map(
    shard: &Shard,
    buffer: &StoredBuffer,
    blocks: &Blocks,
    descriptor: &StripeFieldDescriptor,
) -> Result<()> {
    let place = StoredRange {
        artifact: buffer.place.artifact,
        range: blocks.described_in()?,
    };
    let map = shard.bytes_at(place).await?;
    blocks.load_map(buffer.place.range, &map, true)?;
    let promised = native_buffers(descriptor)
        .find(|native| {
            native
                .buffer
                .as_ref()
                .is_some_and(|r| r.range == buffer.place.range)
        })
        .and_then(|native| native.block_count);
    let found = blocks.map().map_or(0, |map| map.len() as u64);
    match promised {
        Some(promised) if promised != found => Err(Error::corrupt(format!(
            "the block map lists {found} blocks, the descriptor promises {promised}"
        ))),
        _ => Ok(()),
    }
}

/// Checks that the Bloom filter of the field has every value of the dictionary. It may lack entries that no code refers
/// to; then the counts differ, and nothing is checked.
fn check_filter(filter: &SplitBlockBloomFilter, dictionary: &ValueDictionary) -> Result<()> {
    let Some(probe) = BloomFilter::new(filter) else {
        return Ok(());
    };
    let comparable = dictionary.values().count() as u64 == filter.num_values;
    let missing = dictionary.values().position(|v| !probe.contains_value(v));
    match missing.filter(|_| comparable) {
        Some(i) => Err(Error::corrupt(format!(
            "the Bloom filter lacks value {i} of the dictionary"
        ))),
        None => Ok(()),
    }
}

pub(super) fn native_buffers(
    descriptor: &StripeFieldDescriptor,
) -> impl Iterator<Item = &EncodedBuffer> {
    descriptor
        .encodings
        .iter()
        .flat_map(|encoding| match encoding {
            DataEncoding::Native(native) => native.buffers.as_slice(),
            DataEncoding::Parquet(_) | DataEncoding::Unknown => &[],
        })
}

/// Bytes that have been read, and their place.
struct PlacedBytes {
    place: StoredRange,
    bytes: Bytes,
}

impl ByteSource for PlacedBytes {
    fn bytes(&self, place: StoredRange) -> Result<Bytes> {
        if place.artifact != self.place.artifact || !self.place.range.contains(place.range) {
            return Err(Error::corrupt(format!(
                "bytes {} have not been read",
                place.range
            )));
        }
        let from = to_usize(place.range.start() - self.place.range.start())?;
        Ok(self.bytes.slice(from..from + to_usize(place.range.len())?))
    }

    fn resident(&self, _: StoredRange) -> Result<Option<Bytes>> {
        Ok(None)
    }

    // The place of a problem names the file.
    fn name(&self, _: u32) -> Option<String> {
        None
    }
}

/// Decodes single blocks of a buffer.
struct BlockDecoder<'a> {
    layout: &'a FieldLayout,
    buffers: &'a FieldBuffers,
    buffer: &'a StoredBuffer,
    cx: ReadContext<'a>,
}

impl BlockDecoder<'_> {
    fn decode(&mut self, block: &BlockRange, elements: Option<BlockElements>) -> Result<()> {
        let mut values = block.values.clone();
        let has_region = matches!(
            elements,
            Some(BlockElements::Numbers(..) | BlockElements::Bytes(_))
        );
        if has_region && is_single_value(self.buffer, block, &self.cx)? {
            // The file may claim any number of equal values; checking one of them is enough.
            values.end = values.end.min(values.start + 1);
        }
        let values = Selection::range(values);
        match elements {
            Some(BlockElements::Numbers(kind, width)) => self.numbers(&values, kind, width),
            Some(BlockElements::Bytes(Some(width))) => {
                let embedded = self.buffers.embedded_presence;
                let cache = &mut StringCache::default();
                read_fixed(self.buffer, width, embedded, &values, &mut self.cx, cache).map(|_| ())
            }
            Some(BlockElements::Bytes(None) | BlockElements::Delimited) => {
                let (positions, cache) = (self.layout.positions, &mut StringCache::default());
                // Views do not copy a block's entry for each value that refers to it.
                let (layout, cx) = (BytesLayout::Views, &mut self.cx);
                read_strings(self.buffers, positions, layout, &values, cx, cache)?;
                self.blob(block)
            }
            None => Err(Error::unsupported("blocks of an unknown kind")),
        }
    }

    /// Compares a block with the blobs property, which readers of parts of a blob rely on.
    fn blob(&self, block: &BlockRange) -> Result<()> {
        let is_data = self.buffer.kind == BufferKind::Data;
        let Some(value) = self.buffers.blob(block)?.filter(|_| is_data) else {
            return Ok(());
        };
        let range = self.buffer.place.range;
        let range = range.slice(block.bytes.start, block.bytes.end)?;
        let artifact = self.buffer.place.artifact;
        let bytes = self.cx.source.bytes(StoredRange { artifact, range })?;
        if bytes.starts_with(&blob_header(value.end - value.start)) {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the property arrow_shard.blobs says that the block is a blob of another size",
            ))
        }
    }

    fn numbers(&mut self, values: &Selection, kind: NumberKind, width: usize) -> Result<()> {
        let embedded = self.buffer.kind == BufferKind::Data && self.buffers.embedded_presence;
        let (buffer, cx, cache) = (self.buffer, &mut self.cx, &mut BlockCache::default());
        match width {
            1 => read_numbers::<u8>(buffer, kind, embedded, values, cx, cache),
            2 => read_numbers::<u16>(buffer, kind, embedded, values, cx, cache),
            4 => read_numbers::<u32>(buffer, kind, embedded, values, cx, cache),
            _ => read_numbers::<u64>(buffer, kind, embedded, values, cx, cache),
        }
        .map(|_| ())
    }
}
