//! Memory that has not been written to yet.

use super::word::Word;
use arrow_buffer::MutableBuffer;
use std::mem::MaybeUninit;
use std::slice;

/// Views values as uninitialized memory. Code in this crate writes only values to it.
pub(super) fn initialized<W: Word>(values: &mut [W]) -> &mut [MaybeUninit<W>] {
    let len = values.len();
    // SAFETY: both types have the same layout, and this crate writes only values to such places.
    unsafe { slice::from_raw_parts_mut(values.as_mut_ptr().cast(), len) }
}

/// Appends the bytes that `write` writes, at most `most`. `write` gets the fresh memory after the content
/// and returns the number of bytes it has written, from the start of that memory on.
///
/// # Safety
/// `write` initializes every byte that it counts.
pub(super) unsafe fn append_bytes(
    buffer: &mut MutableBuffer,
    most: usize,
    write: impl FnOnce(&mut [MaybeUninit<u8>]) -> usize,
) {
    buffer.reserve(most);
    let len = buffer.len();
    // SAFETY: the reserved bytes follow the content in the same allocation.
    let fresh = unsafe { buffer.as_mut_ptr().add(len) };
    // SAFETY: `most` bytes were reserved, and nothing else refers to them.
    let places = unsafe { slice::from_raw_parts_mut(fresh.cast::<MaybeUninit<u8>>(), most) };
    let written = write(places).min(most);
    // SAFETY: the bytes were reserved, and `write` has initialized them.
    unsafe { buffer.set_len(len + written) };
}
