//! Spec: Chapter 6, "Dictionary Encoding".

use super::super::{Chunk, Values, has_dictionary, mismatch};
use super::slots::Slots;
use super::{Shredder, leaf};
use crate::arrow::is_wrapped;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType};
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, DictionaryArray, downcast_dictionary_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use std::sync::Arc;

impl Shredder<'_> {
    /// Shreds a dictionary array. Leaves keep their dictionary; other values are stored plain.
    pub(super) fn dictionary(
        &mut self,
        array: &dyn Array,
        slots: &Slots,
        node: &DataType,
    ) -> Result<()> {
        let nulls = slots.nulls(array.nulls());
        if node.basic_type == BasicType::Union {
            refuse_null_keys(slots, nulls.as_ref())?;
        }
        let keys = keys(array, slots, nulls.as_ref(), node)?;
        let values = array.as_any_dictionary().values();
        if let Some(chunk) = coded(&keys, nulls.as_ref(), values, node) {
            return (self.emit)(node.schema_id, chunk);
        }
        self.node(values, &Slots::picks(keys, nulls), node)
    }
}

/// Refuses null keys of a dictionary of unions. A union has no nulls of its own, so a null key would be read back as a
/// null value of a variant.
fn refuse_null_keys(slots: &Slots, nulls: Option<&NullBuffer>) -> Result<()> {
    let is_own = |i: &usize| slots.is_open(*i) && nulls.is_some_and(|nulls| nulls.is_null(*i));
    match (0..slots.len()).find(is_own) {
        None => Ok(()),
        Some(row) => Err(Error::new(
            ErrorKind::ValueOutOfRange,
            format!(
                "row {row}: a key of a dictionary of unions is null, which shards have no place for; \
                 let it refer to a value that is null"
            ),
        )),
    }
}

/// Returns the dictionary-encoded chunk, or `None` if the values must be stored plain, or if an entry that a row uses
/// cannot be stored.
fn coded(
    keys: &[usize],
    nulls: Option<&NullBuffer>,
    values: &dyn Array,
    node: &DataType,
) -> Option<Chunk<Values>> {
    if is_wrapped(values.data_type()) || !has_dictionary(node.basic_type) {
        return None;
    }
    let codes: Option<Vec<u32>> = keys.iter().map(|k| u32::try_from(*k).ok()).collect();
    let codes = codes?;
    let all = Slots::all(values.len());
    let entries = leaf(values, &all, node)
        // The entry that cannot be stored may be unused, so try again with the unused entries as nulls.
        .or_else(|_| {
            leaf(
                values,
                &all.with_mask(Some(used(keys, nulls, values.len()))),
                node,
            )
        })
        .ok()?;
    let nulls = match &entries.nulls {
        None => nulls.cloned(),
        Some(null_entries) => {
            let valid = |i| nulls.is_none_or(|n| n.is_valid(i)) && null_entries.is_valid(keys[i]);
            Some(NullBuffer::new(BooleanBuffer::collect_bool(
                keys.len(),
                valid,
            )))
        }
    };
    Some(Chunk {
        len: codes.len(),
        nulls: nulls.filter(|n| n.null_count() > 0),
        values: Values::Dictionary {
            codes: codes.into(),
            entries: Arc::new(entries),
        },
    })
}

/// Returns which entries occur at positions that are not null.
fn used(keys: &[usize], nulls: Option<&NullBuffer>, entries: usize) -> NullBuffer {
    let mut used = BooleanBufferBuilder::new(entries);
    used.append_n(entries, false);
    for (i, &key) in keys.iter().enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(i)) {
            used.set_bit(key, true);
        }
    }
    NullBuffer::new(used.finish())
}

/// Returns the key at every position, 0 at null positions.
fn keys(
    array: &dyn Array,
    slots: &Slots,
    nulls: Option<&NullBuffer>,
    node: &DataType,
) -> Result<Vec<usize>> {
    fn gather<K: ArrowDictionaryKeyType>(
        array: &DictionaryArray<K>,
        slots: &Slots,
        nulls: Option<&NullBuffer>,
    ) -> Vec<usize> {
        let keys = array.keys().values();
        (0..slots.len())
            .map(|i| match nulls {
                Some(n) if n.is_null(i) => 0,
                _ => keys[slots.pick(i)].as_usize(),
            })
            .collect()
    }
    Ok(downcast_dictionary_array!(
        array => gather(array, slots, nulls),
        other => return Err(mismatch(other, node))
    ))
}
