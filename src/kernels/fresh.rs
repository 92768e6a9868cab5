//! Memory that nobody has written to yet.

use super::word::Word;
use arrow_buffer::MutableBuffer;
use std::mem::MaybeUninit;
use std::slice;

/// The places of values. Whoever has them writes values only.
pub(super) fn initialised<W: Word>(values: &mut [W]) -> &mut [MaybeUninit<W>] {
    let len = values.len();
    // SAFETY: the types have one layout, and this crate writes nothing but values to such places.
    unsafe { slice::from_raw_parts_mut(values.as_mut_ptr().cast(), len) }
}

/// Appends bytes to a buffer, at most `most`: those that `write` has written, from the first fresh place
/// on, and of which it gives the number.
///
/// # Safety
/// `write` has written a value to each of the places that it counts.
pub(super) unsafe fn append_bytes(
    buffer: &mut MutableBuffer,
    most: usize,
    write: impl FnOnce(&mut [MaybeUninit<u8>]) -> usize,
) {
    buffer.reserve(most);
    let len = buffer.len();
    // SAFETY: what was reserved lies behind the content, in one allocation.
    let fresh = unsafe { buffer.as_mut_ptr().add(len) };
    // SAFETY: so many bytes were reserved, which nobody else sees.
    let places = unsafe { slice::from_raw_parts_mut(fresh.cast::<MaybeUninit<u8>>(), most) };
    let written = write(places).min(most);
    // SAFETY: the bytes were reserved, and written by the caller's word.
    unsafe { buffer.set_len(len + written) };
}
