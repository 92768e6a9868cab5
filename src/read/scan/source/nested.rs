//! Spec: Chapter 6, "List Encoding", "Map Encoding" and "Union Encoding": presence, offsets and
//! variants.

use super::{OpenedField, StripeSource, pad_nulls, required};
use crate::buffer::{
    BlockCache, Body, Selection, Spans, Storage, StoredBuffer, offset_width, read_numbers, words,
};
use crate::column::{DecodedLists, DecodedUnions, ListOffsets, OffsetWidth};
use crate::encoding::NumberKind;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::format::DataType;
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};

impl StripeSource<'_> {
    pub(super) fn read_presence(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<Option<NullBuffer>> {
        let (stored, missing) = self.stored(node, rows);
        let mut field = self.open(node, &stored)?;
        // Even if no presence is stored, the caller gets one bit per row.
        field.cx.check_batch_bytes(rows.len().div_ceil(8), 1)?;
        let present = match &field.layout.storage {
            Storage::Buffers(buffers) => field.presence(buffers, &stored)?,
            _ => Some(field.all_null(&stored)?),
        };
        if missing == 0 {
            return Ok(present);
        }
        let (len, missing) = (to_usize(stored.len())?, to_usize(missing)?);
        Ok(Some(pad_nulls(present.as_ref(), len, missing)))
    }

    pub(super) fn read_lists(
        &mut self,
        node: &DataType,
        width: OffsetWidth,
        rows: &Selection,
    ) -> Result<DecodedLists> {
        let mut field = self.open(node, rows)?;
        let buffers = match &field.layout.storage {
            Storage::Buffers(buffers) => buffers,
            _ => {
                field.cx.check_batch_bytes(rows.len(), 8)?;
                let len = to_usize(rows.len())?;
                return Ok(DecodedLists {
                    offsets: match width {
                        OffsetWidth::Bits32 => ListOffsets::Bits32(OffsetBuffer::new_zeroed(len)),
                        OffsetWidth::Bits64 => ListOffsets::Bits64(OffsetBuffer::new_zeroed(len)),
                    },
                    nulls: Some(field.all_null(rows)?),
                    children: Selection::default(),
                });
            }
        };
        if let Some(offsets) = &buffers.offsets
            && let Some((offsets, children)) = field.offsets_in_place(offsets, width, rows)?
        {
            let nulls = field.presence(buffers, rows)?;
            return Ok(DecodedLists {
                offsets,
                nulls,
                children,
            });
        }
        let spans = match &buffers.offsets {
            Some(offsets) => {
                let (cx, cache) = (&mut field.cx, &mut field.state.offsets);
                Spans::read(offsets, field.layout.positions, rows, cx, cache)?
            }
            None => Spans::default(),
        };
        Ok(DecodedLists {
            offsets: list_offsets(spans.ends, width)?,
            children: spans.items,
            nulls: field.presence(buffers, rows)?,
        })
    }

    pub(super) fn read_unions(
        &mut self,
        node: &DataType,
        rows: &Selection,
    ) -> Result<DecodedUnions> {
        let mut field = self.open(node, rows)?;
        let len = to_usize(rows.len())?;
        let children = node.children.len();
        let sparse = |ordinals| DecodedUnions {
            ordinals,
            offsets: None,
            children: vec![rows.clone(); children],
        };
        let Storage::Buffers(buffers) = &field.layout.storage else {
            field.cx.check_batch_bytes(rows.len(), 1)?;
            return Ok(sparse(vec![0; len]));
        };
        let data = required(buffers.data.as_ref(), "DATA")?;
        let ordinals = field
            .number(data, 1, NumberKind::Unsigned, false, rows)
            .within(|| "DATA buffer".to_owned())?
            .data
            .to_vec();
        if let Some(&wrong) = ordinals.iter().find(|&&o| usize::from(o) >= children) {
            return Err(Error::corrupt(format!(
                "union variant {wrong} of {children}"
            )));
        }
        let Some(slots) = &buffers.offsets else {
            return Ok(sparse(ordinals));
        };
        let (cx, cache) = (&mut field.cx, &mut field.state.slots);
        let slots = read_numbers::<u64>(slots, NumberKind::Unsigned, false, rows, cx, cache)
            .within(|| "OFFSETS buffer".to_owned())?;
        let slots = words::<u64>(&slots.data);
        let mut offsets = Vec::with_capacity(len);
        let mut selected = vec![Selection::default(); children];
        for (&ordinal, &slot) in ordinals.iter().zip(slots.iter()) {
            let child = &mut selected[usize::from(ordinal)];
            if slot < child.end() || slot == u64::MAX {
                return Err(Error::corrupt(format!(
                    "position {slot} of union variant {ordinal} does not ascend"
                )));
            }
            let offset = i32::try_from(child.len()).map_err(|_| {
                Error::new(
                    ErrorKind::OffsetOverflow,
                    "a union variant exceeds 2^31 positions",
                )
            })?;
            offsets.push(offset);
            child.push(slot..slot + 1);
        }
        Ok(DecodedUnions {
            ordinals,
            offsets: Some(offsets),
            children: selected,
        })
    }
}

impl OpenedField<'_> {
    /// Returns raw offsets of the wanted width without a copy, if the rows begin at 0: they are valid Arrow offsets.
    fn offsets_in_place(
        &mut self,
        buffer: &StoredBuffer,
        width: OffsetWidth,
        rows: &Selection,
    ) -> Result<Option<(ListOffsets, Selection)>> {
        let bytes = match width {
            OffsetWidth::Bits32 => 4,
            OffsetWidth::Bits64 => 8,
        };
        let (Some(range), Body::Raw(_)) = (rows.as_range(), &buffer.body) else {
            return Ok(None);
        };
        if offset_width(buffer, self.layout.positions) != bytes || range.start > 0 {
            return Ok(None);
        }
        let elements = rows.with_ends();
        // Raw numbers are not in blocks.
        let (cx, blocks) = (&mut self.cx, &mut BlockCache::default());
        let kind = NumberKind::Unsigned;
        let (first, last, ascending, offsets) = match width {
            OffsetWidth::Bits32 => {
                let data = read_numbers::<u32>(buffer, kind, false, &elements, cx, blocks)?.data;
                let raw = words::<i32>(&data);
                let (first, last, ascending) = ends(&raw);
                let offsets = ascending.then(|| ListOffsets::Bits32(OffsetBuffer::new(raw)));
                (first, last, ascending, offsets)
            }
            OffsetWidth::Bits64 => {
                let data = read_numbers::<u64>(buffer, kind, false, &elements, cx, blocks)?.data;
                let raw = words::<i64>(&data);
                let (first, last, ascending) = ends(&raw);
                let offsets = ascending.then(|| ListOffsets::Bits64(OffsetBuffer::new(raw)));
                (first, last, ascending, offsets)
            }
        };
        match offsets {
            Some(offsets) if ascending && first == 0 => {
                Ok(Some((offsets, Selection::range(0..last))))
            }
            _ => Err(Error::corrupt("offsets do not ascend from 0").within("OFFSETS buffer")),
        }
    }
}

/// Returns the first and the last offset, and whether they ascend and none is negative.
fn ends<O: Copy + Ord + Default + TryInto<u64>>(offsets: &[O]) -> (u64, u64, bool) {
    let of = |offset: Option<&O>| offset.and_then(|&o| o.try_into().ok()).unwrap_or(u64::MAX);
    let ascending = offsets.first().is_some_and(|&o| o >= O::default())
        && offsets
            .windows(2)
            .fold(true, |ok, pair| ok & (pair[0] <= pair[1]));
    (of(offsets.first()), of(offsets.last()), ascending)
}

/// Converts offsets from 0 to the wanted width.
fn list_offsets(ends: Vec<u64>, width: OffsetWidth) -> Result<ListOffsets> {
    let last = ends.last().copied().unwrap_or(0);
    let overflow = |bits: u32| {
        let message = format!("{last} list items exceed {bits}-bit offsets");
        Error::new(ErrorKind::OffsetOverflow, message)
    };
    Ok(match width {
        OffsetWidth::Bits32 => {
            i32::try_from(last).map_err(|_| overflow(32))?;
            let narrow = ends
                .iter()
                .map(|&end| i32::try_from(end).unwrap_or(i32::MAX));
            let narrow: Vec<i32> = narrow.collect();
            ListOffsets::Bits32(OffsetBuffer::new(ScalarBuffer::from(narrow)))
        }
        OffsetWidth::Bits64 => {
            i64::try_from(last).map_err(|_| overflow(64))?;
            let wide = ends
                .iter()
                .map(|&end| i64::try_from(end).unwrap_or(i64::MAX));
            let wide: Vec<i64> = wide.collect();
            ListOffsets::Bits64(OffsetBuffer::new(ScalarBuffer::from(wide)))
        }
    })
}
