//! Views of byte strings that lie one after the other.

use super::bytes::{INLINE, Offset, view};
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, StringViewType, Utf8Type,
};
use arrow_array::{Array, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};

/// A type of byte strings, and the one that has views of the same values.
pub(crate) trait Viewable: ByteArrayType<Offset: Offset> {
    /// The type with views.
    type View: ByteViewType<Native = Self::Native>;
}

impl Viewable for Utf8Type {
    type View = StringViewType;
}

impl Viewable for BinaryType {
    type View = BinaryViewType;
}

/// The values of an array as views into its bytes, which are not copied.
pub(crate) fn views_of<T: Viewable>(array: &GenericByteArray<T>) -> GenericByteViewArray<T::View> {
    let offsets = array.value_offsets();
    let first = offsets.first().map_or(0, |o| o.as_usize());
    let last = offsets.last().map_or(0, |o| o.as_usize());
    let values = array.values().slice_with_length(first, last - first);
    let mut has_long = false;
    let views: Vec<u128> = offsets
        .windows(2)
        .map(|ends| {
            let (start, end) = (ends[0].as_usize(), ends[1].as_usize());
            has_long |= end - start > INLINE;
            view(&values, start - first, end - start, 0)
        })
        .collect();
    let buffers = if has_long { vec![values] } else { Vec::new() };
    // SAFETY: every view is the length of a value, its prefix, and its place in the only buffer, whose
    // size 32-bit offsets span; or the value itself, padded with zeros. The values are those of a
    // valid array of the same native type, and there are as many nulls as values.
    unsafe {
        GenericByteViewArray::new_unchecked(
            ScalarBuffer::from(views),
            buffers,
            array.nulls().cloned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, StringArray};

    #[test]
    fn views_are_the_values() {
        let texts = [
            "",
            "twelve bytes",
            "thirteen byte",
            "ä",
            "a good deal longer than that",
        ];
        let array: StringArray = texts
            .iter()
            .map(Some)
            .chain([None])
            .cycle()
            .take(20)
            .collect();
        for (start, len) in [(0, 20), (3, 9), (1, 1), (7, 0)] {
            let slice = array.slice(start, len);
            let views = views_of(&slice);
            views.to_data().validate_full().unwrap();
            assert!(views.iter().eq(slice.iter()));
        }
        let short = BinaryArray::from_iter_values([b"short"]);
        assert!(views_of(&short).data_buffers().is_empty());
    }
}
