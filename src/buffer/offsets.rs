//! Spec: Chapter 6, "List Encoding" and "Primitive Variable-Sized Encoding".
//!
//! Offsets of lists and of byte values that are stored apart from them.

use super::stored::{Body, StoredBuffer};
use super::stream::{BlockCache, Numbers, ReadContext, read_numbers};
use super::{Selection, words};
use crate::encoding::NumberKind;
use crate::error::{Error, Result, Within};
use crate::kernels::is_ascending;

/// The given elements of an OFFSETS buffer of a field with `positions` positions: raw u32 or u64,
/// or blocks of u64.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if they do not ascend, or those of damaged bytes.
pub fn read_offsets(
    buffer: &StoredBuffer,
    positions: u64,
    elements: &Selection,
    cx: &mut ReadContext<'_>,
    cache: &mut BlockCache<Numbers>,
) -> Result<Vec<u64>> {
    let kind = NumberKind::Unsigned;
    let offsets = if is_narrow(buffer, positions) {
        let read = read_numbers::<u32>(buffer, kind, false, elements, cx, cache);
        let read = read.within(|| "OFFSETS buffer".to_owned())?;
        words::<u32>(&read.data)
            .iter()
            .map(|&o| u64::from(o))
            .collect()
    } else {
        let read = read_numbers::<u64>(buffer, kind, false, elements, cx, cache);
        let read = read.within(|| "OFFSETS buffer".to_owned())?;
        words::<u64>(&read.data).to_vec()
    };
    if !is_ascending(&offsets) {
        return Err(Error::corrupt("offsets do not ascend").within("OFFSETS buffer"));
    }
    Ok(offsets)
}

/// Bytes of an element of an OFFSETS buffer.
pub fn offset_width(buffer: &StoredBuffer, positions: u64) -> usize {
    if is_narrow(buffer, positions) { 4 } else { 8 }
}

fn is_narrow(buffer: &StoredBuffer, positions: u64) -> bool {
    let narrow = positions.checked_add(1).and_then(|n| n.checked_mul(4));
    matches!(buffer.body, Body::Raw(_)) && narrow == Some(buffer.place.range.len())
}
