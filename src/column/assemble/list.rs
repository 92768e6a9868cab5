//! Spec: Chapter 6, "List Encoding", "Map Encoding" and "Fixed Size List Encoding".

use super::super::{DecodedLists, ListOffsets, OffsetWidth, mismatch};
use super::dictionary_array::own_nulls;
use super::{Assembler, check_len, check_nullable, check_nulls, invalid, undeclared};
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::format::DataType;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray,
    OffsetSizeTrait, StructArray, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType as ArrowType, FieldRef};
use std::sync::Arc;

impl Assembler<'_> {
    /// Returns offsets, nulls and child positions, checked against each other.
    fn lists(
        &mut self,
        width: OffsetWidth,
        node: &DataType,
        rows: &Selection,
    ) -> Result<DecodedLists> {
        let lists = self.source.lists(node, width, rows)?;
        let (len, first, last) = match &lists.offsets {
            ListOffsets::Bits32(o) => ends(o)?,
            ListOffsets::Bits64(o) => ends(o)?,
        };
        check_len(to_usize(rows.len())?, len)?;
        check_nulls(len, lists.nulls.as_ref())?;
        if first != 0 || last != lists.children.len() {
            return Err(Error::corrupt(format!(
                "list offsets from {first} to {last} for {} elements",
                lists.children.len()
            )));
        }
        Ok(lists)
    }

    /// Returns an array of lists or list views, with 32-bit or 64-bit offsets.
    pub(super) fn list(
        &mut self,
        wanted: &ArrowType,
        item: &FieldRef,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let [child] = node.children.as_slice() else {
            return Err(mismatch(wanted, node));
        };
        let width = match wanted {
            ArrowType::List(_) | ArrowType::ListView(_) => OffsetWidth::Bits32,
            _ => OffsetWidth::Bits64,
        };
        let lists = self.lists(width, node, rows)?;
        let values = self
            .node(item.data_type(), child, &lists.children)
            .within(|| "list elements".to_owned())?;
        let views = matches!(wanted, ArrowType::ListView(_) | ArrowType::LargeListView(_));
        match (lists.offsets, width) {
            (ListOffsets::Bits32(o), OffsetWidth::Bits32) => {
                list_array(views, item, o, values, lists.nulls)
            }
            (ListOffsets::Bits64(o), OffsetWidth::Bits64) => {
                list_array(views, item, o, values, lists.nulls)
            }
            _ => Err(mismatch(wanted, node)),
        }
    }

    /// Returns an array of maps.
    pub(super) fn map(
        &mut self,
        entries: &FieldRef,
        sorted: bool,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let wanted = || ArrowType::Map(entries.clone(), sorted);
        let (ArrowType::Struct(fields), [key, value]) =
            (entries.data_type(), node.children.as_slice())
        else {
            return Err(mismatch(&wanted(), node));
        };
        let [key_field, value_field] = fields.as_ref() else {
            return Err(mismatch(&wanted(), node));
        };
        let lists = self.lists(OffsetWidth::Bits32, node, rows)?;
        let ListOffsets::Bits32(offsets) = lists.offsets else {
            return Err(mismatch(&wanted(), node));
        };
        let keys = self
            .node(key_field.data_type(), key, &lists.children)
            .within(|| "map keys".to_owned())?;
        let values = self
            .node(value_field.data_type(), value, &lists.children)
            .and_then(|values| {
                check_nullable(value_field, &values, None)?;
                Ok(values)
            })
            .within(|| "map values".to_owned())?;
        // This refuses null keys, too.
        let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None);
        let pairs = pairs.map_err(invalid)?;
        let map = MapArray::try_new(entries.clone(), offsets, pairs, lists.nulls, sorted);
        Ok(Arc::new(map.map_err(invalid)?))
    }

    /// Returns an array of fixed-size lists. Only their presence is stored, because their size is in the schema.
    pub(super) fn fixed_size_list(
        &mut self,
        item: &FieldRef,
        size: i32,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let [child] = node.children.as_slice() else {
            return Err(mismatch(
                &ArrowType::FixedSizeList(item.clone(), size),
                node,
            ));
        };
        if u64::try_from(size).ok() != Some(node.fixed_size) {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!(
                    "lists of {} elements cannot become lists of {size}",
                    node.fixed_size
                ),
            ));
        }
        let nulls = self.source.presence(node, rows)?;
        let len = to_usize(rows.len())?;
        check_nulls(len, nulls.as_ref())?;
        if rows.end().checked_mul(node.fixed_size).is_none() {
            return Err(Error::corrupt(format!(
                "the positions of {} lists of {size} elements overflow",
                rows.end()
            )));
        }
        let items = rows.scale(node.fixed_size);
        let values = self
            .source
            .check_items(child, items.len())
            .and_then(|()| self.node(item.data_type(), child, &items))
            .and_then(|values| {
                let hidden = nulls.as_ref().map(|nulls| nulls.expand(item_count(size)));
                check_nullable(item, &values, hidden.as_ref())?;
                Ok(values)
            })
            .within(|| "list elements".to_owned())?;
        let array = FixedSizeListArray::try_new_with_length(item.clone(), size, values, nulls, len);
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

/// Converts a size that is known to match the stored size.
fn item_count(size: i32) -> usize {
    usize::try_from(size).unwrap_or_default()
}

/// Returns the number of lists, and the first and last offset.
fn ends<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> Result<(usize, u64, u64)> {
    match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => Ok((
            offsets.len() - 1,
            first.as_usize() as u64,
            last.as_usize() as u64,
        )),
        _ => Err(Error::corrupt("no list offsets")),
    }
}

fn list_array<O: OffsetSizeTrait>(
    views: bool,
    item: &FieldRef,
    offsets: OffsetBuffer<O>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let len = offsets.len().saturating_sub(1);
    // Arrow's constructors refuse values that could be null, even if no element is: a dictionary with an unused null
    // entry, or a union with a null at a position of another variant. Such arrays are built from their data instead.
    let is_refused = !item.is_nullable() && values.is_nullable();
    let nulls_of_items = if is_refused {
        own_nulls(&values).map_or(0, |nulls| nulls.null_count())
    } else {
        0
    };
    if nulls_of_items > 0 {
        return Err(undeclared(nulls_of_items)).within(|| "list elements".to_owned());
    }
    if !views && is_refused {
        let data = ArrayData::builder(GenericListArray::<O>::DATA_TYPE_CONSTRUCTOR(item.clone()))
            .len(len)
            .add_buffer(offsets.into_inner().into_inner())
            .add_child_data(values.to_data())
            .nulls(nulls);
        return Ok(make_array(data.build().map_err(invalid)?));
    }
    if !views {
        let array = GenericListArray::try_new(item.clone(), offsets, values, nulls);
        return Ok(Arc::new(array.map_err(invalid)?));
    }
    let sizes: ScalarBuffer<O> = offsets.windows(2).map(|w| w[1] - w[0]).collect();
    let starts = offsets.inner().slice(0, len);
    if is_refused {
        let views = GenericListViewArray::<O>::DATA_TYPE_CONSTRUCTOR(item.clone());
        let data = ArrayData::builder(views)
            .len(len)
            .add_buffer(starts.into_inner())
            .add_buffer(sizes.into_inner())
            .add_child_data(values.to_data())
            .nulls(nulls);
        return Ok(make_array(data.build().map_err(invalid)?));
    }
    let array = GenericListViewArray::try_new(item.clone(), starts, sizes, values, nulls);
    Ok(Arc::new(array.map_err(invalid)?))
}
