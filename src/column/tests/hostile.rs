//! Values that contradict the schema or each other.

use super::generate::{random_array, random_field};
use super::source::{MemorySource, Style};
use super::{node_of, push, random_selection, styles, to_arrow};
use crate::buffer::Selection;
use crate::column::{
    ByteLayout, ByteValues, Chunk, DecodedDictionary, DecodedLists, DecodedUnions, ListOffsets,
    NodeSource, OffsetWidth, assemble,
};
use crate::error::Result;
use crate::format::DataType;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};

/// Passes on a source's values, some of them changed.
struct Liar {
    source: MemorySource,
    rng: StdRng,
    lies: u32,
}

impl Liar {
    fn lies(&mut self) -> bool {
        let lies = self.rng.random_bool(0.2);
        self.lies += u32::from(lies);
        lies
    }

    fn len(&mut self, len: usize) -> usize {
        match self.lies() {
            true => self.rng.random_range(0..2 * len + 2),
            false => len,
        }
    }

    fn nulls(&mut self, nulls: Option<NullBuffer>) -> Option<NullBuffer> {
        if !self.lies() {
            return nulls;
        }
        let len = self.rng.random_range(0..40);
        Some((0..len).map(|_| self.rng.random_bool(0.5)).collect())
    }

    fn buffer(&mut self, buffer: Buffer) -> Buffer {
        if !self.lies() {
            return buffer;
        }
        let mut bytes = vec![0; self.len(buffer.len())];
        self.rng.fill_bytes(&mut bytes);
        Buffer::from_vec(bytes)
    }

    fn rows(&mut self, rows: Selection) -> Selection {
        if !self.lies() {
            return rows;
        }
        random_selection(&mut self.rng, rows.end() + 3)
            .ranges()
            .iter()
            .map(|r| r.start.min(rows.end())..r.end.min(rows.end()))
            .collect()
    }
}

impl NodeSource for Liar {
    fn check_bytes(&self, bytes: u64) -> Result<()> {
        self.source.check_bytes(bytes)
    }

    fn bits(&mut self, node: &DataType, rows: &Selection) -> Result<Chunk<BooleanBuffer>> {
        let chunk = self.source.bits(node, rows)?;
        let bits = self.len(chunk.values.len());
        Ok(Chunk {
            len: self.len(chunk.len),
            nulls: self.nulls(chunk.nulls),
            values: BooleanBuffer::new_set(bits),
        })
    }

    fn fixed(&mut self, node: &DataType, width: usize, rows: &Selection) -> Result<Chunk<Buffer>> {
        let chunk = self.source.fixed(node, width, rows)?;
        Ok(Chunk {
            len: self.len(chunk.len),
            nulls: self.nulls(chunk.nulls),
            values: self.buffer(chunk.values),
        })
    }

    fn bytes(
        &mut self,
        node: &DataType,
        layout: ByteLayout,
        rows: &Selection,
    ) -> Result<Chunk<ByteValues>> {
        let chunk = self.source.bytes(node, layout, rows)?;
        let values = match chunk.values {
            ByteValues::Offsets32(o, v) => ByteValues::Offsets32(o, self.buffer(v)),
            ByteValues::Offsets64(o, v) => ByteValues::Offsets64(o, self.buffer(v)),
            ByteValues::Views(v, b) => {
                let b = b.into_iter().map(|b| self.buffer(b)).collect();
                let views = self.buffer(v.into_inner());
                let len = views.len() / 16;
                let views = Buffer::from(&views[..len * 16]);
                ByteValues::Views(ScalarBuffer::new(views, 0, len), b)
            }
        };
        Ok(Chunk {
            len: self.len(chunk.len),
            nulls: self.nulls(chunk.nulls),
            values,
        })
    }

    fn dictionary(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Option<DecodedDictionary>> {
        let Some(mut stored) = self.source.dictionary(node, rows)? else {
            return Ok(None);
        };
        if self.lies() {
            let len = self.len(stored.codes.len());
            stored.codes = (0..len).map(|_| self.rng.random_range(0..50)).collect();
        }
        stored.nulls = self.nulls(stored.nulls);
        Ok(Some(stored))
    }

    fn presence(&mut self, node: &DataType, rows: &Selection) -> Result<Option<NullBuffer>> {
        let nulls = self.source.presence(node, rows)?;
        Ok(self.nulls(nulls))
    }

    fn lists(
        &mut self,
        node: &DataType,
        width: OffsetWidth,
        rows: &Selection,
    ) -> Result<DecodedLists> {
        let mut lists = self.source.lists(node, width, rows)?;
        if self.lies() {
            let mut offsets = vec![self.rng.random_range(0..3)];
            for _ in 0..self.len(rows.len() as usize) {
                offsets.push(offsets.last().unwrap() + self.rng.random_range(0..4));
            }
            lists.offsets = match width {
                OffsetWidth::Bits32 => ListOffsets::Bits32(OffsetBuffer::new(offsets.into())),
                OffsetWidth::Bits64 => {
                    let offsets: Vec<i64> = offsets.into_iter().map(i64::from).collect();
                    ListOffsets::Bits64(OffsetBuffer::new(offsets.into()))
                }
            };
        }
        lists.nulls = self.nulls(lists.nulls);
        lists.children = self.rows(lists.children);
        Ok(lists)
    }

    fn unions(&mut self, node: &DataType, rows: &Selection) -> Result<DecodedUnions> {
        let mut unions = self.source.unions(node, rows)?;
        if self.lies() {
            let len = self.len(unions.ordinals.len());
            unions.ordinals = (0..len).map(|_| self.rng.random_range(0..4)).collect();
        }
        if self.lies() {
            let len = self.len(rows.len() as usize);
            let offsets = (0..len).map(|_| self.rng.random_range(-2..40)).collect();
            unions.offsets = Some(offsets);
        }
        if self.lies() {
            unions.children.pop();
        }
        unions.children = unions.children.into_iter().map(|c| self.rows(c)).collect();
        Ok(unions)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Every resulting array must pass Arrow's full validation.
    #[test]
    fn contradictory_values_give_an_error_or_a_valid_array(seed in any::<u64>()) {
        let mut rng = StdRng::seed_from_u64(seed);
        let field = random_field(&mut rng, 3, "column");
        let node = node_of(&field, false);
        let style: Style = styles()[rng.random_range(0..3)];
        let mut source = MemorySource::new(style);
        let array = random_array(&mut rng, &field, 20);
        push(&mut source, &field, &node, &array).unwrap();
        let mut liar = Liar { source, rng, lies: 0 };
        for wanted in [field, to_arrow(&node, None).unwrap()] {
            liar.lies = 0;
            let rows = Selection::range(0..20);
            match assemble(&wanted, &node, &rows, &mut liar) {
                Ok(read) => {
                    prop_assert_eq!(read.len(), 20);
                    prop_assert_eq!(read.data_type(), wanted.data_type());
                    read.to_data().validate_full().unwrap();
                }
                Err(_) => prop_assert!(liar.lies > 0, "refused the truth"),
            }
        }
    }
}
