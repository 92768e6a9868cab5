//! A stripe in memory: stores the chunks of `shred` and provides them to `assemble`.

use crate::buffer::Selection;
use crate::column::{
    ByteLayout, ByteValues, Chunk, DecodedDictionary, DecodedLists, DecodedUnions,
    DictionaryEntries, ListOffsets, NodeSource, OffsetWidth, Values, has_dictionary,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType};
use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeBinaryArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use std::collections::HashMap;
use std::sync::Arc;

/// Most positions; replaces the limits of a reader.
pub(super) const MAX_POSITIONS: u64 = 1 << 16;

/// The values of a node, position by position.
#[derive(Debug, Default)]
struct Node {
    valid: Vec<bool>,
    bits: Vec<bool>,
    /// Fixed and variable values.
    bytes: Vec<Vec<u8>>,
    offsets: Vec<u64>,
    ordinals: Vec<u8>,
    /// Child positions of a dense union.
    positions: Vec<u64>,
}

/// Options for how the source provides its values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    /// Leaves are stored with a dictionary where possible.
    pub(super) dictionaries: bool,
    /// Fixed-width values don't start at an aligned address.
    pub(super) unaligned: bool,
}

/// The entries of a node and the codes of its values.
type Dictionary = (Arc<DictionaryEntries>, HashMap<Vec<u8>, u32>);

#[derive(Debug, Default)]
pub(super) struct MemorySource {
    nodes: HashMap<u32, Node>,
    style: Style,
    dictionaries: HashMap<u32, Dictionary>,
}

impl MemorySource {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            ..Self::default()
        }
    }

    /// Adds the chunks of one call of `shred`, after checking them against the schema.
    pub(super) fn push(&mut self, root: &DataType, chunks: Vec<(u32, Chunk<Values>)>, len: usize) {
        let count = chunks.len();
        let chunks: HashMap<u32, Chunk<Values>> = chunks.into_iter().collect();
        assert_eq!(count, chunks.len(), "one chunk per node");
        let mut nodes = 0;
        root.walk(&mut |_| nodes += 1);
        assert_eq!(count, nodes, "every node has a chunk");
        check(root, &chunks, len, &vec![true; len]);
        let bases: HashMap<u32, u64> = chunks
            .keys()
            .map(|id| (*id, self.nodes.get(id).map_or(0, |n| n.valid.len()) as u64))
            .collect();
        root.walk(&mut |node| {
            let child_bases: Vec<u64> = node.children.iter().map(|c| bases[&c.schema_id]).collect();
            let stored = self.nodes.entry(node.schema_id).or_default();
            stored.append(&chunks[&node.schema_id], &child_bases);
        });
    }

    fn node(&self, node: &DataType) -> &Node {
        &self.nodes[&node.schema_id]
    }
}

fn is_valid(chunk: &Chunk<Values>, i: usize) -> bool {
    chunk.nulls.as_ref().is_none_or(|n| n.is_valid(i))
}

/// Checks lengths, and that everything below a null is null.
fn check(node: &DataType, chunks: &HashMap<u32, Chunk<Values>>, len: usize, open: &[bool]) {
    let chunk = &chunks[&node.schema_id];
    assert_eq!(chunk.len, len, "{node:?}");
    if let Some(nulls) = &chunk.nulls {
        assert_eq!(nulls.len(), len);
        assert!(nulls.null_count() > 0, "no nulls are none");
    }
    let is_union = node.basic_type == BasicType::Union;
    let valid: Vec<bool> = (0..len).map(|i| is_valid(chunk, i)).collect();
    assert!(
        is_union || (0..len).all(|i| open[i] || !valid[i]),
        "null below null"
    );
    match &chunk.values {
        Values::None => {
            let size = match node.basic_type {
                BasicType::FixedSizeList => usize::try_from(node.fixed_size).unwrap(),
                _ => 1,
            };
            let open: Vec<bool> = valid.iter().flat_map(|v| vec![*v; size]).collect();
            for child in &node.children {
                check(child, chunks, len * size, &open);
            }
        }
        Values::Bits(bits) => assert_eq!(bits.len(), len),
        Values::Fixed { width, data } => assert_eq!(data.len(), width * len),
        Values::Bytes(ByteValues::Offsets32(o, _)) => assert_eq!(o.len(), len + 1),
        Values::Bytes(ByteValues::Offsets64(o, _)) => assert_eq!(o.len(), len + 1),
        Values::Bytes(ByteValues::Views(v, _)) => assert_eq!(v.len(), len),
        Values::Offsets(offsets) => {
            assert_eq!((offsets.len(), offsets[0]), (len + 1, 0));
            for i in 0..len {
                assert!(offsets[i] <= offsets[i + 1]);
                assert!(
                    valid[i] || offsets[i] == offsets[i + 1],
                    "null lists are empty"
                );
            }
            let end = usize::try_from(offsets[len]).unwrap();
            for child in &node.children {
                check(child, chunks, end, &vec![true; end]);
            }
        }
        Values::Union { ordinals, offsets } => {
            assert_eq!(ordinals.len(), len);
            assert!(chunk.nulls.is_none());
            assert!((0..len).all(|i| open[i] || ordinals[i] == 0));
            for (c, child) in node.children.iter().enumerate() {
                let mine = |i: &usize| usize::from(ordinals[*i]) == c;
                match offsets {
                    None => {
                        let open: Vec<bool> = (0..len).map(|i| open[i] && mine(&i)).collect();
                        check(child, chunks, len, &open);
                    }
                    Some(offsets) => {
                        let mine: Vec<usize> = (0..len).filter(mine).collect();
                        let positions: Vec<u64> = mine.iter().map(|i| offsets[*i]).collect();
                        assert!(positions.iter().copied().eq(0..mine.len() as u64));
                        let open: Vec<bool> = mine.iter().map(|i| open[*i]).collect();
                        check(child, chunks, mine.len(), &open);
                    }
                }
            }
        }
        Values::Dictionary { codes, entries } => {
            assert_eq!(codes.len(), len);
            for i in (0..len).filter(|i| valid[*i]) {
                let code = usize::try_from(codes[i]).unwrap();
                assert!(code < entries.len && is_valid(entries, code));
            }
        }
    }
}

fn byte_values(values: &ByteValues, nulls: Option<&NullBuffer>) -> Vec<Vec<u8>> {
    let of = |i: usize, bytes: &[u8]| match nulls {
        Some(n) if n.is_null(i) => vec![0xFF, 0xFE],
        _ => bytes.to_vec(),
    };
    match values {
        ByteValues::Offsets32(o, v) => o
            .windows(2)
            .enumerate()
            .map(|(i, w)| of(i, &v[w[0] as usize..w[1] as usize]))
            .collect(),
        ByteValues::Offsets64(o, v) => o
            .windows(2)
            .enumerate()
            .map(|(i, w)| of(i, &v[w[0] as usize..w[1] as usize]))
            .collect(),
        ByteValues::Views(views, buffers) => {
            let nulls = nulls.cloned();
            let array =
                arrow_array::BinaryViewArray::new(views.clone(), buffers.clone(), nulls.clone());
            (0..array.len()).map(|i| of(i, array.value(i))).collect()
        }
    }
}

impl Node {
    fn append(&mut self, chunk: &Chunk<Values>, child_bases: &[u64]) {
        self.valid
            .extend((0..chunk.len).map(|i| is_valid(chunk, i)));
        match &chunk.values {
            Values::None => {}
            Values::Bits(bits) => self.bits.extend(bits.iter()),
            Values::Fixed { width: 0, .. } => self.bytes.resize(self.valid.len(), Vec::new()),
            Values::Fixed { width, data } => {
                self.bytes.extend(data.chunks(*width).map(<[u8]>::to_vec));
            }
            Values::Bytes(values) => {
                self.bytes.extend(byte_values(values, chunk.nulls.as_ref()));
            }
            Values::Offsets(offsets) => {
                if self.offsets.is_empty() {
                    self.offsets.push(0);
                }
                let base = child_bases[0];
                self.offsets.extend(offsets[1..].iter().map(|o| base + o));
            }
            Values::Union { ordinals, offsets } => {
                if let Some(offsets) = offsets {
                    let global = offsets.iter().zip(ordinals);
                    self.positions
                        .extend(global.map(|(p, o)| child_bases[usize::from(*o)] + p));
                }
                self.ordinals.extend(ordinals);
            }
            Values::Dictionary { codes, entries } => {
                let mut plain = Node::default();
                plain.append(entries, &[]);
                let value = |i: usize| match is_valid(chunk, i) {
                    true => plain.bytes[codes[i] as usize].clone(),
                    // Fixed-size, if all entries have the same length.
                    false => match &entries.values {
                        Values::Fixed { width, .. } => vec![0xEE; *width],
                        _ => Vec::new(),
                    },
                };
                self.bytes.extend((0..chunk.len).map(value));
            }
        }
    }

    fn nulls(&self, rows: &Selection) -> Option<NullBuffer> {
        let valid: Vec<bool> = positions(rows).map(|i| self.valid[i]).collect();
        Some(NullBuffer::from(valid)).filter(|n| n.null_count() > 0)
    }
}

fn positions(rows: &Selection) -> impl Iterator<Item = usize> {
    let ranges = rows.ranges().to_vec();
    ranges.into_iter().flatten().map(|i| i as usize)
}

/// Returns values in a layout, after some unrelated bytes.
fn in_layout(values: &[&[u8]], nulls: Option<NullBuffer>, layout: ByteLayout) -> Chunk<ByteValues> {
    let mut data = vec![0xFF; 3];
    let mut offsets = vec![3i64];
    for (i, value) in values.iter().enumerate() {
        if nulls.as_ref().is_none_or(|n| n.is_valid(i)) {
            data.extend_from_slice(value);
        }
        offsets.push(data.len() as i64);
    }
    data.push(0xFF);
    let values = match layout {
        ByteLayout::Offsets32 => {
            let offsets: Vec<i32> = offsets.iter().map(|o| *o as i32).collect();
            ByteValues::Offsets32(OffsetBuffer::new(offsets.into()), Buffer::from_vec(data))
        }
        ByteLayout::Offsets64 => {
            ByteValues::Offsets64(OffsetBuffer::new(offsets.into()), Buffer::from_vec(data))
        }
        ByteLayout::Views => {
            let offsets = OffsetBuffer::new(offsets.into());
            let array = LargeBinaryArray::new(offsets, Buffer::from_vec(data), nulls.clone());
            let views = arrow_cast::cast(&array, &arrow_schema::DataType::BinaryView).unwrap();
            let views = views.as_binary_view();
            ByteValues::Views(views.views().clone(), views.data_buffers().to_vec())
        }
    };
    Chunk {
        len: nulls.as_ref().map_or(offsets_len(&values), NullBuffer::len),
        nulls,
        values,
    }
}

fn offsets_len(values: &ByteValues) -> usize {
    match values {
        ByteValues::Offsets32(o, _) => o.len() - 1,
        ByteValues::Offsets64(o, _) => o.len() - 1,
        ByteValues::Views(v, _) => v.len(),
    }
}

impl NodeSource for MemorySource {
    fn check_bytes(&self, bytes: u64) -> Result<()> {
        match bytes > MAX_POSITIONS * 16 {
            true => Err(Error::new(ErrorKind::LimitExceeded, "too many bytes")),
            false => Ok(()),
        }
    }

    fn bits(&mut self, node: &DataType, rows: &Selection) -> Result<Chunk<BooleanBuffer>> {
        let stored = self.node(node);
        Ok(Chunk {
            len: rows.len() as usize,
            nulls: stored.nulls(rows),
            values: positions(rows).map(|i| stored.bits[i]).collect(),
        })
    }

    fn fixed(&mut self, node: &DataType, width: usize, rows: &Selection) -> Result<Chunk<Buffer>> {
        let stored = self.node(node);
        let mut data = vec![0; usize::from(self.style.unaligned)];
        for i in positions(rows) {
            assert_eq!(stored.bytes[i].len(), width);
            data.extend_from_slice(&stored.bytes[i]);
        }
        Ok(Chunk {
            len: rows.len() as usize,
            nulls: stored.nulls(rows),
            values: Buffer::from_vec(data).slice(usize::from(self.style.unaligned)),
        })
    }

    fn bytes(
        &mut self,
        node: &DataType,
        layout: ByteLayout,
        rows: &Selection,
    ) -> Result<Chunk<ByteValues>> {
        let stored = self.node(node);
        let values: Vec<&[u8]> = positions(rows)
            .map(|i| stored.bytes[i].as_slice())
            .collect();
        Ok(in_layout(&values, stored.nulls(rows), layout))
    }

    fn dictionary(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Option<DecodedDictionary>> {
        if !self.style.dictionaries {
            return Ok(None);
        }
        assert!(has_dictionary(node.basic_type));
        let stored = &self.nodes[&node.schema_id];
        let (entries, codes) = self.dictionaries.entry(node.schema_id).or_insert_with(|| {
            let mut codes: HashMap<Vec<u8>, u32> = HashMap::new();
            let mut values: Vec<Vec<u8>> = Vec::new();
            for (value, valid) in stored.bytes.iter().zip(&stored.valid) {
                if *valid && !codes.contains_key(value) {
                    codes.insert(value.clone(), values.len() as u32);
                    values.push(value.clone());
                }
            }
            // The null entry is last; positions do not refer to it.
            let width = crate::column::fixed_width(node).unwrap_or(0);
            values.push(vec![0; width]);
            let valid: Vec<bool> = (1..=values.len()).map(|i| i < values.len()).collect();
            let nulls = Some(NullBuffer::from(valid));
            let refs: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            let chunk = match crate::column::fixed_width(node) {
                Some(width) => Chunk {
                    len: values.len(),
                    nulls,
                    values: Values::Fixed {
                        width,
                        data: Buffer::from_vec(values.concat()),
                    },
                },
                None => {
                    let chunk = in_layout(&refs, nulls, ByteLayout::Offsets64);
                    Chunk {
                        len: chunk.len,
                        nulls: chunk.nulls,
                        values: Values::Bytes(chunk.values),
                    }
                }
            };
            let arrays = Default::default();
            let null_id = u32::try_from(chunk.len - 1).ok();
            let entries = DictionaryEntries {
                chunk,
                null_id,
                arrays,
            };
            (Arc::new(entries), codes)
        });
        let code = |i: usize| match stored.valid[i] {
            true => codes[&stored.bytes[i]],
            false => u32::MAX,
        };
        let codes = positions(rows).map(code).collect();
        let nulls = stored.nulls(rows);
        DecodedDictionary::try_new(codes, nulls, entries.clone()).map(Some)
    }

    fn presence(&mut self, node: &DataType, rows: &Selection) -> Result<Option<NullBuffer>> {
        if rows.len() > MAX_POSITIONS {
            return Err(Error::new(ErrorKind::LimitExceeded, "too many positions"));
        }
        Ok(self.node(node).nulls(rows))
    }

    fn lists(
        &mut self,
        node: &DataType,
        width: OffsetWidth,
        rows: &Selection,
    ) -> Result<DecodedLists> {
        let stored = self.node(node);
        let mut children = Selection::default();
        let mut offsets = vec![0i64];
        for i in positions(rows) {
            children.push(stored.offsets[i]..stored.offsets[i + 1]);
            offsets.push(children.len() as i64);
        }
        let offsets = match width {
            OffsetWidth::Bits32 => {
                let offsets: Vec<i32> = offsets.iter().map(|o| *o as i32).collect();
                ListOffsets::Bits32(OffsetBuffer::new(offsets.into()))
            }
            OffsetWidth::Bits64 => ListOffsets::Bits64(OffsetBuffer::new(offsets.into())),
        };
        Ok(DecodedLists {
            offsets,
            nulls: stored.nulls(rows),
            children,
        })
    }

    fn unions(&mut self, node: &DataType, rows: &Selection) -> Result<DecodedUnions> {
        let stored = self.node(node);
        let is_dense = node.property("mode") == Some("dense");
        let ordinals: Vec<u8> = positions(rows).map(|i| stored.ordinals[i]).collect();
        let mut children = vec![Selection::default(); node.children.len()];
        if !is_dense {
            children.fill(rows.clone());
            return Ok(DecodedUnions {
                ordinals,
                offsets: None,
                children,
            });
        }
        let mut offsets = Vec::new();
        for (i, ordinal) in positions(rows).zip(&ordinals) {
            let child = &mut children[usize::from(*ordinal)];
            offsets.push(child.len() as i32);
            child.push(stored.positions[i]..stored.positions[i] + 1);
        }
        Ok(DecodedUnions {
            ordinals,
            offsets: Some(offsets),
            children,
        })
    }
}
