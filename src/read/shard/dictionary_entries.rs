//! Spec: Chapter 6, "Value Dictionary": the entries that codes refer to.

use crate::buffer::{FieldLayout, Physical, Storage, ValueDictionary};
use crate::column::{ByteValues, Chunk, DictionaryEntries, Values};
use crate::encoding::Context;
use crate::error::{Error, Result, to_usize};
use crate::format::DataType;
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use std::sync::Mutex;

/// Most entries without bytes that a dictionary may have in addition to one per position.
const UNUSED_ENTRIES: u64 = 1 << 16;

/// Parses a dictionary buffer, and returns its entries if they fit the field.
pub(in crate::read) fn parse(
    bytes: &Bytes,
    node: &DataType,
    layout: &FieldLayout,
    cx: &mut Context<'_>,
) -> Result<ValueDictionary> {
    let size = match layout.physical {
        Physical::Number(width) | Physical::Fixed(width) => Some(width),
        _ => None,
    };
    let carried = match &layout.storage {
        Storage::Buffers(buffers) => buffers.dictionary_checksums.as_ref(),
        _ => None,
    };
    ValueDictionary::parse(bytes, node.basic_type, size, carried, cx)
}

/// Returns the entries of a dictionary, if they fit the field.
pub(in crate::read) fn entries(
    dictionary: ValueDictionary,
    layout: &FieldLayout,
) -> Result<DictionaryEntries> {
    let len = to_usize(u64::from(dictionary.count))?;
    // Values without bytes cost the file nothing, so only the number of positions can bound them.
    if dictionary.values.is_empty()
        && dictionary.offsets.is_none()
        && u64::from(dictionary.count) > layout.positions.saturating_add(UNUSED_ENTRIES)
    {
        return Err(Error::corrupt(format!(
            "{len} entries for {} positions",
            layout.positions
        )));
    }
    let data = Buffer::from(dictionary.values);
    let values = match (layout.physical, dictionary.offsets) {
        (Physical::Number(width) | Physical::Fixed(width), None)
            if data.len() == len.saturating_mul(width) =>
        {
            Values::Fixed { width, data }
        }
        (Physical::Bytes, Some(offsets)) => {
            let offsets = offsets
                .into_iter()
                .map(i64::try_from)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|_| Error::corrupt("offsets exceed 63 bits"))?;
            Values::Bytes(ByteValues::Offsets64(
                OffsetBuffer::new(ScalarBuffer::from(offsets)),
                data,
            ))
        }
        (physical, offsets) => {
            return Err(Error::corrupt(format!(
                "{} bytes {} offsets do not fit {len} values of a {physical:?} field",
                data.len(),
                if offsets.is_some() { "with" } else { "without" },
            )));
        }
    };
    let nulls = dictionary.null_id.map(|id| {
        let mut present = BooleanBufferBuilder::new(len);
        present.append_n(len, true);
        present.set_bit(id as usize, false);
        NullBuffer::new(present.finish())
    });
    Ok(DictionaryEntries {
        chunk: Chunk { len, nulls, values },
        null_id: dictionary.null_id,
        arrays: Mutex::default(),
    })
}
