//! Spec: Chapter 6, "Union Encoding"; docs/format.md, "Other layouts".

use super::super::{Values, mismatch};
use super::Shredder;
use super::slots::Slots;
use crate::error::{Error, Result, Within};
use crate::format::DataType;
use arrow_array::cast::AsArray;
use arrow_array::{Array, UnionArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, UnionFields};

impl Shredder<'_> {
    /// Shreds a union. Below a null parent, a union becomes a null of variant 0, because it has no nulls of its own.
    pub(super) fn union(
        &mut self,
        array: &dyn Array,
        slots: &Slots,
        node: &DataType,
    ) -> Result<()> {
        let union = array.as_union();
        let ArrowType::Union(fields, _) = array.data_type() else {
            return Err(mismatch(array.data_type(), node));
        };
        if fields.len() != node.children.len() {
            return Err(mismatch(array.data_type(), node));
        }
        if fields.is_empty() && slots.len() > 0 {
            return Err(Error::invalid(format!(
                "{} values of a union without variants",
                slots.len()
            )));
        }
        let ordinals = ordinals(union, fields, slots);
        match union.offsets() {
            Some(offsets) => {
                let offset = |i: usize| offsets[slots.pick(i)].as_usize();
                self.dense(union, fields, ordinals, slots, &offset, node)
            }
            None => self.sparse(union, fields, ordinals, slots, node),
        }
    }

    fn sparse(
        &mut self,
        union: &UnionArray,
        fields: &UnionFields,
        ordinals: Vec<u8>,
        slots: &Slots,
        node: &DataType,
    ) -> Result<()> {
        let values = Values::Union {
            ordinals: ordinals.clone(),
            offsets: None,
        };
        self.emit(node, slots.len(), None, values)?;
        for (ordinal, ((id, _), child)) in fields.iter().zip(&node.children).enumerate() {
            let selected = |i: usize| usize::from(ordinals[i]) == ordinal && slots.is_open(i);
            let mask = NullBuffer::new(BooleanBuffer::collect_bool(slots.len(), selected));
            let slots = slots.with_mask(Some(mask).filter(|m| m.null_count() > 0));
            self.node(union.child(id), &slots, child)
                .within(|| format!("variant `{}`", child.name))?;
        }
        Ok(())
    }

    fn dense(
        &mut self,
        union: &UnionArray,
        fields: &UnionFields,
        ordinals: Vec<u8>,
        slots: &Slots,
        offset: &dyn Fn(usize) -> usize,
        node: &DataType,
    ) -> Result<()> {
        // The elements of each child in the order of the union's positions. Only variant 0 can have masked elements,
        // because masked positions get the ordinal 0.
        let mut picks: Vec<Vec<usize>> = vec![Vec::new(); fields.len()];
        let mut open = Vec::new();
        let mut offsets = Vec::with_capacity(slots.len());
        for (i, ordinal) in ordinals.iter().enumerate() {
            let child = &mut picks[usize::from(*ordinal)];
            offsets.push(child.len() as u64);
            child.push(if slots.is_open(i) { offset(i) } else { 0 });
            if *ordinal == 0 {
                open.push(slots.is_open(i));
            }
        }
        let values = Values::Union {
            ordinals,
            offsets: Some(offsets),
        };
        self.emit(node, slots.len(), None, values)?;
        for (ordinal, ((id, _), child)) in fields.iter().zip(&node.children).enumerate() {
            let picks = std::mem::take(&mut picks[ordinal]);
            let array = union.child(id);
            let masked = ordinal == 0 && open.contains(&false);
            let result = match picks.first() {
                Some(first)
                    if !masked && picks.iter().enumerate().all(|(i, p)| *p == first + i) =>
                {
                    let slice = array.slice(*first, picks.len());
                    self.node(&slice, &Slots::all(picks.len()), child)
                }
                _ => {
                    let mask = masked.then(|| NullBuffer::from(open.as_slice()));
                    self.node(array, &Slots::picks(picks, mask), child)
                }
            };
            result.within(|| format!("variant `{}`", child.name))?;
        }
        Ok(())
    }
}

fn ordinals(union: &UnionArray, fields: &UnionFields, slots: &Slots) -> Vec<u8> {
    let mut by_id = [0; 128];
    // Arrow's type ids are 0 to 127, so there are at most 128 variants.
    for (ordinal, (id, _)) in (0..=u8::MAX).zip(fields.iter()) {
        by_id[usize::from(id.unsigned_abs())] = ordinal;
    }
    let ids = union.type_ids();
    (0..slots.len())
        .map(|i| {
            if slots.is_open(i) {
                by_id[usize::from(ids[slots.pick(i)].unsigned_abs())]
            } else {
                0
            }
        })
        .collect()
}
