//! Spec: Chapter 6, "List Encoding", "Map Encoding" and "Fixed Size List Encoding".

use super::super::{Values, mismatch};
use super::Shredder;
use super::slots::Slots;
use crate::error::{Error, Result, Within};
use crate::format::DataType;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType as ArrowType;
use std::ops::Range;

/// Lists, without the elements of null lists.
struct Lists {
    nulls: Option<NullBuffer>,
    /// Offsets into the kept elements.
    offsets: Vec<u64>,
    /// The kept elements.
    elements: Elements,
}

enum Elements {
    /// A contiguous range of the elements' array.
    Range(Range<usize>),
    /// Arbitrary elements.
    Picks(Vec<usize>),
}

impl Lists {
    /// Returns the lists of the slots. `range` maps the index of a list in the array to the range of its elements.
    fn new(slots: &Slots, own: Option<&NullBuffer>, range: impl Fn(usize) -> Range<usize>) -> Self {
        let nulls = slots.nulls(own);
        let list = |i: usize| match &nulls {
            Some(n) if n.is_null(i) => 0..0,
            _ => range(slots.pick(i)),
        };
        let mut offsets = Vec::with_capacity(slots.len() + 1);
        offsets.push(0);
        let (mut end, mut neighbors) = (0, true);
        let mut kept: Range<usize> = 0..0;
        for i in 0..slots.len() {
            let one = list(i);
            end += one.len() as u64;
            offsets.push(end);
            if one.is_empty() {
                continue;
            }
            if kept.is_empty() {
                kept = one;
            } else if kept.end == one.start {
                kept.end = one.end;
            } else {
                neighbors = false;
            }
        }
        let elements = if neighbors {
            Elements::Range(kept)
        } else {
            Elements::Picks((0..slots.len()).flat_map(list).collect())
        };
        Self {
            nulls,
            offsets,
            elements,
        }
    }
}

impl Elements {
    /// Returns the array to take elements from, and the selected elements.
    fn of(&self, array: &ArrayRef) -> (ArrayRef, Slots) {
        match self {
            Self::Range(range) => (
                array.slice(range.start, range.len()),
                Slots::all(range.len()),
            ),
            Self::Picks(picks) => (array.clone(), Slots::picks(picks.clone(), None)),
        }
    }
}

fn range<O: OffsetSizeTrait>(offsets: &[O], element: usize) -> Range<usize> {
    offsets[element].as_usize()..offsets[element + 1].as_usize()
}

fn view<O: OffsetSizeTrait>(offsets: &[O], sizes: &[O], element: usize) -> Range<usize> {
    let start = offsets[element].as_usize();
    start..start + sizes[element].as_usize()
}

impl Shredder<'_> {
    /// Shreds an array of lists or list views.
    pub(super) fn list(&mut self, array: &dyn Array, slots: &Slots, node: &DataType) -> Result<()> {
        let own = array.nulls();
        let (lists, values) = match array.data_type() {
            ArrowType::List(_) => {
                let a = array.as_list::<i32>();
                let lists = Lists::new(slots, own, |e| range(a.value_offsets(), e));
                (lists, a.values())
            }
            ArrowType::LargeList(_) => {
                let a = array.as_list::<i64>();
                let lists = Lists::new(slots, own, |e| range(a.value_offsets(), e));
                (lists, a.values())
            }
            ArrowType::ListView(_) => {
                let a = array.as_list_view::<i32>();
                let lists = Lists::new(slots, own, |e| view(a.offsets(), a.sizes(), e));
                (lists, a.values())
            }
            ArrowType::LargeListView(_) => {
                let a = array.as_list_view::<i64>();
                let lists = Lists::new(slots, own, |e| view(a.offsets(), a.sizes(), e));
                (lists, a.values())
            }
            other => return Err(mismatch(other, node)),
        };
        let [item] = node.children.as_slice() else {
            return Err(mismatch(array.data_type(), node));
        };
        self.emit(
            node,
            slots.len(),
            lists.nulls,
            Values::Offsets(lists.offsets),
        )?;
        let (values, slots) = lists.elements.of(values);
        self.node(&values, &slots, item)
            .within(|| "list elements".to_owned())
    }

    /// Shreds an array of maps.
    pub(super) fn map(&mut self, array: &dyn Array, slots: &Slots, node: &DataType) -> Result<()> {
        let map = array.as_map();
        let lists = Lists::new(slots, array.nulls(), |e| range(map.value_offsets(), e));
        self.emit(
            node,
            slots.len(),
            lists.nulls,
            Values::Offsets(lists.offsets),
        )?;
        let entries = map.entries();
        for ((column, child), part) in entries
            .columns()
            .iter()
            .zip(&node.children)
            .zip(["map keys", "map values"])
        {
            let (values, slots) = lists.elements.of(column);
            self.node(&values, &slots, child)
                .within(|| part.to_owned())?;
        }
        Ok(())
    }

    /// Shreds an array of fixed-size lists. Elements of null lists stay, as nulls.
    pub(super) fn fixed_size_list(
        &mut self,
        array: &dyn Array,
        slots: &Slots,
        node: &DataType,
    ) -> Result<()> {
        let list = array.as_fixed_size_list();
        let size = list.value_length().as_usize();
        let [item] = node.children.as_slice() else {
            return Err(mismatch(array.data_type(), node));
        };
        if node.fixed_size != size as u64 {
            return Err(mismatch(array.data_type(), node));
        }
        let nulls = slots.nulls(array.nulls());
        self.emit(node, slots.len(), nulls.clone(), Values::None)?;
        let len = slots
            .len()
            .checked_mul(size)
            .ok_or_else(|| Error::invalid(format!("{} lists of {size} elements", slots.len())))?;
        let mask = nulls.map(|n| n.expand(size));
        let elements = if slots.is_all() {
            Slots::all(len).with_mask(mask.filter(|m| m.null_count() > 0))
        } else {
            // The index of a masked list is arbitrary, so multiplying it could overflow.
            let first = |i| {
                if slots.is_open(i) {
                    slots.pick(i) * size
                } else {
                    0
                }
            };
            let picks = (0..slots.len()).flat_map(|i| first(i)..first(i) + size);
            Slots::picks(picks.collect(), mask)
        };
        self.node(list.values(), &elements, item)
            .within(|| "list elements".to_owned())
    }
}
